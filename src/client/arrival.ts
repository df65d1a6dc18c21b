import type { Dispatcher } from 'undici';

export interface Head {
  readonly status: number;
  readonly headers: Headers;
}
export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Gets the pieces of a body. What it throws ends the exchange. */
export type Take = (chunk: Buffer) => void;

/**
 * One answer as undici hands it over: first its head, then its body as soon as it is wanted, each
 * piece in the turn in which it came. A stream of undici's costs twice as much for each piece.
 */
export class Arrival implements Dispatcher.DispatchHandler {
  /** Rejects with what stopped the request, or with the reason of the signal. */
  readonly head: Promise<Head>;
  /** Whether undici has begun to write it to a connection: before, the service cannot know of it. */
  sent = false;
  readonly #signal: AbortSignal;
  readonly #body: Promise<void>;
  #controller: Dispatcher.DispatchController | undefined;
  #begin!: (head: Head) => void;
  #end!: () => void;
  #fail!: (error: unknown) => void;
  #take!: Take;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#abort(), { once: true });
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    const head = new Promise<Head>((resolve) => {
      this.#begin = resolve;
    });
    const end = new Promise<void>((resolve) => {
      this.#end = resolve;
    });
    this.head = Promise.race([head, failed]);
    this.#body = Promise.race([end, failed]);
    this.#body.catch(() => undefined); // it is told by who waits for it, if anybody does
  }

  /** Gives all of the body to `take`; to be called once. Rejects when it breaks off. */
  async read(take: Take): Promise<void> {
    this.#take = take;
    this.#controller!.resume();
    await this.#body;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) this.#abort();
    else this.sent = true;
  }

  /** Not before `read` is called does any of the body come. */
  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status < 200) return;
    controller.pause();
    this.#begin({ status, headers });
  }

  /** What `take` throws is what undici aborts the request with. */
  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#take(chunk);
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  /** At once: undici notices it only when it has a connection. */
  #abort(): void {
    const reason = this.#signal.reason as Error;
    this.#controller?.abort(reason);
    this.#fail(reason);
  }
}

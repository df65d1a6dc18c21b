import { openConnectionPools } from './connection-pool.js';
import { connectionFailure, RequestFailure, type Failure } from './failure.js';
import { redactHeaders, type HttpHeaders, type RequestLogEntry } from './request-log.js';
import { StallTimer, RequestTimeout, type TimeoutKind } from './timeouts.js';
import type { Dispatcher } from 'undici';
import type { Redact } from '../redact.js';

export interface TransportOptions {
  /** Address of the service; a path in it stands before every endpoint's. */
  readonly baseUrl: string;
  /** Headers of every request; the secret ones are in here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly shown: Redact;
  /** Proxy and certificate variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Is told of each request when it has ended. */
  readonly onRequest: (seen: RequestLogEntry) => void;
  /** Gets the headers of each answer. */
  readonly onHeaders?: (headers: HttpHeaders) => void;
  readonly monotonic: () => number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly endpoint: string;
  /** Encoded, from its `?` on; goes into the URL as it is. */
  readonly query?: string;
  readonly body?: Buffer;
  readonly limit: TimeoutKind;
  /**
   * It must not be sent again: it gets a connection of its own. One that was used before may be
   * closed by the service at the same moment, and then nobody knows what it has read.
   */
  readonly once?: boolean;
  /** What it is for, where a log is to say so. */
  readonly of?: string | undefined;
}

export interface RawResponse extends Head {
  readonly read: ReadBody;
}

/**
 * Gives a body to `take` while it arrives; to be called once, and before that nothing is received.
 * Throws FailureError when the body breaks off, and what `take` throws, which leaves the rest of it.
 */
export type ReadBody = (take: OnChunk) => Promise<void>;

export type Transport = Awaited<ReturnType<typeof openTransport>>;

export async function openTransport(options: TransportOptions) {
  const base = new URL(options.baseUrl);
  const dispatchers = await openConnectionPools(base, options);
  const silence = new StallTimer(options.timeoutMs, options.monotonic);
  return {
    base,
    silence,
    /** One request, no retry, no redirect. Throws FailureError, or the signal's reason when aborted. */
    send: (exchange: HttpRequest, signal: AbortSignal): Promise<RawResponse> => {
      const dispatcher = exchange.once ? dispatchers.unused() : dispatchers.kept;
      return new Sending({ ...options, silence }, exchange, signal).run(dispatcher, base);
    },
    close: () => dispatchers.destroy(),
  };
}

interface SendingOptions extends TransportOptions {
  readonly silence: StallTimer;
}

/** One request on its way. */
class Sending {
  readonly #options: SendingOptions;
  readonly #exchange: HttpRequest;
  readonly #caller: AbortSignal;
  readonly #watch: RequestTimeout;
  readonly #started: number;
  readonly #arrival: ResponseHandler;
  #head: Head | undefined;
  #receivedBytes = 0;

  constructor(options: SendingOptions, exchange: HttpRequest, caller: AbortSignal) {
    this.#options = options;
    this.#exchange = exchange;
    this.#caller = caller;
    this.#watch = new RequestTimeout(options.timeoutMs, exchange.limit, caller);
    this.#arrival = new ResponseHandler(this.#watch.signal);
    this.#started = options.monotonic();
  }

  async run(dispatcher: Dispatcher, base: URL): Promise<RawResponse> {
    const { method, endpoint, query = '', body = null } = this.#exchange;
    const { silence } = this.#options;
    silence.began();
    try {
      this.#watch.signal.throwIfAborted();
      const request = {
        origin: base.origin,
        path: `${base.pathname.replace(/\/$/, '')}${endpoint}${query}`,
        method,
        headers: this.#options.headers,
        body,
      };
      dispatcher.dispatch(request, this.#arrival);
      const head = await this.#arrival.head;
      this.#watch.heard();
      this.#head = head;
      this.#options.onHeaders?.(head.headers);
      return { ...head, read: (take) => this.#read(take) };
    } catch (error) {
      this.#watch.stop();
      throw this.#failed(error);
    } finally {
      silence.ended();
    }
  }

  async #read(take: OnChunk): Promise<void> {
    const { silence } = this.#options;
    let isTaking = false;
    silence.began();
    try {
      await this.#arrival.read((chunk) => {
        this.#receivedBytes += chunk.length;
        isTaking = true;
        take(chunk);
        isTaking = false;
        this.#watch.heard(chunk.length);
        silence.heard();
      });
      this.#tell();
    } catch (error) {
      throw isTaking ? error : this.#failed(error);
    } finally {
      silence.ended();
      this.#watch.stop();
    }
  }

  /** What to throw for an error of this request: its failure, the caller's abort, or our own defect. */
  #failed(error: unknown): unknown {
    if (this.#caller.aborted) return this.#caller.reason;
    const failure = this.#failureOf(error);
    if (failure === undefined) return error;
    this.#tell(failure);
    return new RequestFailure(failure, { cause: error });
  }

  #failureOf(error: unknown): Failure | undefined {
    const { sent } = this.#arrival;
    if (this.#watch.missed !== undefined) {
      const seconds = this.#options.timeoutMs / 1000;
      return { kind: 'timeout', sent, message: `${this.#watch.missed} within ${seconds} s` };
    }
    return connectionFailure(error, sent, this.#options.shown);
  }

  #tell(failure?: Failure): void {
    const { onRequest, baseUrl, headers, shown, monotonic } = this.#options;
    const { method, endpoint, of, body } = this.#exchange;
    const { host, pathname } = new URL(baseUrl);
    onRequest({
      method,
      url: `${host}${pathname.replace(/\/$/, '')}${endpoint}`,
      of,
      status: this.#head?.status,
      failure: failure?.message,
      sentBytes: body?.length ?? 0,
      receivedBytes: this.#receivedBytes,
      ms: Math.round(monotonic() - this.#started),
      headers: () => ({
        sent: redactHeaders(headers, shown),
        received: redactHeaders(this.#head?.headers ?? {}, shown),
      }),
    });
  }
}

interface Head {
  readonly status: number;
  readonly headers: HttpHeaders;
}

/** Gets the pieces of a body. What it throws ends the exchange. */
export type OnChunk = (chunk: Buffer) => void;

/**
 * One answer as undici hands it over: first its head, then its body as soon as it is wanted, each
 * piece in the turn in which it came. A stream of undici's costs twice as much for each piece.
 */
class ResponseHandler implements Dispatcher.DispatchHandler {
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
  #take!: OnChunk;

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
  async read(take: OnChunk): Promise<void> {
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
    headers: HttpHeaders,
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

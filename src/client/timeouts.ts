import { setMaxListeners } from 'node:events';

/** `whole`: from start to the last byte. `silence`: without a byte received, or with very few. */
export type TimeoutKind = 'whole' | 'silence';

/** Bytes a second below which a body is given up: at a byte now and then, it would never end. */
const slowest = 100;

/** A signal for one request: aborted with the caller's, or when the request's time is up. */
export class RequestTimeout {
  /** What did not come in time; undefined as long as it may. */
  missed: string | undefined;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #limit: TimeoutKind;
  readonly #silence: NodeJS.Timeout;
  readonly #milliseconds: number;
  #pace: NodeJS.Timeout | undefined;
  #bytes = 0;
  #wasSlow = false;

  constructor(milliseconds: number, limit: TimeoutKind, caller: AbortSignal) {
    this.#caller = caller;
    this.#limit = limit;
    this.#milliseconds = milliseconds;
    const what = limit === 'whole' ? 'no complete answer' : 'no byte received';
    this.#silence = setTimeout(() => this.#timeOut(what), milliseconds).unref();
    setMaxListeners(0, caller); // each request in flight listens to what stops the run
    caller.addEventListener('abort', this.#onAbort, { once: true });
    if (caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Something was received, and we are done with it: our own work is not the service's silence. */
  heard(bytes = 0): void {
    if (this.#limit === 'whole') return;
    this.#bytes += bytes;
    this.#silence.refresh();
    this.#pace ??= setInterval(() => this.#judgePace(), this.#milliseconds).unref();
  }

  stop(): void {
    clearTimeout(this.#silence);
    clearInterval(this.#pace);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  /** A pause may fall into any time, but not into two in a row. */
  #judgePace(): void {
    const isSlow = this.#bytes < (slowest * this.#milliseconds) / 1000;
    if (isSlow && this.#wasSlow) this.#timeOut(`fewer than ${slowest} bytes a second received`);
    this.#wasSlow = isSlow;
    this.#bytes = 0;
  }

  #timeOut(missed: string): void {
    this.stop();
    this.missed = missed;
    this.#controller.abort(new Error('time is up'));
  }

  readonly #onAbort = (): void => {
    this.stop();
    this.#controller.abort(this.#caller.reason);
  };
}

/** How long nothing has come in, while something is waited for: of all requests together. */
export class StallTimer {
  /** After which a request is given up. */
  readonly limitMs: number;
  readonly #monotonic: () => number;
  #awaited = 0;
  #since = 0;

  constructor(limitMs: number, monotonic: () => number) {
    this.limitMs = limitMs;
    this.#monotonic = monotonic;
  }

  /** An answer, or the rest of one, is waited for. */
  began(): void {
    if (this.#awaited === 0) this.heard();
    this.#awaited += 1;
  }

  heard(): void {
    this.#since = this.#monotonic();
  }

  /** It came, or is not waited for any more. */
  ended(): void {
    this.#awaited -= 1;
    this.heard();
  }

  /** Milliseconds; undefined where nothing is waited for. */
  get ms(): number | undefined {
    return this.#awaited === 0 ? undefined : this.#monotonic() - this.#since;
  }
}

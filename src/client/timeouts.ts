import { setMaxListeners } from 'node:events';

/** `whole`: from start to the last byte. `stall`: without a byte received, or with too few. */
export type TimeoutKind = 'whole' | 'stall';

/** Minimum bytes per second of a body; a trickling one would never end. */
const slowest = 100;

/** Abort signal of one request: aborts with the caller's, or on timeout. */
export class RequestTimeout {
  /** The timeout that expired; undefined before. */
  missed: string | undefined;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #limit: TimeoutKind;
  readonly #stall: NodeJS.Timeout;
  readonly #milliseconds: number;
  #pace: NodeJS.Timeout | undefined;
  #bytes = 0;
  #wasSlow = false;

  constructor(milliseconds: number, limit: TimeoutKind, caller: AbortSignal) {
    this.#caller = caller;
    this.#limit = limit;
    this.#milliseconds = milliseconds;
    const what = limit === 'whole' ? 'no complete answer' : 'no byte received';
    this.#stall = setTimeout(() => this.#timeOut(what), milliseconds).unref();
    setMaxListeners(0, caller); // each request in flight listens to the run's signal
    caller.addEventListener('abort', this.#onAbort, { once: true });
    if (caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the timeout. Call after received bytes are handled: our own work is not a stall. */
  received(bytes = 0): void {
    if (this.#limit === 'whole') return;
    this.#bytes += bytes;
    this.#stall.refresh();
    this.#pace ??= setInterval(() => this.#checkPace(), this.#milliseconds).unref();
  }

  stop(): void {
    clearTimeout(this.#stall);
    clearInterval(this.#pace);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  /** Fails a body that is too slow in two consecutive intervals. */
  #checkPace(): void {
    const isSlow = this.#bytes < (slowest * this.#milliseconds) / 1000;
    if (isSlow && this.#wasSlow) this.#timeOut(`fewer than ${slowest} bytes a second received`);
    this.#wasSlow = isSlow;
    this.#bytes = 0;
  }

  #timeOut(missed: string): void {
    this.stop();
    this.missed = missed;
    this.#controller.abort(new Error('timeout'));
  }

  readonly #onAbort = (): void => {
    this.stop();
    this.#controller.abort(this.#caller.reason);
  };
}

/** Time since the last byte of any response, while at least one is awaited. */
export class StallTimer {
  /** Timeout of a request. */
  readonly limitMs: number;
  readonly #monotonic: () => number;
  #awaited = 0;
  #since = 0;

  constructor(limitMs: number, monotonic: () => number) {
    this.limitMs = limitMs;
    this.#monotonic = monotonic;
  }

  /** A response, or the rest of one, is awaited. */
  began(): void {
    if (this.#awaited === 0) this.received();
    this.#awaited += 1;
  }

  received(): void {
    this.#since = this.#monotonic();
  }

  /** Ends one wait, whether its event arrived or is no longer awaited. */
  ended(): void {
    this.#awaited -= 1;
    this.received();
  }

  /** Milliseconds; undefined if nothing is awaited. */
  get ms(): number | undefined {
    return this.#awaited === 0 ? undefined : this.#monotonic() - this.#since;
  }
}

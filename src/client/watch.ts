/** `whole`: from start to the last byte. `silence`: without a byte received. */
export type TimeLimit = 'whole' | 'silence';

/** A signal for one request: aborted with the caller's, or when the request's time is up. */
export class Watch {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #limit: TimeLimit;
  readonly #timer: NodeJS.Timeout;
  #timedOut = false;

  constructor(milliseconds: number, limit: TimeLimit, caller: AbortSignal) {
    this.#caller = caller;
    this.#limit = limit;
    this.#timer = setTimeout(this.#onTimeout, milliseconds).unref();
    caller.addEventListener('abort', this.#onAbort, { once: true });
    if (caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get timedOut(): boolean {
    return this.#timedOut;
  }

  /** Something was received, and we are done with it: our own work is not the service's silence. */
  heard(): void {
    if (this.#limit === 'silence') this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onTimeout = (): void => {
    this.#timedOut = true;
    this.#controller.abort(new Error('time is up'));
  };

  readonly #onAbort = (): void => {
    clearTimeout(this.#timer);
    this.#controller.abort(this.#caller.reason);
  };
}

/** `whole`: from start to the last byte. `silence`: without a byte received. */
export type TimeLimit = 'whole' | 'silence';

/** A signal for one request: aborted with the caller's, or when the request's time is up. */
export class Watch {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #limit: TimeLimit;
  readonly #timer: NodeJS.Timeout;
  #listening = true;
  #leave: ((reason: unknown) => void) | undefined;
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

  /** What `work` comes to, or the reason of an abort as soon as there is one. */
  async orAbort<T>(work: Promise<T>): Promise<T> {
    const aborted = new Promise<never>((_, reject) => {
      this.#leave = reject;
    });
    return Promise.race([work, aborted]);
  }

  /** While we are busy with what was received, silence is not the service's. */
  pause(): void {
    this.#listening = this.#limit === 'whole';
  }

  resume(): void {
    this.#listening = true;
    if (this.#limit === 'silence') this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onTimeout = (): void => {
    if (!this.#listening) {
      this.#timer.refresh();
      return;
    }
    this.#timedOut = true;
    this.#abort(new Error('time is up'));
  };

  readonly #onAbort = (): void => {
    clearTimeout(this.#timer);
    this.#abort(this.#caller.reason);
  };

  #abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.#leave?.(reason);
  }
}

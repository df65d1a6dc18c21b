/** How long nothing has come in, while something is waited for: of all requests together. */
export class ServiceSilence {
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

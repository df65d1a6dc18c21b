/**
 * How many requests may be in flight. A 429 cuts the limit by 0.7, once per burst: answers to
 * requests sent before the last cut do not cut again. Successes grow it back slowly.
 */
export class Gate {
  readonly #maximum: number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #inFlight = 0;
  #burst = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
    this.#limit = maximum;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** Waits for a place; the ticket tells `throttled` to which burst the request belongs. */
  async enter(): Promise<number> {
    while (this.#inFlight >= this.limit) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#inFlight += 1;
    return this.#burst;
  }

  leave(): void {
    this.#inFlight -= 1;
    this.#waiting.shift()?.();
  }

  succeeded(): void {
    this.#limit = Math.min(this.#maximum, this.#limit + 0.1);
    if (this.#inFlight < this.limit) this.#waiting.shift()?.();
  }

  throttled(ticket: number): void {
    if (ticket !== this.#burst) return;
    this.#burst += 1;
    this.#limit = Math.max(1, this.#limit * 0.7);
  }
}

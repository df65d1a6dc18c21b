/**
 * How many requests may be in flight; who waits is let in in turn. A 429 cuts the limit by 0.7,
 * once per burst: answers to requests sent before the last cut do not cut again. Successes grow
 * it back slowly.
 */
export class Gate {
  /** Called when there is no place for somebody who asks: one may be given back now. */
  onFull: () => void = () => undefined;
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

  /** Somebody waits for a place. */
  get isAsked(): boolean {
    return this.#waiting.length > 0;
  }

  /** Waits for a place; the ticket tells `throttled` to which burst the request belongs. */
  async enter(): Promise<number> {
    if (this.#inFlight >= this.limit) this.onFull();
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#letIn();
    });
    return this.#burst;
  }

  leave(places = 1): void {
    this.#inFlight -= places;
    this.#letIn();
  }

  succeeded(): void {
    this.#limit = Math.min(this.#maximum, this.#limit + 0.1);
    this.#letIn();
  }

  throttled(ticket: number): void {
    if (ticket !== this.#burst) return;
    this.#burst += 1;
    this.#limit = Math.max(1, this.#limit * 0.7);
  }

  #letIn(): void {
    while (this.#waiting.length > 0 && this.#inFlight < this.limit) {
      this.#inFlight += 1;
      this.#waiting.shift()?.();
    }
  }
}

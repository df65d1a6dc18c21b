/**
 * The budget of one process: who waits is let in in turn. A 429 cuts the limit by 0.7,
 * once per burst: answers to requests sent before the last cut do not cut again. Successes grow
 * it back slowly.
 */
export class AimdLimiter implements ConcurrencyLimiter {
  readonly most: number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #inFlight = 0;
  #burst = 0;

  constructor(most: number) {
    this.most = most;
    this.#limit = most;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  async acquire(): Promise<number> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#letIn();
    });
    return this.#burst;
  }

  release(): void {
    this.#inFlight -= 1;
    this.#letIn();
  }

  succeeded(): void {
    this.#limit = Math.min(this.most, this.#limit + 0.1);
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

/** Who may have a request in flight. A slot is a place among those. */
export interface ConcurrencyLimiter {
  /** Most slots there ever are. */
  readonly most: number;
  /** Slots there are now, and how many are taken. */
  readonly limit: number;
  readonly inFlight: number;
  /** Waits for a slot; the ticket tells `throttled` to which burst the request belongs. */
  acquire(): Promise<number>;
  release(): void;
  /** A request came through. */
  succeeded(): void;
  /** A request was turned down because there are too many. */
  throttled(ticket: number): void;
}

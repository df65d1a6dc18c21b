/**
 * Adaptive concurrency limit (AIMD) of one process, with a fair queue. A 429 multiplies the limit
 * by 0.7, once per burst: responses to requests sent before the last cut do not cut again. Each
 * success adds half a slot until the first 429, and a tenth from then on.
 */
export class AimdLimiter implements ConcurrencyLimiter {
  readonly most: number;
  readonly #waiting: (() => void)[] = [];
  #limit: number;
  #inFlight = 0;
  /** Number of cuts so far. */
  #burst = 0;

  constructor(most: number, start = most) {
    this.most = most;
    this.#limit = Math.min(start, most);
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
    this.#limit = Math.min(this.most, this.#limit + (this.#burst === 0 ? 0.5 : 0.1));
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

/** Limits the requests in flight. */
export interface ConcurrencyLimiter {
  /** Upper bound of the limit. */
  readonly most: number;
  /** Current limit, and requests in flight. */
  readonly limit: number;
  readonly inFlight: number;
  /** Waits for a slot. Pass the returned ticket to `throttled`, which cuts once per burst. */
  acquire(): Promise<number>;
  release(): void;
  /** Reports a successful request. */
  succeeded(): void;
  /** Reports a 429. */
  throttled(ticket: number): void;
}

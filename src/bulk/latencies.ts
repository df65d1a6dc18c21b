/** How long requests took, in milliseconds. Percentiles are a few percent too high at most. */
export type LatencyFigures = NonNullable<ReturnType<Latencies['figures']>>;

/** Each bin is this much wider than the one before; the first ends at 1 ms, the last after hours. */
const growth = 1.05;
const bins = 360;

/** Counts durations in bins, so that a run of any length takes the same memory. */
export class Latencies {
  readonly #counts = new Float64Array(bins);
  #count = 0;
  #sum = 0;
  #slowest = 0;

  add(milliseconds: number): void {
    const bin = Math.ceil(Math.log(Math.max(milliseconds, 1)) / Math.log(growth));
    this.#counts[Math.min(bin, bins - 1)]! += 1;
    this.#count += 1;
    this.#sum += milliseconds;
    this.#slowest = Math.max(this.#slowest, milliseconds);
  }

  /** Undefined without any. */
  figures() {
    if (this.#count === 0) return undefined;
    return {
      mean: this.#sum / this.#count,
      p50: this.#percentile(0.5),
      p95: this.#percentile(0.95),
      p99: this.#percentile(0.99),
      slowest: this.#slowest,
    };
  }

  #percentile(share: number): number {
    let below = 0;
    for (const [bin, count] of this.#counts.entries()) {
      below += count;
      if (below >= share * this.#count) return Math.min(growth ** bin, this.#slowest);
    }
    return this.#slowest;
  }
}

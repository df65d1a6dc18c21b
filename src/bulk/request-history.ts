import { createHistogram } from 'node:perf_hooks';
import { isThrottled } from '../client/retry.js';
import type { Failure } from '../client/failure.js';
import type { Runtime } from '../runtime.js';

/** Figures of one time bucket; all buckets of a run are equally long. */
export type TimeBucket = { -readonly [Figure in keyof typeof nothing]: number };

/** Figures of a run over time. */
export type HistoryFigures = ReturnType<RequestHistory['figures']>;

/** Maximum buckets; when a run outlives them, pairs are merged. */
const maxBuckets = 120;
const shortestBucketMs = 50;
/** At the end, buckets are also merged while they are many and hold few requests each. */
const manyBuckets = 24;
const fewRequests = 5;

/** Records the requests of a run in bounded memory. */
export class RequestHistory implements RequestObserver {
  readonly #monotonic: Runtime['monotonic'];
  /** Returns the number of successful records; called when a request starts or ends. */
  readonly #records: () => number;
  readonly #started: number;
  /** Microseconds. Percentiles are at most one percent too high. */
  readonly #latencies = createHistogram({ figures: 2 });
  /** Failed attempts by cause, e.g. `HTTP 503`. */
  readonly #failures = new Map<string, number>();
  #stretches: TimeBucket[] = [];
  #stretchMs = shortestBucketMs;
  #counted: number;
  #inFlight = 0;

  constructor({ monotonic }: Pick<Runtime, 'monotonic'>, records: () => number) {
    this.#monotonic = monotonic;
    this.#records = records;
    this.#started = monotonic();
    this.#counted = records();
  }

  began(): (failure?: Failure) => void {
    const stretch = this.#now();
    this.#inFlight += 1;
    stretch.mostInFlight = Math.max(stretch.mostInFlight, this.#inFlight);
    const since = this.#monotonic();
    return (failure) => this.#ended(this.#monotonic() - since, failure);
  }

  /** Returns the figures. Call once, after the run. */
  figures() {
    this.#now();
    const all = this.#stretches.reduce(joined);
    const { requests, mostInFlight, throttled } = all;
    const fewest = Math.max(manyBuckets, requests / fewRequests);
    while (this.#stretches.length > fewest) this.#halve();
    return {
      stretchMs: this.#stretchMs,
      milliseconds: this.#monotonic() - this.#started,
      stretches: this.#stretches,
      latency: requests === 0 ? undefined : this.#latency(all),
      mostInFlight,
      throttled,
      failures: this.#failures,
    };
  }

  #latency({ requests, latencyMs, slowestMs: slowest }: TimeBucket) {
    const upTo = (percent: number) => Math.min(this.#latencies.percentile(percent) / 1000, slowest);
    return { mean: latencyMs / requests, p50: upTo(50), p95: upTo(95), p99: upTo(99), slowest };
  }

  #ended(milliseconds: number, failure: Failure | undefined): void {
    const stretch = this.#now();
    this.#inFlight -= 1;
    stretch.requests += 1;
    stretch.latencyMs += milliseconds;
    stretch.slowestMs = Math.max(stretch.slowestMs, milliseconds);
    this.#latencies.record(Math.max(1, Math.round(1000 * milliseconds)));
    if (failure === undefined) return;
    if (isThrottled(failure)) stretch.throttled += 1;
    else stretch.failed += 1;
    const name = nameOf(failure);
    this.#failures.set(name, (this.#failures.get(name) ?? 0) + 1);
  }

  /** Returns the current bucket, updated with the records since the last call. */
  #now(): TimeBucket {
    const elapsed = this.#monotonic() - this.#started;
    while (elapsed >= maxBuckets * this.#stretchMs) this.#halve();
    const index = Math.floor(elapsed / this.#stretchMs);
    while (this.#stretches.length <= index) {
      this.#stretches.push({ ...nothing, mostInFlight: this.#inFlight });
    }
    const stretch = this.#stretches[index]!;
    const records = this.#records();
    stretch.records += records - this.#counted;
    this.#counted = records;
    return stretch;
  }

  #halve(): void {
    const halves = this.#stretches;
    this.#stretchMs *= 2;
    this.#stretches = [];
    for (let index = 0; index < halves.length; index += 2) {
      this.#stretches.push(joined(halves[index]!, halves[index + 1] ?? nothing));
    }
  }
}

const nothing = {
  /** Successful records. */
  records: 0,
  /** Requests that ended, including failed ones. */
  requests: 0,
  /** Sum of their durations. */
  latencyMs: 0,
  slowestMs: 0,
  mostInFlight: 0,
  throttled: 0,
  /** Failures other than 429. */
  failed: 0,
};

const joined = (one: TimeBucket, other: TimeBucket): TimeBucket => ({
  records: one.records + other.records,
  requests: one.requests + other.requests,
  latencyMs: one.latencyMs + other.latencyMs,
  slowestMs: Math.max(one.slowestMs, other.slowestMs),
  mostInFlight: Math.max(one.mostInFlight, other.mostInFlight),
  throttled: one.throttled + other.throttled,
  failed: one.failed + other.failed,
});

/** Returns a category, since messages of failures would be too many. */
function nameOf(failure: Failure): string {
  if (failure.kind === 'unreadable') return 'unreadable answer';
  if (failure.kind !== 'refused') return failure.message === 'given up' ? 'given up' : failure.kind;
  // A longer one is not an HTTP status and could be arbitrary text.
  return failure.status < 1000 ? `HTTP ${failure.status}` : 'a code of its own';
}

/** `began` is called when a request starts; the function it returns, when the request ends. */
export interface RequestObserver {
  /** `content`: body, cursor, or query of the request; the same for each attempt of it. */
  began(content: unknown): Ended;
}
export type Ended = (failure?: Failure) => void;

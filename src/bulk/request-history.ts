import { createHistogram } from 'node:perf_hooks';
import { isThrottled } from '../client/retry.js';
import type { Failure } from '../client/failure.js';
import type { Runtime } from '../runtime.js';

/** What happened in one stretch of a run's time; all are equally long. */
export type TimeBucket = { -readonly [Figure in keyof typeof nothing]: number };

/** A run over time, from its first request's beginning to its end. */
export type HistoryFigures = ReturnType<RequestHistory['figures']>;

/** Stretches kept; when a run outlives them, two become one. */
const mostStretches = 120;
const shortestStretchMs = 50;
/** In the end they are also joined while there are many and few requests ended in each. */
const manyStretches = 24;
const fewRequests = 5;

/** Notes how a run's requests go, in memory that does not grow with the run. */
export class RequestHistory implements RequestObserver {
  readonly #monotonic: Runtime['monotonic'];
  /** Records that came through so far; asked whenever a request begins or ends. */
  readonly #records: () => number;
  readonly #started: number;
  /** In microseconds. Percentiles are one percent too high at most. */
  readonly #latencies = createHistogram({ figures: 2 });
  /** Failed attempts by what they failed with, e.g. `HTTP 503`. */
  readonly #failures = new Map<string, number>();
  #stretches: TimeBucket[] = [];
  #stretchMs = shortestStretchMs;
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

  /** To be called once, when the run has ended. */
  figures() {
    this.#now();
    const all = this.#stretches.reduce(joined);
    const { requests, mostInFlight, throttled } = all;
    const fewest = Math.max(manyStretches, requests / fewRequests);
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

  /** The present stretch, with the records that came through since the last look. */
  #now(): TimeBucket {
    const elapsed = this.#monotonic() - this.#started;
    while (elapsed >= mostStretches * this.#stretchMs) this.#halve();
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
  /** That came through in it. */
  records: 0,
  /** That ended in it, failed ones among them. */
  requests: 0,
  /** Of those together. */
  latencyMs: 0,
  slowestMs: 0,
  mostInFlight: 0,
  throttled: 0,
  /** Otherwise than by 429. */
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

/** Few different ones: the messages of failures would be too many. */
function nameOf(failure: Failure): string {
  if (failure.kind === 'unreadable') return 'unreadable answer';
  if (failure.kind !== 'refused') return failure.message === 'given up' ? 'given up' : failure.kind;
  // A longer one is no status, and might be anything.
  return failure.status < 1000 ? `HTTP ${failure.status}` : 'a code of its own';
}

/** Is told of every request when it begins, and by what it returned then when it has ended. */
export interface RequestObserver {
  began(): Ended;
}
export type Ended = (failure?: Failure) => void;

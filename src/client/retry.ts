import {
  cutAtWord,
  isTransient,
  toAttempt,
  requestError,
  type Failure,
  type Attempt,
} from './failure.js';
import type { Runtime } from '../runtime.js';
import type { StallTimer } from './timeouts.js';
import type { HttpHeaders } from './request-log.js';

/**
 * Effect of sending a request twice: none (`read`), the same as once (`idempotent`), or duplicates
 * (`notIdempotent`).
 */
export type Idempotency = 'read' | 'idempotent' | 'notIdempotent';

export interface RetryPolicy {
  /** Maximum attempts of one request, not counting those answered by 429. */
  readonly maxAttempts: number;
  /** Maximum time of one request including retries, milliseconds. */
  readonly retryForMs: number;
  /** Maximum first delay, milliseconds. */
  readonly retryBaseMs: number;
}

export interface Situation {
  readonly failure: Failure;
  /** Attempts so far including this one, without 429s. */
  readonly attempt: number;
  /** Milliseconds since the first attempt started. */
  readonly elapsedMs: number;
  readonly work: Idempotency;
  readonly policy: RetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
}

type Decision =
  /** Retry after `ms`. */
  | { readonly action: 'wait'; readonly ms: number }
  /** Attempts or time are exhausted: not processed, the service is unavailable. */
  | { readonly action: 'giveUp' }
  /** Some record makes the service refuse the request: halve it to find out which. */
  | { readonly action: 'split' }
  /** The request may have been processed and must not be sent twice. */
  | { readonly action: 'unknown' }
  /** The service refuses this and all similar requests. */
  | { readonly action: 'stop' };

/** Maximum delay, also for Retry-After. */
const longestWaitMs = 30_000;

/** Decides what to do after a failed attempt (docs/guarantees.md). */
export function retryDecision(situation: Situation): Decision {
  const { failure, work } = situation;
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (failure.mayBeProcessed && work === 'notIdempotent') return { action: 'unknown' };
    if (status === 429) return retryOrGiveUp(situation);
    if (status === 400 || status === 413) return refusedWhole(situation, status);
    if (!isTransient(status)) return { action: 'stop' };
  }
  if (failure.sent && work === 'notIdempotent') return { action: 'unknown' };
  return retryOrGiveUp(situation);
}

/** 400 can be transient, so it is retried once. An unknown event is not. */
function refusedWhole(situation: Situation, status: 400 | 413): Decision {
  const { failure, attempt, work } = situation;
  const isMisnamed = work === 'read' && 'namesEvent' in failure;
  const second =
    status === 400 && attempt === 1 && !isMisnamed ? retryOrGiveUp(situation) : undefined;
  if (second?.action === 'wait') return second;
  return { action: work === 'read' ? 'stop' : 'split' };
}

/** Retries while attempts and time are left. */
function retryOrGiveUp(situation: Situation): Decision {
  const { attempt, elapsedMs, policy } = situation;
  const ms = waitOf(situation);
  const attemptsLeft = isThrottled(situation.failure) || attempt < policy.maxAttempts;
  if (attemptsLeft && elapsedMs + ms <= policy.retryForMs) return { action: 'wait', ms };
  return { action: 'giveUp' };
}

/** Returns the delay. Retry-After is never jittered; zero means our own backoff. */
function waitOf({ failure, attempt, elapsedMs, policy, random }: Situation): number {
  const requestedMs = failure.kind === 'refused' ? failure.retryAfterMs : undefined;
  if (requestedMs) return Math.min(requestedMs, longestWaitMs);
  // 429s are not counted; their delays grow with the elapsed time, which doubles as well.
  if (!isThrottled(failure)) return backoffDelay({ attempt, policy, random });
  return random() * Math.min(Math.max(policy.retryBaseMs, elapsedMs), longestWaitMs);
}

/** Returns the delay after an attempt in milliseconds: exponential, capped, with full jitter. */
export function backoffDelay({
  attempt,
  policy,
  random,
}: Pick<Situation, 'attempt' | 'policy' | 'random'>): number {
  return random() * Math.min(policy.retryBaseMs * 2 ** (attempt - 1), longestWaitMs);
}

/** Whether the service throttled the request: not processed, and not counted as an attempt. */
export const isThrottled = (failure: Failure): boolean =>
  failure.kind === 'refused' && failure.status === 429;

/** Counters of a command. */
interface RequestCounts {
  requests: number;
  retries: number;
}

export interface RetryContext {
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  readonly signal: AbortSignal;
  /** Notified of each retry. */
  readonly waits: Pick<RetryStatus, 'began' | 'answered'>;
  readonly counts: RequestCounts;
  /** Names the request in messages, e.g. `GET /1/profile.json`. */
  readonly what: string;
}

/**
 * Repeats a read until an attempt succeeds. A thrown RequestFailure counts like a returned one.
 * Throws E-CREDENTIALS, E-UNAVAILABLE, E-ANSWER, or the signal's reason.
 */
export async function withRetry<T>(
  request: (signal: AbortSignal) => Promise<Attempt<T>>,
  { policy, runtime, signal, waits, counts, what }: RetryContext,
): Promise<T> {
  const started = runtime.monotonic();
  for (let attempts = 0, counted = 0; ;) {
    counts.requests += 1;
    // A failure is returned by the client, or thrown while its response is read.
    const made = await toAttempt(() => request(signal));
    const outcome = made.ok ? made.answer : made;
    if (outcome.ok) {
      waits.answered();
      return outcome.answer;
    }
    const { failure } = outcome;
    attempts += 1;
    if (!isThrottled(failure)) counted += 1;
    const elapsedMs = runtime.monotonic() - started;
    const { random } = runtime;
    const decision = retryDecision({
      failure,
      attempt: counted,
      elapsedMs,
      work: 'read',
      policy,
      random,
    });
    if (decision.action !== 'wait') throw requestError(failure, { what, attempts });
    waits.began({ what, failure, attempts, ms: decision.ms });
    await runtime.sleep(decision.ms, signal);
    counts.retries += 1;
  }
}

/** A failed request that will be retried. */
interface PendingRetry {
  /** Names the request, e.g. `GET /1/profile.json`. */
  readonly what: string;
  readonly failure: Failure;
  /** Attempts so far, including this one. */
  readonly attempts: number;
  /** Milliseconds until the next attempt. */
  readonly ms: number;
}

/** Stall that is reported, milliseconds. */
const reportedStallMs = 5000;

/**
 * Why a run is waiting: the last failed request, until one succeeds; otherwise a response that
 * stalls.
 */
export class RetryStatus {
  readonly #host: string;
  readonly #monotonic: () => number;
  readonly #log: (line: string) => void;
  readonly #stall: Pick<StallTimer, 'ms' | 'limitMs'> | undefined;
  #last: (PendingRetry & { readonly until: number }) | undefined;

  constructor(
    host: string,
    { monotonic, log }: { readonly monotonic: () => number; readonly log: (line: string) => void },
    stall?: Pick<StallTimer, 'ms' | 'limitMs'>,
  ) {
    this.#host = host;
    this.#monotonic = monotonic;
    this.#log = log;
    this.#stall = stall;
  }

  began(wait: PendingRetry): void {
    const { what, failure, ms } = wait;
    this.#last = { ...wait, until: this.#monotonic() + ms };
    this.#log(`${what} (${this.#host}): ${failure.message}; retrying in ${Math.round(ms)} ms`);
  }

  answered(): void {
    this.#last = undefined;
  }

  /**
   * `waiting for eu1.example.com: connection refused, try 3, next in 4 s`, or
   * `waiting for eu1.example.com: no response for 5 s, timeout after 60 s`.
   */
  get text(): string | undefined {
    if (!this.#last) return this.#silent();
    const { failure, attempts, until } = this.#last;
    const left = until - this.#monotonic();
    const now = attempts === 0 ? 'retrying now' : `try ${attempts + 1} now`; // 429s are not counted
    const tried = attempts === 0 ? '' : `try ${attempts}, `;
    const next = left > 0 ? `${tried}next in ${Math.ceil(left / 1000)} s` : now;
    return `waiting for ${this.#host}: ${reasonOf(failure)}, ${next}`;
  }

  #silent(): string | undefined {
    const { ms = 0, limitMs = 0 } = this.#stall ?? {};
    if (ms < reportedStallMs) return undefined;
    const [now, most] = [Math.floor(ms / 1000), Math.round(limitMs / 1000)];
    return `waiting for ${this.#host}: no response for ${now} s, timeout after ${most} s`;
  }
}

const longestReason = 80;

function reasonOf(failure: Failure): string {
  if (isThrottled(failure)) return 'too many requests (HTTP 429)';
  const { message } = failure;
  const code = Object.keys(reasons).find((word) => message.includes(word));
  return code === undefined ? cutAtWord(message, longestReason) : reasons[code]!;
}

/** Messages for network error codes. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'name lookup failed',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'connect timeout',
};

const weekday = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Parses `Retry-After`, seconds or a date, to milliseconds. A date is relative to the response's
 * `Date`, since clocks may differ, or else to `now`.
 */
export function parseRetryAfter(headers: HttpHeaders, now: () => number): number | undefined {
  const text = String(headers['retry-after'] ?? '').trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const until = dateOf(text);
  if (until === undefined) return undefined;
  const sent = dateOf(String(headers['date'] ?? '')) ?? now();
  return Math.max(0, until - sent);
}

function dateOf(text: string): number | undefined {
  const milliseconds = weekday.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

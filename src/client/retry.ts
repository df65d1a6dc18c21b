import { toAttempt, requestError, type Failure, type Attempt } from './failure.js';
import type { Runtime } from '../runtime.js';
import type { StallTimer } from './timeouts.js';
import type { HttpHeaders } from './request-log.js';

/**
 * What sending a request twice would do: nothing (`read`), end in the same state as once
 * (`idempotent`), or be counted twice (`notIdempotent`).
 */
export type Idempotency = 'read' | 'idempotent' | 'notIdempotent';

export interface RetryPolicy {
  /** Attempts of one request; those answered by 429 are not counted. */
  readonly maxAttempts: number;
  /** Longest time one request may spend in retries, milliseconds. */
  readonly retryForMs: number;
  /** Ceiling of the first wait, milliseconds. */
  readonly retryBaseMs: number;
}

export interface Situation {
  readonly failure: Failure;
  /** Attempts so far, this one included; 429s not counted. */
  readonly attempt: number;
  /** Since the request's first attempt began. */
  readonly elapsedMs: number;
  readonly work: Idempotency;
  readonly policy: RetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
}

type Decision =
  /** Send the same request again after `ms`. */
  | { readonly action: 'wait'; readonly ms: number }
  /** Attempts or time are used up: nothing was done, the service is unavailable. */
  | { readonly action: 'giveUp' }
  /** Some record of the request is refused: halve it to find out which. */
  | { readonly action: 'split' }
  /** It may have been done and must not be done twice. */
  | { readonly action: 'unknown' }
  /** The service will not take this, nor anything like it. */
  | { readonly action: 'stop' };

/** Longest wait, the service's own figure included. */
const longestWaitMs = 30_000;

/** What to do after a failed attempt (contract, "Order, retries, and what is promised"). */
export function retryDecision(situation: Situation): Decision {
  const { failure, work } = situation;
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (status === 429) return again(situation);
    if (status === 400 || status === 413) return refusedWhole(situation, status);
    if (!mayPass(status)) return { action: 'stop' };
  }
  if (failure.sent && work === 'notIdempotent') return { action: 'unknown' };
  return again(situation);
}

/** 400 has been seen to pass: it gets a second try where one is left. A wrong name stays wrong. */
function refusedWhole(situation: Situation, status: 400 | 413): Decision {
  const { failure, attempt, work } = situation;
  const isMisnamed = work === 'read' && 'namesEvent' in failure;
  const second = status === 400 && attempt === 1 && !isMisnamed ? again(situation) : undefined;
  if (second?.action === 'wait') return second;
  return { action: work === 'read' ? 'stop' : 'split' };
}

/** Statuses of a service in trouble, or of none that we know: the request may have been processed. */
const mayPass = (status: number): boolean => status === 408 || status >= 500;

/** Another attempt, while there are attempts and time left. */
function again(situation: Situation): Decision {
  const { attempt, elapsedMs, policy } = situation;
  const ms = waitOf(situation);
  const attemptsLeft = isThrottled(situation.failure) || attempt < policy.maxAttempts;
  if (attemptsLeft && elapsedMs + ms <= policy.retryForMs) return { action: 'wait', ms };
  return { action: 'giveUp' };
}

/** The service's own figure is never jittered; a figure of zero leaves the pace to us. */
function waitOf({ failure, attempt, elapsedMs, policy, random }: Situation): number {
  const asked = failure.kind === 'refused' ? failure.retryAfterMs : undefined;
  if (asked) return Math.min(asked, longestWaitMs);
  // 429s are not counted: their waits grow with the time already spent, which doubles as well.
  if (!isThrottled(failure)) return backoffDelay({ attempt, policy, random });
  return random() * Math.min(Math.max(policy.retryBaseMs, elapsedMs), longestWaitMs);
}

/** Milliseconds to wait after the attempt of this number: full jitter, doubling, capped. */
export function backoffDelay({
  attempt,
  policy,
  random,
}: Pick<Situation, 'attempt' | 'policy' | 'random'>): number {
  return random() * Math.min(policy.retryBaseMs * 2 ** (attempt - 1), longestWaitMs);
}

/** Whether a failure is not counted as an attempt: nothing was processed, fewer in flight may do. */
export const isThrottled = (failure: Failure): boolean =>
  failure.kind === 'refused' && failure.status === 429;

/** Counts of a command, added to as requests are made. */
interface RequestCounts {
  requests: number;
  retries: number;
}

export interface RetryContext {
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  readonly signal: AbortSignal;
  /** Is told of each retry. */
  readonly waits: Pick<RetryStatus, 'began' | 'answered'>;
  readonly counts: RequestCounts;
  /** Names the request in messages, e.g. `GET /1/profile.json`. */
  readonly what: string;
}

/**
 * Makes a request that reads until an attempt succeeds. A FailureError that `request` throws counts
 * like the failure it carries. Throws E-CREDENTIALS, E-UNAVAILABLE, E-ANSWER, or the signal's reason.
 */
export async function withRetry<T>(
  request: (signal: AbortSignal) => Promise<Attempt<T>>,
  { policy, runtime, signal, waits, counts, what }: RetryContext,
): Promise<T> {
  const started = runtime.monotonic();
  for (let attempts = 0, counted = 0; ;) {
    counts.requests += 1;
    // What the client returned, or what was thrown while its answer was read.
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

/** A request that failed and is to be made again. */
interface PendingRetry {
  /** Names the request, e.g. `GET /1/profile.json`. */
  readonly what: string;
  readonly failure: Failure;
  /** So far, this one included. */
  readonly attempts: number;
  /** Milliseconds until the next one. */
  readonly ms: number;
}

/** Silence that is worth a word. */
const noticedMs = 5000;

/**
 * What a run waits for: its last request that failed, until one is answered; else an answer that
 * takes its time.
 */
export class RetryStatus {
  readonly #host: string;
  readonly #monotonic: () => number;
  readonly #log: (line: string) => void;
  readonly #silence: Pick<StallTimer, 'ms' | 'limitMs'> | undefined;
  #last: (PendingRetry & { readonly until: number }) | undefined;

  constructor(
    host: string,
    { monotonic, log }: { readonly monotonic: () => number; readonly log: (line: string) => void },
    silence?: Pick<StallTimer, 'ms' | 'limitMs'>,
  ) {
    this.#host = host;
    this.#monotonic = monotonic;
    this.#log = log;
    this.#silence = silence;
  }

  began(wait: PendingRetry): void {
    const { what, failure, ms } = wait;
    this.#last = { ...wait, until: this.#monotonic() + ms };
    this.#log(`${what} (${this.#host}): ${failure.message}; again in ${Math.round(ms)} ms`);
  }

  answered(): void {
    this.#last = undefined;
  }

  /**
   * `waiting for eu1.example.com: connection refused, try 3, next in 4 s`, or
   * `waiting for eu1.example.com: no answer for 5 s, given up after 60 s`.
   */
  get text(): string | undefined {
    if (!this.#last) return this.#silent();
    const { failure, attempts, until } = this.#last;
    const left = until - this.#monotonic();
    const now = attempts === 0 ? 'again now' : `try ${attempts + 1} now`; // 429s are not counted
    const tried = attempts === 0 ? '' : `try ${attempts}, `;
    const next = left > 0 ? `${tried}next in ${Math.ceil(left / 1000)} s` : now;
    return `waiting for ${this.#host}: ${reasonOf(failure)}, ${next}`;
  }

  #silent(): string | undefined {
    const { ms = 0, limitMs = 0 } = this.#silence ?? {};
    if (ms < noticedMs) return undefined;
    const [now, most] = [Math.floor(ms / 1000), Math.round(limitMs / 1000)];
    return `waiting for ${this.#host}: no answer for ${now} s, given up after ${most} s`;
  }
}

const longestReason = 80;

function reasonOf(failure: Failure): string {
  if (isThrottled(failure)) return 'too many requests (HTTP 429)';
  const { message } = failure;
  const code = Object.keys(reasons).find((word) => message.includes(word));
  return code === undefined ? message.slice(0, longestReason) : reasons[code]!;
}

/** What the codes of the network say. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name cannot be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
};

const weekday = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Milliseconds that `Retry-After` asks for, as seconds or as a date. A date is measured against
 * the answer's own `Date`, since the clocks may differ; `now` serves when there is none.
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

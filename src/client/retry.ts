import type { Failure } from './failure.js';

/**
 * What sending a request twice would do: nothing (`read`), end in the same state as once
 * (`converges`), or be counted twice (`once`).
 */
export type Work = 'read' | 'converges' | 'once';

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
  readonly work: Work;
  readonly policy: RetryPolicy;
  /** In [0, 1). */
  readonly random: () => number;
}

export type Decision =
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
export function decide(situation: Situation): Decision {
  const { failure, work } = situation;
  if (failure.kind === 'refused') {
    const { status } = failure;
    if (status === 429) return again(situation);
    if (status === 400 || status === 413) return refusedWhole(situation, status);
    if (!mayPass(status)) return { action: 'stop' };
  }
  if (failure.sent && work === 'once') return { action: 'unknown' };
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
  if (!isThrottled(failure)) return backOff({ attempt, policy, random });
  return random() * Math.min(Math.max(policy.retryBaseMs, elapsedMs), longestWaitMs);
}

/** Milliseconds to wait after the attempt of this number: full jitter, doubling, capped. */
export function backOff({
  attempt,
  policy,
  random,
}: Pick<Situation, 'attempt' | 'policy' | 'random'>): number {
  return random() * Math.min(policy.retryBaseMs * 2 ** (attempt - 1), longestWaitMs);
}

/** Whether a failure is not counted as an attempt: nothing was processed, fewer in flight may do. */
export const isThrottled = (failure: Failure): boolean =>
  failure.kind === 'refused' && failure.status === 429;

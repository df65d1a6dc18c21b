import type { Runtime } from '../runtime.js';
import { attempt, type Attempt } from './attempt.js';
import { failureError } from './failure-error.js';
import { decide, isThrottled, type RetryPolicy } from './retry.js';
import type { Waits } from './waits.js';

/** Counts of a command, added to as requests are made. */
export interface RequestCounts {
  requests: number;
  retries: number;
}

export interface RetryContext {
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  readonly signal: AbortSignal;
  /** Is told of each retry. */
  readonly waits: Pick<Waits, 'began' | 'answered'>;
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
    const made = await attempt(() => request(signal));
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
    const decision = decide({ failure, attempt: counted, elapsedMs, work: 'read', policy, random });
    if (decision.action !== 'wait') throw failureError(failure, { what, attempts });
    waits.began({ what, failure, attempts, ms: decision.ms });
    await runtime.sleep(decision.ms, signal);
    counts.retries += 1;
  }
}

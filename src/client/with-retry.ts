import type { Runtime } from '../runtime.js';
import type { Attempt } from './client.js';
import { FailureError, type Failure } from './failure.js';
import { failureError } from './failure-error.js';
import { decide, isThrottled, type RetryPolicy } from './retry.js';

/** Counts of a command, added to as requests are made. */
export interface RequestCounts {
  requests: number;
  retries: number;
}

export interface RetryContext {
  readonly policy: RetryPolicy;
  readonly runtime: Pick<Runtime, 'monotonic' | 'sleep' | 'random'>;
  readonly signal: AbortSignal;
  /** Gets one line for each retry. */
  readonly log: (line: string) => void;
  readonly counts: RequestCounts;
  /** Names the request in messages, e.g. `GET /1/profile.json`. */
  readonly what: string;
}

/**
 * Attempts of a read until one succeeds. A FailureError that `attempt` throws counts like the
 * failure it carries. Throws E-CREDENTIALS, E-UNAVAILABLE, E-ANSWER, or the signal's reason.
 */
export async function withRetry<T>(
  attempt: (signal: AbortSignal) => Promise<Attempt<T>>,
  { policy, runtime, signal, log, counts, what }: RetryContext,
): Promise<T> {
  const started = runtime.monotonic();
  for (let attempts = 0, counted = 0; ;) {
    counts.requests += 1;
    const outcome = await settled(attempt(signal));
    if (outcome.ok) return outcome.answer;
    const { failure } = outcome;
    attempts += 1;
    if (!isThrottled(failure)) counted += 1;
    const elapsedMs = runtime.monotonic() - started;
    const { random } = runtime;
    const decision = decide({ failure, attempt: counted, elapsedMs, work: 'read', policy, random });
    if (decision.action !== 'wait') throw failureError(failure, { what, attempts });
    log(`${what}: ${failure.message}; again in ${Math.round(decision.ms)} ms`);
    await runtime.sleep(decision.ms, signal);
    counts.retries += 1;
  }
}

async function settled<T>(attempt: Promise<Attempt<T>>): Promise<Attempt<T>> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof FailureError) return failed(error.failure);
    throw error;
  }
}

const failed = (failure: Failure) => ({ ok: false, failure }) as const;

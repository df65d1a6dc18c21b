import type { Attempt } from './client.js';
import { FailureError } from './failure.js';

/** The outcome of `work` as a value; throws what is not the attempt's failure, such as an abort. */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, answer: await work() };
  } catch (error) {
    if (error instanceof FailureError) return { ok: false, failure: error.failure };
    throw error;
  }
}

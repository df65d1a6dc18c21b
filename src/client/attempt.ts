import { FailureError, type Failure } from './failure.js';

/** What came of one attempt of a request. */
export type Attempt<T> =
  { readonly ok: true; readonly answer: T } | { readonly ok: false; readonly failure: Failure };

/** The outcome of `work` as a value; throws what is not the attempt's failure, such as an abort. */
export async function attempt<T>(work: () => Promise<T>): Promise<Attempt<T>> {
  try {
    return { ok: true, answer: await work() };
  } catch (error) {
    if (error instanceof FailureError) return { ok: false, failure: error.failure };
    throw error;
  }
}

import { EngagectlError, interruption } from '../errors.js';

/** What foreseen failure work ended with, if any; defects are thrown. */
export async function failureOf(
  work: Promise<unknown>,
  signal: AbortSignal,
): Promise<EngagectlError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof EngagectlError) return error;
    if (signal.aborted) return interruption(signal.reason);
    throw error;
  }
}

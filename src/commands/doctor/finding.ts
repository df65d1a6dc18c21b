import { EngagectlError, type ErrorId } from '../../errors.js';
import type { Warning } from '../../jobs/doctor/warning.js';

/** What one check came to. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly message: string;
  /** What to do about it; undefined when it is ok. */
  readonly fix?: string | undefined;
  /** Of what failed: it decides the exit code. */
  readonly id?: ErrorId;
}

/** Makes one check: what it returns is well, or a warning; when it throws, it has failed. */
export async function findingOf(
  check: string,
  look: () => Promise<string | Warning> | string | Warning,
): Promise<Finding> {
  try {
    const seen = await look();
    if (typeof seen === 'string') return { check, status: 'ok', message: seen };
    return { check, status: 'warning', message: seen.warning, fix: seen.fix };
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    const { why, fix } = error.details;
    const message = why === undefined ? error.message : `${error.message}: ${why}`;
    return { check, status: 'failed', message, fix, id: error.id };
  }
}

import type { Rehearsal } from '../jobs/job-options.js';
import type { ExportResult, RunResult, VerifyResult, WriteResult } from '../jobs/job-results.js';

/**
 * What a run came to, in the order of the contract (§2 for writes, §3 for exports). Figures that
 * belong to the other kind of command are left out.
 */
export interface Summary
  extends
    Omit<RunResult, 'run' | 'error' | 'unfinished'>,
    Partial<Pick<RunResult, 'run'>>,
    Partial<Omit<WriteResult, keyof RunResult | 'done' | 'stopped'>>,
    Partial<Omit<ExportResult, keyof RunResult>>,
    Partial<Omit<VerifyResult, keyof RunResult>> {
  /** Rows of which something is to be said, though they are accepted. */
  readonly warnings?: number;
  /** Rows by what is to be said of them. */
  readonly rules?: Readonly<Partial<Record<string, number>>>;
  readonly command: string;
  /** Nothing was to be changed. */
  readonly rehearsal?: Rehearsal | undefined;
  /** The page about the run, where one was asked for. */
  readonly report?: string | undefined;
  /** Config profile; null when everything came from flags and environment. */
  readonly profile: string | null;
  /** Null with the account id: only checked, no account was used. */
  readonly region: string | null;
}

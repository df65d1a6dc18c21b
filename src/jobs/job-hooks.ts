import type { HistoryFigures } from '../bulk/request-history.js';
import type { FirstReject, RejectKind } from '../bulk/outcomes/reject-samples.js';
import type { JobProgress, RejectedRecord } from './job-results.js';

export type { FirstReject, HistoryFigures, RejectKind };

/** Who asked for a job, and wants to be told how it goes. */
export interface JobHooks<Result> {
  /** Requests are made from now on; records of the input `first`, if there is one, come first. */
  begun?(progress: () => JobProgress, first?: string): void;
  /** Is told of each record that was not accepted. */
  readonly rejected?: (record: RejectedRecord) => void;
  /** Note how the requests go. */
  readonly history?: boolean;
  /** Told what came of it while the run can still be kept; false keeps it, although it is done. */
  ended?(ending: JobEnding<Result>): Promise<boolean>;
}

export interface JobEnding<Result> {
  readonly result: Result;
  /** Records that were not accepted, where there can be any to tell of. */
  readonly told?: ToldRejects | undefined;
  readonly history?: HistoryFigures | undefined;
  /** Earlier processes did a part of the run. */
  readonly wasResumed: boolean;
}

/** The first few rejects, how many there are of each kind, and their file. */
export interface ToldRejects {
  readonly samples: {
    readonly first: readonly FirstReject[];
    readonly kinds: ReadonlyMap<string, RejectKind>;
  };
  /** `missing` are the lines that the disk did not take. */
  readonly rejects: { readonly path: string; readonly exists: boolean; readonly missing: number };
}

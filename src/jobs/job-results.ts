import type { EngagectlError, ExitCode } from '../errors.js';
import type { HistoryFigures } from '../bulk/request-history.js';
import type { RejectedRecord } from '../output/rejects-file.js';
import type { FirstReject, RejectKind } from '../bulk/outcomes/reject-samples.js';

/** Result of every run. */
export interface RunResult {
  /** Run id. */
  readonly run: string;
  /** Null for a check without an account. */
  readonly accountId: string | null;
  readonly requests: number;
  readonly retries: number;
  readonly seconds: number;
  /** Exit code of the command line; 0 if all work is done and accounted for. */
  readonly exitCode: ExitCode;
  /** Most serious error of the run; undefined if there was none. */
  readonly error: EngagectlError | undefined;
  /** The run can be continued by the same job with `resume`. */
  readonly unfinished: boolean;
}

/** read = accepted + rejected + unknown + notSent + resumed + duplicates + unchanged + alreadySent */
export interface WriteResult extends RunResult {
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Records that may have been processed and are not idempotent. */
  readonly unknown: number;
  readonly notSent: number;
  /** 1 if the input ends in the middle of a record, which is among those not sent. */
  readonly heldBack?: number;
  /** Records that an earlier attempt of the same run committed. */
  readonly resumed: number;
  readonly duplicates: number;
  /** Records not sent because they did not change since they were last accepted. */
  readonly unchanged: number;
  /** Events not sent because another run sent them. */
  readonly alreadySent: number;
  /** Set for a write with `changed`. */
  readonly plan?: ChangeCounts;
  /** Set for a shard: records of other shards, not included in `read`. */
  readonly otherShards?: number;
  /** Rows in which all cells are empty, skipped by this process and not included in `read`. */
  readonly emptyRows?: number;
  /** How the first input was read: detected, or as the options say. `null` for formats without cells. */
  readonly input: {
    readonly format: string;
    readonly delimiter: string | null;
    readonly encoding: string;
    /** Physical line of the CSV header. */
    readonly headerLine: number | null;
  };
  /** Likely mistakes; not set if there are none. */
  readonly hints?: readonly InputHint[];
  readonly bytesSent: number;
  /** Null if no record was rejected. */
  readonly rejectsFile: string | null;
  /** The whole input was processed. */
  readonly done: boolean;
  /** Error that ended the run before the end of the input. */
  readonly stopped: EngagectlError | undefined;
}

/** A likely mistake in an input. */
export interface InputHint {
  /** Stable, for scripts. */
  readonly id: string;
  /** Column of the input; null if it concerns whole records. */
  readonly column: string | null;
  /** Number of affected records or values among those examined. */
  readonly count: number;
  readonly fix: string;
  /** Error code of the service for such records; null if it accepts them. */
  readonly code: number | null;
  /** Position of the first occurrence, if known. */
  readonly source: string | null;
  readonly line: number | null;
}

/** Records of an input compared to the baseline. */
export interface ChangeCounts {
  readonly new: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Users or addresses of the baseline that are not in the input. */
  readonly gone: number;
}

/** Progress of a running job. */
export interface JobProgress {
  /** Records read from the input. */
  readonly read: number;
  /** Records that have an outcome; for an export, records received. */
  readonly records: number;
  readonly rejected: number;
  /** Bytes of the input that have an outcome; for an export, bytes received. */
  readonly bytes: number;
  /** Undefined if unknown: for exports and for input that is not a file. */
  readonly totalBytes: number | undefined;
  readonly inFlight: number;
  /** Cursors of an export: finished, and total. */
  readonly slices?: readonly [done: number, all: number];
  /**
   * Cause of a pause: data that is not ready, or failing requests, like
   * `connection refused, try 3, next in 4 s` and the host.
   */
  readonly waiting: string | undefined;
}

export interface ExportResult extends RunResult {
  /** First and last day, YYYY-MM-DD, in `timezone`. */
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly records: number;
  readonly pages: number;
  readonly pendingSeconds: number;
  readonly bytes: number;
  /** Null if the records were not written to a file. */
  readonly output: string | null;
  /** Set for an export with `missing` or `minRecords`. */
  readonly days?: DayCounts;
}

/**
 * Counts of day files (one per event and day if the name contains `{event}`). Files that are not
 * present, fetched, refreshed or short could not be fetched.
 */
export interface DayCounts {
  readonly wanted: number;
  /** Existing files that were kept. */
  readonly present: number;
  readonly fetched: number;
  /** Existing files that were replaced. */
  readonly refreshed: number;
  /** Files with fewer records than the minimum; not published. */
  readonly short: number;
}

/** Users that were not found count as rejected. */
export interface LookupResult
  extends
    Omit<WriteResult, 'bytesSent' | 'done' | 'stopped' | 'input' | 'emptyRows'>,
    Pick<ExportResult, 'bytes' | 'output'> {}

/** checked = same + different + missing; counts users, addresses and events, not records. */
export interface VerifyResult extends RunResult {
  readonly read: number;
  /** Records that would not be sent. */
  readonly rejected: number;
  readonly checked: number;
  readonly same: number;
  readonly different: number;
  readonly missing: number;
  /** Items that could not be compared because the service does not show enough of them. */
  readonly untold: number;
  /** Keys that the service returned in another spelling. */
  readonly foldedKeys: number;
  /** Seed of the sample, to repeat it. */
  readonly seed: number;
  /** Conclusion of the comparison, in one sentence. */
  readonly proof: string;
  /** Upper bound of the share that differs, with 95 % confidence; null if all were compared. */
  readonly mostDiffer: number | null;
  /** Set with `settle`. */
  readonly settled?: SettledCounts;
  /** Null if the differences were not written to a file. */
  readonly output: string | null;
}

/** Counts of resolved records of unknown outcome. */
export interface SettledCounts {
  /** Records found: they were accepted. */
  readonly accepted: number;
  /** Records not found: they can be sent. */
  readonly absent: number;
  readonly unknown: number;
}

export type { FirstReject, HistoryFigures, RejectKind, RejectedRecord };

/** Callbacks of a job. */
export interface JobHooks<Result> {
  /** Called before the first request. `first` is the name of the first input, if there is one. */
  started?(progress: () => JobProgress, first?: string): void;
  /** Called for each record that was not accepted. */
  readonly rejected?: (record: RejectedRecord) => void;
  /** Record the request history. */
  readonly history?: boolean;
  /** Called with the result before the run is removed. Resolving to false keeps the run. */
  ended?(ending: JobEnding<Result>): Promise<boolean>;
}

export interface JobEnding<Result> {
  readonly result: Result;
  /** Rejected records; undefined for jobs that have none. */
  readonly rejectSummary?: RejectSummary | undefined;
  readonly history?: HistoryFigures | undefined;
  /** An earlier process did part of the run. */
  readonly wasResumed: boolean;
}

/** First rejects, counts by kind, and the rejects file. */
export interface RejectSummary {
  readonly samples: {
    readonly first: readonly FirstReject[];
    readonly kinds: ReadonlyMap<string, RejectKind>;
  };
  /** `missing` counts lines that could not be written to disk. */
  readonly rejects: { readonly path: string; readonly exists: boolean; readonly missing: number };
}

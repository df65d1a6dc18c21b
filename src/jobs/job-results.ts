import type { EngagectlError, ExitCode } from '../errors.js';
import type { HistoryFigures } from '../bulk/request-history.js';
import type { FirstReject, RejectKind } from '../bulk/outcomes/reject-samples.js';

/** What every run comes to. */
export interface RunResult {
  /** Names the run. */
  readonly run: string;
  /** Null where only a check was made, without an account. */
  readonly accountId: string | null;
  readonly requests: number;
  readonly retries: number;
  readonly seconds: number;
  /** What the command line would exit with; 0: everything is done and accounted for. */
  readonly exitCode: ExitCode;
  /** The most serious thing to be said of the run; undefined when all went well. */
  readonly error: EngagectlError | undefined;
  /** What was done is kept, and the same job with `resume` goes on. */
  readonly unfinished: boolean;
}

/** read = accepted + rejected + unknown + notSent + resumed + duplicates + unchanged. */
export interface WriteResult extends RunResult {
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  /** May have been processed, and do harm when sent twice. */
  readonly unknown: number;
  readonly notSent: number;
  /** Accepted by an earlier part of the same run. */
  readonly resumed: number;
  readonly duplicates: number;
  /** Not sent, since the account accepted them as they are before. */
  readonly unchanged: number;
  /** Of a write that sends only what changed. */
  readonly plan?: ChangeCounts;
  /** Of a shard: records that others account for, which are not among those read. */
  readonly otherShards?: number;
  readonly bytesSent: number;
  /** Null when there was nothing to write into one. */
  readonly rejectsFile: string | null;
  /** The whole input was worked through. */
  readonly done: boolean;
  /** What ended the run before its input did. */
  readonly stopped: EngagectlError | undefined;
}

/** Records of an input against what the account accepted before. */
interface ChangeCounts {
  readonly new: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Users or addresses remembered that the input does not hold. */
  readonly gone: number;
}

/** Where a job stands. */
export interface JobProgress {
  /** Of the input. */
  readonly read: number;
  /** That have their outcome, or were received. */
  readonly records: number;
  readonly rejected: number;
  /** Of the input, as far as it is settled; of an export, what was received. */
  readonly bytes: number;
  /** Undefined where nobody knows: exports, and input that is no file. */
  readonly totalBytes: number | undefined;
  readonly inFlight: number;
  /** Of an export, cursors followed to their end, and how many there are. */
  readonly slices?: readonly [done: number, all: number];
  /** What is waited for, where requests fail: `connection refused, try 3, next in 4 s` and where; or that data is not ready. */
  readonly waiting: string | undefined;
}

/** A record that was not accepted. */
export interface RejectedRecord {
  /** The file; `stdin` for records that come from none. */
  readonly source: string;
  /** Where the record begins, 1-based. */
  readonly line: number;
  readonly stage: 'parse' | 'validate' | 'service' | 'unknown' | 'notSent';
  /** Of the service. */
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of what was read. */
  readonly record?: string;
  /** In its place: bytes that are no UTF-8. */
  readonly recordBase64?: string;
}

export interface ExportResult extends RunResult {
  /** First and last day, YYYY-MM-DD, and the zone they are days of. */
  readonly from: string;
  readonly to: string;
  readonly timezone: string;
  readonly records: number;
  readonly pages: number;
  readonly pendingSeconds: number;
  readonly bytes: number;
  /** Null where the records did not go to a file. */
  readonly output: string | null;
  /** Only of an export that leaves out days that are there, or that are too short. */
  readonly days?: DayCounts;
}

/**
 * Files of one day each, with `{event}` in the name of one event's day. Those that are neither present,
 * fetched, refreshed nor short could not be fetched.
 */
export interface DayCounts {
  readonly wanted: number;
  /** There already, and left alone. */
  readonly present: number;
  readonly fetched: number;
  /** There already, and replaced. */
  readonly refreshed: number;
  /** Fewer records than a day must have: not put in place. */
  readonly short: number;
}

/** Users whom nobody has count as rejected. */
export interface LookupResult
  extends
    Omit<WriteResult, 'bytesSent' | 'done' | 'stopped'>,
    Pick<ExportResult, 'bytes' | 'output'> {}

/** checked = same + different + missing; users, addresses or events, not records. */
export interface VerifyResult extends RunResult {
  readonly read: number;
  /** Records that would not be sent. */
  readonly rejected: number;
  readonly checked: number;
  readonly same: number;
  readonly different: number;
  readonly missing: number;
  /** What the service does not show well enough to tell. */
  readonly untold: number;
  /** Keys that came back in another spelling. */
  readonly foldedKeys: number;
  /** Of the sample; the same one takes it again. */
  readonly seed: number;
  /** What is proved, in one sentence. */
  readonly proof: string;
  /** The largest share of all that may differ, 95 % sure; null where all were looked at. */
  readonly mostDiffer: number | null;
  /** Only with `settle`. */
  readonly settled?: SettledCounts;
  /** Null where differences did not go to a file. */
  readonly output: string | null;
}

/** What became of the records whose outcome was unknown. */
export interface SettledCounts {
  /** Found: they were accepted. */
  readonly accepted: number;
  /** Not found: they can be sent. */
  readonly absent: number;
  readonly unknown: number;
}

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
  readonly told?: RejectSummary | undefined;
  readonly history?: HistoryFigures | undefined;
  /** Earlier processes did a part of the run. */
  readonly wasResumed: boolean;
}

/** The first few rejects, how many there are of each kind, and their file. */
export interface RejectSummary {
  readonly samples: {
    readonly first: readonly FirstReject[];
    readonly kinds: ReadonlyMap<string, RejectKind>;
  };
  /** `missing` are the lines that the disk did not take. */
  readonly rejects: { readonly path: string; readonly exists: boolean; readonly missing: number };
}

/// <reference types="node" />
import { Readable } from 'node:stream';

/** Exit codes. Scripts branch on them, so a number never changes its meaning. */
declare const exitCodes: {
  readonly ok: 0;
  readonly defect: 1;
  readonly usage: 2;
  readonly rejected: 3;
  readonly credentials: 4;
  readonly unavailable: 5;
  readonly unknown: 6;
  readonly protocol: 7;
  readonly refused: 8;
  readonly file: 9;
  readonly hungUp: 129;
  readonly interrupted: 130;
  readonly closedPipe: 141;
  readonly terminated: 143;
};
type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
/** Stable ids of the errors that a user can meet, with their exit codes. */
declare const errorIds: {
  readonly 'E-DEFECT': 1;
  readonly 'E-USAGE': 2;
  readonly 'E-CONFIG': 2;
  readonly 'E-CONFIG-FILE': 2;
  readonly 'E-REGION': 2;
  readonly 'E-BASE-URL': 2;
  readonly 'E-CONFIRM': 2;
  readonly 'E-DATE': 2;
  readonly 'E-WEBASSEMBLY': 2;
  readonly 'E-REJECTED': 3;
  readonly 'E-NOT-FOUND': 3;
  readonly 'E-CALL': 3;
  readonly 'E-SHORT': 3;
  readonly 'E-TOO-FEW': 3;
  readonly 'E-WARNINGS': 3;
  readonly 'E-DIFFERENT': 3;
  readonly 'E-CREDENTIALS': 4;
  readonly 'E-UNAVAILABLE': 5;
  readonly 'E-PENDING': 5;
  readonly 'E-UNKNOWN': 6;
  readonly 'E-ANSWER': 7;
  readonly 'E-CURSOR': 7;
  readonly 'E-HEADER': 8;
  readonly 'E-HEADER-DUPLICATE': 8;
  readonly 'E-HEADER-EMPTY': 8;
  readonly 'E-COLUMN-MISSING': 8;
  readonly 'E-EXPECTED': 8;
  readonly 'E-FORMAT': 8;
  readonly 'E-CSV-QUOTE': 8;
  readonly 'E-TOO-MANY': 8;
  readonly 'E-ALREADY-SENT': 8;
  readonly 'E-LEDGER': 8;
  readonly 'E-INPUT-CHANGED': 8;
  readonly 'E-JOURNAL': 8;
  readonly 'E-REJECTS-CHANGED': 8;
  readonly 'E-RUN-CHANGED': 8;
  readonly 'E-RUN-LOCKED': 8;
  readonly 'E-RUN-UNFINISHED': 8;
  readonly 'E-RUN-VERSION': 8;
  readonly 'E-UNTRUSTED': 8;
  readonly 'E-OUTPUT-EXISTS': 8;
  readonly 'E-PARTIAL-EXISTS': 8;
  readonly 'E-FILE-READ': 9;
  readonly 'E-INCOMPLETE': 9;
  readonly 'E-FILE-WRITE': 9;
  readonly 'E-COLUMNS': 9;
  readonly 'E-INTERRUPTED': 130;
  readonly 'E-TERMINATED': 143;
  readonly 'E-HUNG-UP': 129;
  readonly 'E-STDOUT-CLOSED': 141;
};
type ErrorId = keyof typeof errorIds;
interface ErrorDetails extends ErrorOptions, QuotedText {
  /** The cause, in one sentence. */
  readonly why?: string | undefined;
  /** Command or action to try next. */
  readonly fix?: string | undefined;
  /** Whether `fix` names the command that resumes the run. */
  readonly resumes?: boolean | undefined;
  /** Help that a terminal shows below the error. */
  readonly help?: string | undefined;
  readonly file?: string | undefined;
  /** Physical line, 1-based. */
  readonly line?: number | undefined;
  /** 1-based, in bytes of the decoded line. */
  readonly column?: number | undefined;
  /** The service does not know a requested event, so the same request never succeeds. */
  readonly namesEvent?: true | undefined;
}
/** What is to be masked in a text. */
interface QuotedText {
  /** Identities and addresses in the text, longest first. */
  readonly personal?: readonly string[] | undefined;
  /** Part of the text that is from the service, whose numbers may be phone numbers. */
  readonly foreign?: string | undefined;
}
/** An expected failure: the user sees what failed, why, and what to do; never a stack trace. */
declare class EngagectlError extends Error {
  readonly id: ErrorId;
  readonly exitCode: ExitCode;
  readonly details: ErrorDetails;
  constructor(id: ErrorId, message: string, details?: ErrorDetails);
}

type OutputFormat = 'ndjson' | 'csv' | 'json';

/** Formats of inputs, by their name in --input-format. A `list` is a single column without a header row. */
type InputFormat = 'csv' | 'tsv' | 'ndjson' | 'json' | 'list';

/** Options that describe how inputs are read. */
interface ReadingOptions {
  /** Default: from the file extension, otherwise from the content. */
  readonly inputFormat?: InputFormat;
  /** Delimiter of CSV cells; by default detected, or a tab for TSV. */
  readonly delimiter?: string;
  /** Quote character of CSV cells; default `"`, empty for none. */
  readonly quote?: string;
  /** Escape before a quote in a quoted cell; default: the quote. */
  readonly escape?: string;
  /** Physical lines above the header row of a CSV. */
  readonly skipLines?: number;
  /** Start of comment lines in a CSV. */
  readonly comment?: string;
  /** Resume on the next line after a quote that is never closed. Refused for events and demerges. */
  readonly recoverQuotes?: boolean;
  /** Path of the array of records inside one JSON object, such as `data.users`; `\\.` is a dot within a name. */
  readonly records?: string;
  /** Remove whitespace and invisible characters around cells. */
  readonly trim?: boolean;
  /** Cells that count as empty, such as `NULL`. Placeholders are errors in identities, unless the list is empty or has an empty text, and text elsewhere. */
  readonly nullValues?: readonly string[];
  /** Encoding; by default detected among UTF-8, UTF-16 and windows-1252. */
  readonly encoding?: string;
}

/** One of several processes that share the records of an input. */
interface Shard {
  /** Number of the shard, starting at 1. */
  readonly index: number;
  readonly count: number;
}

/** How an input is read. */
interface ReadOptions extends ReadingOptions {
  /** A longer record is rejected; default 1 MiB. */
  readonly maxRecordBytes?: number;
  /** Take the first records only. */
  readonly limit?: number;
}
/** Options that upload, subscribe and demerge share. */
interface WriteOptions extends ReadOptions {
  /** Records per request; default: the service's maximum. */
  readonly chunkSize?: number;
  /** Bytes per request; default 4 MiB. */
  readonly chunkBytes?: number;
  /** Maximum requests in flight; `auto` (default) adapts to the service, up to its limit. */
  readonly concurrency?: number | 'auto';
  /** Send only the records of this shard. `concurrency` is the limit of all shards together. */
  readonly shard?: Shard | undefined;
  /** `key` (default): records of one key arrive in input order. */
  readonly order?: 'key' | 'none';
  /** File that rejected records are written to. */
  readonly rejects?: string;
  /** Stop when more records than this are rejected. */
  readonly maxRejects?: RejectLimit;
  /** Resend records of unknown outcome from a rejects file. */
  readonly retryUnknown?: boolean;
  /** Resume the unfinished run of the same job, if there is one. */
  readonly resume?: boolean;
  /** The input ends where it ends: do not hold back an incomplete last record. */
  readonly final?: boolean;
  /** Forget the unfinished run of the same job. */
  readonly fresh?: boolean;
  /** Maximum time to wait for another process that works on the same run, in milliseconds; default 0. */
  readonly waitLock?: number;
  /** Name of a run whose input is a pipe; another process can resume the run by this name. */
  readonly runName?: string;
  /** Resend records that are not idempotent although another run sent them. */
  readonly again?: boolean;
  /** Send only records that changed since they were last accepted. */
  readonly changed?: boolean;
  /**
   * Name of the baseline for `changed`; default `default`. Use one for each source that sends other
   * columns of the same users.
   */
  readonly stream?: string;
  /** With `changed`: send all records and rebuild the baseline. */
  readonly full?: boolean;
  /** With `changed`: file for users or addresses of the baseline that are not in the input. */
  readonly gone?: string;
  /** End with exit code 3 if there are likely mistakes in the input. */
  readonly failOnWarnings?: boolean;
  /** Change nothing. `check` sends nothing; `dryRun` lets the service validate, if it can. */
  readonly rehearsal?: Rehearsal | undefined;
}
/** Options of every job. */
interface JobOptions {
  /** Stops the job. Requests in flight may finish. */
  readonly signal?: AbortSignal;
}
/** Options of an upload. Column names are those of the input. */
interface UploadOptions extends WriteOptions {
  /** Type of flat rows; default `profile`. */
  readonly type?: 'profile' | 'event';
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
  /** Column of the objectId, to identify users by it. */
  readonly objectId?: string;
  /** Renamed columns, each as `column=key`. */
  readonly map?: readonly string[];
  /**
   * Column types, each as `column:type`: string (default), integer, number, boolean, date, json,
   * `phone(DE)`, `phone:+91`, `list(;)`, or one with a format such as `date(DD.MM.YYYY)`.
   */
  readonly types?: readonly string[];
  /** Columns that are not sent. */
  readonly drop?: readonly string[];
  /** Columns that are sent; default: all. */
  readonly only?: readonly string[];
  /** Members that every row gets, each as `key=value`. */
  readonly set?: readonly string[];
  /** Columns that are sent in lower case. */
  readonly lowercase?: readonly string[];
  /** Path of a JSON file with these options and with checks of the input. */
  readonly mapping?: string;
  /** How an empty cell is sent; default `omit`. */
  readonly empty?: 'omit' | 'null' | 'string';
  /** Name of events whose row has no evtName. */
  readonly eventName?: string;
  /** Time of events whose row has no ts. */
  readonly ts?: 'now';
}
interface SubscribeOptions extends WriteOptions {
  /** Type of rows that do not state one. */
  readonly type?: 'phone' | 'whatsapp' | 'email';
  readonly status?: 'Unsubscribe' | 'Resubscribe';
  /** Columns of type, value and status, each as `column=value`. */
  readonly map?: readonly string[];
  /** Types of columns, each as `column:type`: string, `phone(DE)` or `phone:+91`. */
  readonly types?: readonly string[];
  /** Columns that are sent in lower case. */
  readonly lowercase?: readonly string[];
  /** Path of a JSON file with map, types, lowercase, trim and nullValues. */
  readonly mapping?: string;
}
interface DemergeOptions extends WriteOptions {
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
}
/** How a run without changes validates records: locally, or by the service as well. */
type Rehearsal = 'check' | 'dryRun';
/** Limit of rejected records. A percentage is checked after 1000 records and at the end. */
type RejectLimit =
  | {
      readonly records: number;
    }
  | {
      readonly percent: number;
    };
/** Request options of an export. */
interface ExportOptions {
  /**
   * First and last day, both inclusive: YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d, last-week,
   * last-month or this-month.
   */
  readonly from: string;
  readonly to: string;
  /** Records per page; for profiles a multiple of 23. Default 4991. */
  readonly batchSize?: number;
  /** Maximum records. Needs a single output file and one request at a time. Default: all. */
  readonly limit?: number;
  /** Include app fields: versions, make and model of devices. */
  readonly app?: boolean;
  /** False omits the event summaries of users. */
  readonly eventSummaries?: boolean;
  /** False omits custom profile properties. */
  readonly profileProperties?: boolean;
  /** First pause while the data is not ready, in milliseconds; default 2000. */
  readonly pollInterval?: number;
  /** Maximum time to wait for the data, in milliseconds; default 30 minutes. */
  readonly pendingTimeout?: number;
}
interface ProfileExportOptions extends ExportOptions {
  /** Event that the users performed. */
  readonly event: string;
}
interface EventExportOptions extends ExportOptions {
  readonly event: string | readonly string[];
  /** False uses one cursor per event instead of one per request in flight. */
  readonly split?: boolean;
  /** Maximum requests in flight; default 3. */
  readonly concurrency?: number;
  /** Export only every n-th slice. `concurrency` is the limit of all shards together. */
  readonly shard?: Shard | undefined;
  /** Add `event_name` and `ts_utc` to each record; always on with several events. */
  readonly withEventName?: boolean;
}
/** How records are written to a file. */
interface FileOptions {
  /** Default: by the file extension, otherwise NDJSON. */
  readonly format?: OutputFormat;
  /** Columns of a CSV; default: all. */
  readonly columns?: readonly string[];
  /** CSV cells that a spreadsheet would run as formulas; default `keep`. */
  readonly csvFormulas?: 'keep' | 'escape';
  /** Start a CSV with a byte order mark. */
  readonly bom?: boolean;
  /** Replace an existing file. */
  readonly overwrite?: boolean;
  /** Set the partial file of an earlier run aside and restart. */
  readonly fresh?: boolean;
  /** Resume the unfinished export to this file, if there is one. */
  readonly resume?: boolean;
  /** Maximum time to wait for another process that writes the same file, in milliseconds; default 0. */
  readonly waitLock?: number;
}
/** How one file per day is written; the name contains `{day}`. */
interface DayFileOptions extends FileOptions {
  /** Fetch only days that have no file. The last day must be over. */
  readonly missing?: boolean;
  /** Number of days at the end of the range to fetch again. Complete files replace the old ones. */
  readonly refresh?: number;
  /** Minimum records of a day. A day with fewer is not published and counts as missing. */
  readonly minRecords?: number;
}
interface LookUpOptions extends ReadOptions {
  /** Identifier of sources that do not name one. */
  readonly by?: 'identity' | 'email' | 'objectId';
  /** Column of the identifiers; default: the name of their kind. Needs `by`. */
  readonly column?: string;
  /** Types of columns, each as `column:type`: string, `phone(DE)` or `phone:+91`. */
  readonly types?: readonly string[];
  /** Columns that are looked up in lower case. */
  readonly lowercase?: readonly string[];
  /** Maximum requests in flight; default 3. */
  readonly concurrency?: number;
  /** Add whether the user is reachable by SMS, WhatsApp and email. */
  readonly reachability?: boolean;
}
/** Options of the write that sent the input, and how to look for its records. */
interface VerifyOptions extends Omit<
  UploadOptions,
  Exclude<keyof WriteOptions, keyof ReadOptions>
> {
  /** Set for the input of a `subscribe`. Compares the flags of the users who have the addresses. */
  readonly subscriptions?: SubscribeOptions | undefined;
  /** Number of users or addresses to look up; default 300. */
  readonly sample?: number;
  /** Seed of the sample. */
  readonly seed?: number;
  /** Look up all of them. */
  readonly all?: boolean;
  /** Look up all records of unknown outcome in a rejects file. */
  readonly settle?: boolean;
  /** Time in which differences are checked again, in milliseconds; default 0. */
  readonly within?: number;
  /** Maximum time to wait until a day of events is ready, in milliseconds; default 30 minutes. */
  readonly pendingTimeout?: number;
  /** Maximum requests in flight; default 3. */
  readonly concurrency?: number;
}

/** A readable standard stream; `isTTY` if it is a terminal. */
type InputStream = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
};
/** A writable standard stream; `columns` and `rows` are set for a terminal. */
type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};
/** The outside world as an object, which tests replace. */
interface Runtime {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Program name for suggested commands: `engagectl`, `npx engagectl`. */
  readonly program: string;
  /** Environment variables; an empty one counts as unset and is not in here. */
  readonly env: Readonly<Record<string, string>>;
  /** Directory for relative paths. */
  readonly cwd: string;
  /** Like `linux`, `darwin`, `win32`. */
  readonly platform: NodeJS.Platform;
  /** Process id. */
  readonly pid: number;
  /** User id of the process. Undefined, as on Windows: ownership is not checked. */
  readonly uid?: number | undefined;
  /** Like `20.18.1`. */
  readonly nodeVersion: string;
  /** Wall clock in epoch milliseconds, for dates only; durations use `monotonic`. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Returns 32 unguessable and unique letters, digits, - and _, for names and secrets. */
  readonly token: () => string;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; its reason is the EngagectlError to end with. */
  readonly signal: AbortSignal;
  /** Calls `show` on each status request (SIGUSR1); returns a function that unregisters it. */
  readonly onStatusRequest: (show: () => void) => () => void;
  /** Removes typed secrets from a text; undefined if there are none. */
  readonly redact?: (text: string) => string;
  /** Unredacted standard error, for deliberately showing a secret; undefined if no secret was typed. */
  readonly unredactedStderr?: Runtime['stderr'];
  /** Receives all messages, displayed or not; undefined without `--log-file`. */
  readonly log?: (entry: LogEntry) => void;
}
/** A message. */
interface LogEntry {
  readonly type: string;
  /** Text for people, possibly several lines. */
  readonly text: string;
  /** The message as an object; default `{ message: text }`. */
  readonly about?: object;
}
/**
 * The real runtime. Standard streams are opened on first use, and the clock is not that of
 * `performance`, which Node loads on first use: a millisecond each. The caller owns the signal handlers.
 */
declare function nodeRuntime(
  signal: AbortSignal,
  onStatusRequest?: Runtime['onStatusRequest'],
): Runtime;

/** A record that was not accepted. */
interface RejectedRecord {
  /** Input file, or `stdin`. */
  readonly source: string;
  /** First line of the record, 1-based. */
  readonly line: number;
  readonly stage: 'parse' | 'validate' | 'service' | 'unknown' | 'alreadySent' | 'notSent';
  /** Error code of the service. */
  readonly code?: number | undefined;
  readonly error: string;
  /** JSON text of the input record. */
  readonly record?: string;
  /** Set instead of `record` for bytes that are not UTF-8. */
  readonly recordBase64?: string;
}

/** Result of every run. */
interface RunResult {
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
interface WriteResult extends RunResult {
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
interface InputHint {
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
interface ChangeCounts {
  readonly new: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Users or addresses of the baseline that are not in the input. */
  readonly gone: number;
}
/** Progress of a running job. */
interface JobProgress {
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
interface ExportResult extends RunResult {
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
interface DayCounts {
  readonly wanted: number;
  /** Existing files that were kept. */
  readonly present: number;
  readonly fetched: number;
  /** Existing files that were replaced. */
  readonly refreshed: number;
  /** Files with fewer records than the minimum; not published. */
  readonly short: number;
}
/** checked = same + different + missing; counts users, addresses and events, not records. */
interface VerifyResult extends RunResult {
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
interface SettledCounts {
  /** Records found: they were accepted. */
  readonly accepted: number;
  /** Records not found: they can be sent. */
  readonly absent: number;
  readonly unknown: number;
}

/** Access to one account of the service. */
interface ConnectOptions {
  /** Base URL: https, or http for localhost. */
  readonly baseUrl: string;
  readonly accountId: string;
  readonly passcode: string;
  /** Prefix of the authentication headers; default `X-Service`. */
  readonly headerPrefix?: string;
  /** Time zone (IANA name) for relative dates and times without an offset; default UTC. */
  readonly timezone?: string;
  /** Time for which sent events are remembered in the state directory, in milliseconds; default 90 days. */
  readonly rememberMs?: number;
  readonly retry?: {
    /** Maximum attempts per request, not counting 429s; default 8. */
    readonly maxAttempts?: number;
    /** Maximum time one request may spend in retries, in milliseconds; default 10 minutes. */
    readonly retryForMs?: number;
    /** First backoff, in milliseconds; default 500. */
    readonly retryBaseMs?: number;
  };
  readonly fetchLimits?: {
    /** Timeout of a whole write request; for reads, of inactivity. Default 60 seconds. */
    readonly timeoutMs?: number;
    /** Maximum requests in flight of all jobs together; default 15. */
    readonly maxInFlight?: number;
  };
  /**
   * Folder for journals of runs from or to files, so that another process can resume them. May be
   * the state directory of the command line. A relative path starts at the directory that is current when `connect` is called.
   * Default: no journals.
   */
  readonly stateFolder?: string;
  /** Receives the messages of the command line, and each request as `verbose`. */
  readonly log?: (kind: 'note' | 'warning' | 'verbose', text: string) => void;
}
/**
 * Input records: the path of a file, several files as file URLs, a stream of a file's bytes, or objects. A stream
 * of objects is passed as an async iterable, `(async function* () { yield* stream; })()`. A text is always a
 * path, so check that records that somebody else sends are an array.
 */
type Source = string | readonly URL[] | Readable | Iterable<object> | AsyncIterable<object>;
/** One account of the service. */
interface Account extends AsyncDisposable {
  /** Creates or updates user profiles, or adds events. */
  upload(source: Source, options?: UploadOptions & JobOptions): WriteRun;
  /** Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. */
  subscribe(source: Source, options?: SubscribeOptions & JobOptions): WriteRun;
  /** Demerges profiles by identity, without confirmation. */
  demerge(source: Source, options?: DemergeOptions & JobOptions): WriteRun;
  /** Exports the profiles of users who performed an event in a range of days. */
  exportProfiles(query: ProfileExportOptions & JobOptions): Export;
  /** Exports the events of a range of days, in the order of the given names, then by day. */
  exportEvents(query: EventExportOptions & JobOptions): Export<DayFileOptions>;
  /** Compares the account with what an upload of this source with the same options sent. */
  verify(source: Source, options?: VerifyOptions & JobOptions): VerifyRun;
  /** Looks up one user; undefined if there is none. */
  getProfile(
    user: UserIdentifier,
    options?: Pick<LookUpOptions, 'reachability'> & JobOptions,
  ): Promise<JsonObject | undefined>;
  /**
   * Looks up users in input order, by the first of `identity`, `email` and `objectId` that a record has. Give `by` if
   * somebody else writes the records: a member more would name another user.
   */
  getProfiles(source: Source, options?: LookUpOptions & JobOptions): AsyncGenerator<LookedUpUser>;
  /** Closes the connections. */
  close(): Promise<void>;
}
/**
 * A running job. `result` rejects only for errors before the first request; later errors are part
 * of the result.
 */
interface Run<Result> {
  readonly result: Promise<Result>;
  progress(): JobProgress;
}
interface WriteRun extends Run<WriteResult> {
  /**
   * Yields rejected records as they occur. Can be read once; start immediately if there may be more
   * than 10,000. A slow reader slows down the run.
   */
  rejects(): AsyncGenerator<RejectedRecord>;
}
interface VerifyRun extends Run<VerifyResult> {
  /**
   * Yields the differences. Can be read once. With `settle`, yields lines of a rejects file instead,
   * for records that were not found or could not be compared.
   */
  differences(): AsyncGenerator<VerifyDifference | RejectedRecord>;
}
/** A value that differs from what was sent. */
interface VerifyDifference {
  readonly source: string;
  readonly line: number;
  /** Identity or objectId; for a subscription the address. */
  readonly identity: string;
  /** Key of profileData, or event name; null if the whole user is missing. */
  readonly key: string | null;
  readonly sent: unknown;
  readonly found: unknown;
  readonly verdict: 'different' | 'missing' | 'extra';
}
type JsonObject = Record<string, unknown>;
/** An export. Iterating yields parsed records; each loop sends new requests. */
interface Export<Options extends FileOptions = FileOptions> extends AsyncIterable<JsonObject> {
  records(): AsyncGenerator<JsonObject>;
  /** Yields the JSON text of each record as received, so numbers keep their spelling. */
  texts(): AsyncGenerator<string>;
  /** Writes a file in the format of its extension; `.gz` after it compresses. */
  toFile(path: string, options?: Options): Run<ExportResult>;
}
type UserIdentifier =
  | {
      readonly identity: string;
    }
  | {
      readonly email: string;
    }
  | {
      readonly objectId: string;
    };
interface LookedUpUser {
  readonly by: 'identity' | 'email' | 'objectId';
  readonly value: string;
  /** Undefined if there is no such user. */
  readonly profile: JsonObject | undefined;
}

/** Runs one command line (without node and script) and returns the exit code. Never throws. */
declare function main(argv: readonly string[], outside: Runtime): Promise<ExitCode>;

/**
 * Connects to one account of the service. Sends nothing yet. Throws E-BASE-URL for an address that
 * must not receive the passcode.
 */
declare const connect: (options: ConnectOptions) => Account;

export { EngagectlError, connect, exitCodes, main, nodeRuntime };
export type {
  Account,
  ConnectOptions,
  DayCounts,
  DayFileOptions,
  DemergeOptions,
  ErrorId,
  EventExportOptions,
  ExitCode,
  Export,
  ExportResult,
  FileOptions,
  JobOptions,
  JobProgress,
  JsonObject,
  LookUpOptions,
  LookedUpUser,
  ProfileExportOptions,
  RejectLimit,
  RejectedRecord,
  Run,
  Runtime,
  SettledCounts,
  Source,
  SubscribeOptions,
  UploadOptions,
  UserIdentifier,
  VerifyDifference,
  VerifyOptions,
  VerifyResult,
  VerifyRun,
  WriteResult,
  WriteRun,
};

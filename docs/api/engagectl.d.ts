/// <reference types="node" />
import { Readable } from 'node:stream';

/** What a shell sees. Scripts branch on these, so a number never changes its meaning. */
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
/** Stable ids of the errors a user can meet, and the exit code each of them ends with. */
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
  readonly 'E-FILE-WRITE': 9;
  readonly 'E-COLUMNS': 9;
  readonly 'E-INTERRUPTED': 130;
  readonly 'E-TERMINATED': 143;
  readonly 'E-HUNG-UP': 129;
  readonly 'E-STDOUT-CLOSED': 141;
};
type ErrorId = keyof typeof errorIds;
interface ErrorDetails extends ErrorOptions {
  /** Why it happened, in one sentence. */
  readonly why?: string | undefined;
  /** What to type next. */
  readonly fix?: string | undefined;
  /** `fix` names the command that resumes the run, so that nobody else needs to. */
  readonly resumes?: boolean | undefined;
  readonly file?: string | undefined;
  /** Physical line, 1-based. */
  readonly line?: number | undefined;
  /** 1-based, in bytes of the decoded line. */
  readonly column?: number | undefined;
  /** The service does not know an event that was asked for: the same request never succeeds. */
  readonly namesEvent?: true | undefined;
  /** Identities and addresses in its words, the longest first: who shows it may shorten them. */
  readonly personal?: readonly string[] | undefined;
}
/** A failure we foresaw: the user gets what, why and how to go on; never a stack trace. */
declare class EngagectlError extends Error {
  readonly id: ErrorId;
  readonly exitCode: ExitCode;
  readonly details: ErrorDetails;
  constructor(id: ErrorId, message: string, details?: ErrorDetails);
}

type OutputFormat = 'ndjson' | 'csv' | 'json';

/** Formats of the write commands' input. `list` is one bare value a line. */
declare const inputFormats: readonly ['csv', 'tsv', 'ndjson', 'json', 'list'];
type InputFormat = (typeof inputFormats)[number];

/** How an input is read. */
interface ReadingOptions {
  /** Else by the file's extension, else by its content. */
  readonly inputFormat?: InputFormat;
  /** Between the cells of a CSV; default `,`. */
  readonly delimiter?: string;
  /** Around the cells of a CSV; default `"`, empty for none. */
  readonly quote?: string;
  /** Before a quote in a quoted cell; default: the quote. */
  readonly escape?: string;
  /** Begins the lines of a CSV that are no records. */
  readonly comment?: string;
  /** Resume on the next line after a quote that is never closed. Refused for events and demerges. */
  readonly recoverQuotes?: boolean;
  /** For text that is neither UTF-8 nor UTF-16 with a byte order mark. */
  readonly encoding?: string;
}

/** One of several processes that share the records of an input. */
interface Shard {
  /** From 1 on. */
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
/** What upload, subscribe and demerge have in common. */
interface WriteOptions extends ReadOptions {
  /** Records per request; default: the service's maximum. */
  readonly chunkSize?: number;
  /** Bytes per request; default 4 MiB. */
  readonly chunkBytes?: number;
  /** Most requests in flight. */
  readonly concurrency?: number;
  /** Only the records whose key falls to this process; `concurrency` is that of all together. */
  readonly shard?: Shard | undefined;
  /** `key`, the default: records of one key arrive in input order. */
  readonly order?: 'key' | 'none';
  /** File that rejected records are written to. */
  readonly rejects?: string;
  /** Stop when more than that were rejected. */
  readonly maxRejects?: RejectLimit;
  /** Send records of a rejects file whose outcome is unknown again. */
  readonly retryUnknown?: boolean;
  /** Go on with the unfinished run of the same job, if there is one. */
  readonly resume?: boolean;
  /** Forget the unfinished run of the same job. */
  readonly fresh?: boolean;
  /** Of input from a pipe: the name by which another process can go on with the run. */
  readonly runName?: string;
  /** Send records that do harm when sent twice once more, though another run sent the same. */
  readonly again?: boolean;
  /** Send only what is not as the account last accepted it from us. */
  readonly changed?: boolean;
  /** Where that is remembered; sources of other columns of the same users have others. Default `default`. */
  readonly stream?: string;
  /** With `changed`: send everything, and remember it. */
  readonly full?: boolean;
  /** With `changed`: file for the users or addresses remembered that the input does not hold. */
  readonly gone?: string;
  /** Change nothing: `check` sends nothing; `dryRun` lets the service check, where it can. */
  readonly rehearsal?: Rehearsal | undefined;
}
/** What every job can be given. */
interface JobOptions {
  /** Stops the job, for whatever reason. What is in flight may finish. */
  readonly signal?: AbortSignal;
}
/** Names input columns throughout. */
interface UploadOptions extends WriteOptions {
  /** What flat rows are; default: profiles. */
  readonly type?: 'profile' | 'event';
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
  /** Key by the objectId in this column. */
  readonly objectId?: string;
  /** `column=key` each: send a column under another name. */
  readonly map?: readonly string[];
  /** `column:type` each, of string, integer, number, boolean, date, json, `phone:+91`; else strings. */
  readonly types?: readonly string[];
  /** Columns that are not sent. */
  readonly drop?: readonly string[];
  /** The only columns that are sent. */
  readonly only?: readonly string[];
  /** Path of a JSON file with all of this, and with what is expected of the input. */
  readonly mapping?: string;
  /** What an empty cell is sent as; default: it is left out. */
  readonly empty?: 'omit' | 'null' | 'string';
  /** Of events whose row has no evtName. */
  readonly eventName?: string;
  /** The time of events whose row has no ts. */
  readonly ts?: 'now';
}
interface SubscribeOptions extends WriteOptions {
  /** Where the input does not say. */
  readonly type?: 'phone' | 'whatsapp' | 'email';
  readonly status?: 'Unsubscribe' | 'Resubscribe';
}
interface DemergeOptions extends WriteOptions {
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
}
/** Nothing is to be changed: records are read and checked here, or by the service as well. */
type Rehearsal = 'check' | 'dryRun';
/** A percentage is judged from 1000 records on, and at the end. */
type RejectLimit =
  | {
      readonly records: number;
    }
  | {
      readonly percent: number;
    };
/** What an export asks the service for. */
interface ExportOptions {
  /**
   * First and last day, both inclusive: YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d, last-week,
   * last-month or this-month.
   */
  readonly from: string;
  readonly to: string;
  /** Records per page; of profiles a multiple of 23. Default 4991. */
  readonly batchSize?: number;
  /** End after so many records: of one document, by one request at a time. Default: all. */
  readonly limit?: number;
  /** With app fields: versions, make and model of devices. */
  readonly app?: boolean;
  /** False: without the summaries of users' events. */
  readonly eventSummaries?: boolean;
  /** False: without custom profile properties. */
  readonly profileProperties?: boolean;
  /** Milliseconds of the first pause while the data is not ready; default 2000. */
  readonly pollInterval?: number;
  /** Longest time to wait for it, in milliseconds; default 30 minutes. */
  readonly pendingTimeout?: number;
}
interface ProfileExportOptions extends ExportOptions {
  /** The event that the users did. */
  readonly event: string;
}
interface EventExportOptions extends ExportOptions {
  readonly event: string | readonly string[];
  /** False: one cursor for the whole range, not one a day. */
  readonly split?: boolean;
  /** Most requests in flight; default 3. */
  readonly concurrency?: number;
  /** Only every n-th slice; `concurrency` is that of all shards together. */
  readonly shard?: Shard | undefined;
  /** Adds `event_name` and `ts_utc` to each record; always so with several events. */
  readonly withEventName?: boolean;
}
/** How records are written to a file. */
interface FileOptions {
  /** Else by the extension of the file's name, else NDJSON. */
  readonly format?: OutputFormat;
  /** Of a CSV; default: all. */
  readonly columns?: readonly string[];
  /** Cells of a CSV that a spreadsheet would run: default `keep`. */
  readonly csvFormulas?: 'keep' | 'escape';
  /** Begin a CSV with a byte order mark. */
  readonly bom?: boolean;
  /** Replace an existing file. */
  readonly overwrite?: boolean;
  /** Set the partial file of an earlier run aside, and start again. */
  readonly fresh?: boolean;
  /** Go on with an export to this file that did not finish, if there is one. */
  readonly resume?: boolean;
}
/** How files of one day each are written: `{day}` stands in the name. */
interface DayFileOptions extends FileOptions {
  /** Fetch only the days that have no file. The last day must be over. */
  readonly missing?: boolean;
  /** So many days at the end of the range are fetched again, and replaced when they are whole. */
  readonly refresh?: number;
  /** A day with fewer is not put in place, and counts as missing. */
  readonly minRecords?: number;
}
interface LookUpOptions extends ReadOptions {
  /** What the source identifies users by, where it does not say. */
  readonly by?: 'identity' | 'email' | 'objectId';
  /** Most requests in flight; default 3. */
  readonly concurrency?: number;
  /** Add what the subscription flags mean for SMS, WhatsApp and email. */
  readonly reachability?: boolean;
}
/** What was sent, as the options of the write say it, and how it is looked for. */
interface VerifyOptions extends Omit<
  UploadOptions,
  Exclude<keyof WriteOptions, keyof ReadOptions>
> {
  /** The input is one of `subscribe`: addresses are compared by the flags of who has them. */
  readonly subscriptions?: SubscribeOptions | undefined;
  /** Users or addresses to look up; default 300. */
  readonly sample?: number;
  /** The same seed takes the same sample. */
  readonly seed?: number;
  /** Look all of them up. */
  readonly all?: boolean;
  /** The input is a rejects file: its records of unknown outcome are looked up, all of them. */
  readonly settle?: boolean;
  /** Milliseconds in which what differs is looked at again; default 0. */
  readonly within?: number;
  /** Longest time to wait for a day of events that is not ready, in milliseconds; default 30 minutes. */
  readonly pendingTimeout?: number;
  /** Most requests in flight; default 3. */
  readonly concurrency?: number;
}

/** A readable standard stream, and whether a person sits at it. */
type InputStream = NodeJS.ReadableStream & {
  readonly isTTY?: boolean;
};
/** A writable standard stream; `columns` and `rows` are set when it is a terminal. */
type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};
/** The outside world as one value, so that tests can hand in another. */
interface Runtime {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** How this program was called, as a shell takes it: `engagectl`, `npx engagectl`. */
  readonly program: string;
  /** Environment variables; an empty one counts as unset and is not in here. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder against which relative paths are resolved. */
  readonly cwd: string;
  /** Like `linux`, `darwin`, `win32`. */
  readonly platform: NodeJS.Platform;
  /** Id of the user that the process runs as. Undefined, as on Windows: nobody's files are refused. */
  readonly uid?: number | undefined;
  /** Like `20.18.1`. */
  readonly nodeVersion: string;
  /** Wall clock, milliseconds since 1970. For dates only: durations use `monotonic`. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** 32 letters, digits, - and _, which nobody can guess and nothing else has: for names and secrets. */
  readonly token: () => string;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; its reason is the EngagectlError to end with. */
  readonly signal: AbortSignal;
  /** Has `show` called whenever the user asks by SIGUSR1 how far it is; returns what ends that. */
  readonly onStatusRequest: (show: () => void) => () => void;
  /** Takes secrets that were typed out of a text; undefined where none was. */
  readonly redact?: (text: string) => string;
  /** Standard error as it is, for what shows a secret on purpose; undefined where none was typed. */
  readonly unredactedStderr?: Runtime['stderr'];
  /** Gets what is told, whether it is shown or not; undefined without `--log-file`. */
  readonly log?: (entry: LogEntry) => void;
}
/** What is told at a time. */
interface LogEntry {
  readonly type: string;
  /** For people; of several lines perhaps. */
  readonly text: string;
  /** The same as an object; `{ message: text }` by default. */
  readonly about?: object;
}
/**
 * The real world. A standard stream is opened when it is asked for, and the clock is not that of
 * `performance`, which Node loads at its first use: a millisecond each. Its signals come
 * from the shim that owns the process's signal handlers.
 */
declare function nodeRuntime(
  signal: AbortSignal,
  onStatusRequest?: Runtime['onStatusRequest'],
): Runtime;

/** What every run comes to. */
interface RunResult {
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
interface WriteResult extends RunResult {
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
interface JobProgress {
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
interface RejectedRecord {
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
interface ExportResult extends RunResult {
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
interface DayCounts {
  readonly wanted: number;
  /** There already, and left alone. */
  readonly present: number;
  readonly fetched: number;
  /** There already, and replaced. */
  readonly refreshed: number;
  /** Fewer records than a day must have: not put in place. */
  readonly short: number;
}
/** checked = same + different + missing; users, addresses or events, not records. */
interface VerifyResult extends RunResult {
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
interface SettledCounts {
  /** Found: they were accepted. */
  readonly accepted: number;
  /** Not found: they can be sent. */
  readonly absent: number;
  readonly unknown: number;
}

/** Everything needed to talk to one account of the service. */
interface ConnectOptions {
  /** https, or http to this machine. */
  readonly baseUrl: string;
  readonly accountId: string;
  readonly passcode: string;
  /** Of the authentication headers; default `X-Service`. */
  readonly headerPrefix?: string;
  /** IANA name, for relative dates and times without an offset; default UTC. */
  readonly timezone?: string;
  readonly retry?: {
    /** Attempts of one request, not counting 429s; default 8. */
    readonly maxAttempts?: number;
    /** Longest time one request may spend in retries, in milliseconds; default 10 minutes. */
    readonly retryForMs?: number;
    /** First back-off, in milliseconds; default 500. */
    readonly retryBaseMs?: number;
  };
  readonly fetchLimits?: {
    /** Of a whole request that writes, of silence in one that reads; default 60 seconds. */
    readonly timeoutMs?: number;
    /** Most requests in flight, of all jobs together; default 15. */
    readonly maxInFlight?: number;
  };
  /**
   * Folder for the journals of runs from files and to files, so that another process can go on with
   * them. The command line shares it when it is its state folder. Default: nothing is kept.
   */
  readonly stateFolder?: string;
  /** Is told what the command line would show: each request with `verbose`. */
  readonly log?: (kind: 'note' | 'warning' | 'verbose', text: string) => void;
}
/** Records: files by their paths, bytes of a file, or objects. */
type Source = string | readonly string[] | Readable | Iterable<object> | AsyncIterable<object>;
/** One account of the service. */
interface Account extends AsyncDisposable {
  /** Creates or updates user profiles, or adds events. */
  upload(source: Source, options?: UploadOptions & JobOptions): WriteRun;
  /** Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. */
  subscribe(source: Source, options?: SubscribeOptions & JobOptions): WriteRun;
  /** Demerges profiles by identity. Nobody is asked. */
  demerge(source: Source, options?: DemergeOptions & JobOptions): WriteRun;
  /** Profiles of users who did an event in a range of days. */
  exportProfiles(query: ProfileExportOptions & JobOptions): Export;
  /** Events of a range of days, in the order of the names given, then of days. */
  exportEvents(query: EventExportOptions & JobOptions): Export<DayFileOptions>;
  /** Reads back what an upload of this source sent, with the same options, and compares. */
  verify(source: Source, options?: VerifyOptions & JobOptions): VerifyRun;
  /** Undefined where nobody has the identifier. */
  getProfile(
    user: UserIdentifier,
    options?: Pick<LookUpOptions, 'reachability'> & JobOptions,
  ): Promise<JsonObject | undefined>;
  /** In the order asked for. Records of a source name the user by `identity`, `email` or `objectId`. */
  getProfiles(source: Source, options?: LookUpOptions & JobOptions): AsyncGenerator<LookedUpUser>;
  /** Ends the connections. */
  close(): Promise<void>;
}
/** A run under way. `result` rejects only where nothing was begun; what goes wrong later is part of it. */
interface Run<Result> {
  readonly result: Promise<Result>;
  progress(): JobProgress;
}
interface WriteRun extends Run<WriteResult> {
  /**
   * The records that are not accepted, as they are found; once. To be asked for at once where there
   * may be more than 10,000. Whoever reads them slowly slows the run down.
   */
  rejects(): AsyncGenerator<RejectedRecord>;
}
interface VerifyRun extends Run<VerifyResult> {
  /**
   * What is not as it was sent; once. With `settle`: what was not found or cannot be told, as the lines
   * of a rejects file.
   */
  differences(): AsyncGenerator<VerifyDifference | RejectedRecord>;
}
/** One value that is not as it was sent. */
interface VerifyDifference {
  readonly source: string;
  readonly line: number;
  /** Identity or objectId; of a subscription its address. */
  readonly identity: string;
  /** Of profileData; an event's name; null where the user is missing as a whole. */
  readonly key: string | null;
  readonly sent: unknown;
  readonly found: unknown;
  readonly verdict: 'different' | 'missing';
}
type JsonObject = Record<string, unknown>;
/** Its records, parsed; each loop asks the service anew. */
interface Export<Options extends FileOptions = FileOptions> extends AsyncIterable<JsonObject> {
  records(): AsyncGenerator<JsonObject>;
  /** JSON text of each record as the service wrote it: no number changes. */
  texts(): AsyncGenerator<string>;
  /** Writes a file, in the format of its name's extension: `.ndjson`, `.csv`, `.json`, each also `.gz`. */
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
  /** Undefined where nobody has the identifier. */
  readonly profile: JsonObject | undefined;
}

/** Runs one command line (without node and script) and returns the exit code. Never throws. */
declare function main(argv: readonly string[], outside: Runtime): Promise<ExitCode>;

/**
 * An account of the service. Nothing is sent yet. Throws E-BASE-URL for an address that the passcode
 * must not be sent to.
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

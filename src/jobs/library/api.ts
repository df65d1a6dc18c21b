import type { Readable } from 'node:stream';
import type {
  DayFileOptions,
  DemergeOptions,
  EventExportOptions,
  FileOptions,
  JobOptions,
  LookUpOptions,
  ProfileExportOptions,
  SubscribeOptions,
  UploadOptions,
  VerifyOptions,
} from '../job-options.js';
import type {
  ExportResult,
  JobProgress,
  RejectedRecord,
  VerifyResult,
  WriteResult,
} from '../job-results.js';

/** Everything needed to talk to one account of the service. */
export interface ConnectOptions {
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
export type Source =
  string | readonly string[] | Readable | Iterable<object> | AsyncIterable<object>;

/** One account of the service. */
export interface Account extends AsyncDisposable {
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
export interface Run<Result> {
  readonly result: Promise<Result>;
  progress(): JobProgress;
}

export interface WriteRun extends Run<WriteResult> {
  /**
   * The records that are not accepted, as they are found; once. To be asked for at once where there
   * may be more than 10,000. Whoever reads them slowly slows the run down.
   */
  rejects(): AsyncGenerator<RejectedRecord>;
}

export interface VerifyRun extends Run<VerifyResult> {
  /**
   * What is not as it was sent; once. With `settle`: what was not found or cannot be told, as the lines
   * of a rejects file.
   */
  differences(): AsyncGenerator<VerifyDifference | RejectedRecord>;
}

/** One value that is not as it was sent. */
export interface VerifyDifference {
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

export type JsonObject = Record<string, unknown>;

/** Its records, parsed; each loop asks the service anew. */
export interface Export<
  Options extends FileOptions = FileOptions,
> extends AsyncIterable<JsonObject> {
  records(): AsyncGenerator<JsonObject>;
  /** JSON text of each record as the service wrote it: no number changes. */
  texts(): AsyncGenerator<string>;
  /** Writes a file, in the format of its name's extension: `.ndjson`, `.csv`, `.json`, each also `.gz`. */
  toFile(path: string, options?: Options): Run<ExportResult>;
}

export type UserIdentifier =
  { readonly identity: string } | { readonly email: string } | { readonly objectId: string };

export interface LookedUpUser {
  readonly by: 'identity' | 'email' | 'objectId';
  readonly value: string;
  /** Undefined where nobody has the identifier. */
  readonly profile: JsonObject | undefined;
}

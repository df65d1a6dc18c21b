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

/** Access to one account of the service. */
export interface ConnectOptions {
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
export type Source = string | readonly URL[] | Readable | Iterable<object> | AsyncIterable<object>;

/** One account of the service. */
export interface Account extends AsyncDisposable {
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
export interface Run<Result> {
  readonly result: Promise<Result>;
  progress(): JobProgress;
}

export interface WriteRun extends Run<WriteResult> {
  /**
   * Yields rejected records as they occur. Can be read once; start immediately if there may be more
   * than 10,000. A slow reader slows down the run.
   */
  rejects(): AsyncGenerator<RejectedRecord>;
}

export interface VerifyRun extends Run<VerifyResult> {
  /**
   * Yields the differences. Can be read once. With `settle`, yields lines of a rejects file instead,
   * for records that were not found or could not be compared.
   */
  differences(): AsyncGenerator<VerifyDifference | RejectedRecord>;
}

/** A value that differs from what was sent. */
export interface VerifyDifference {
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

export type JsonObject = Record<string, unknown>;

/** An export. Iterating yields parsed records; each loop sends new requests. */
export interface Export<
  Options extends FileOptions = FileOptions,
> extends AsyncIterable<JsonObject> {
  records(): AsyncGenerator<JsonObject>;
  /** Yields the JSON text of each record as received, so numbers keep their spelling. */
  texts(): AsyncGenerator<string>;
  /** Writes a file in the format of its extension; `.gz` after it compresses. */
  toFile(path: string, options?: Options): Run<ExportResult>;
}

export type UserIdentifier =
  { readonly identity: string } | { readonly email: string } | { readonly objectId: string };

export interface LookedUpUser {
  readonly by: 'identity' | 'email' | 'objectId';
  readonly value: string;
  /** Undefined if there is no such user. */
  readonly profile: JsonObject | undefined;
}

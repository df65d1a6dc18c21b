import { inputFormatNames } from '../contract/file-formats.js';
import { limits } from '../contract/limits.js';
import { didYouMean } from '../did-you-mean.js';
import { EngagectlError } from '../errors.js';
import { subscriptionTypes } from '../contract/record-fields.js';
import type { OutputFormat } from '../output/formats.js';
import type { ReadingOptions } from '../input/input-format.js';
import type { Shard } from '../mapping/sharding.js';

export type { Shard };

/** How an input is read. */
export interface ReadOptions extends ReadingOptions {
  /** A longer record is rejected; default 1 MiB. */
  readonly maxRecordBytes?: number;
  /** Take the first records only. */
  readonly limit?: number;
}

/** Options that upload, subscribe and demerge share. */
export interface WriteOptions extends ReadOptions {
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
export interface JobOptions {
  /** Stops the job. Requests in flight may finish. */
  readonly signal?: AbortSignal;
}

/** Options of an upload. Column names are those of the input. */
export interface UploadOptions extends WriteOptions {
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

export interface SubscribeOptions extends WriteOptions {
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

export interface DemergeOptions extends WriteOptions {
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
}

/** How a run without changes validates records: locally, or by the service as well. */
export type Rehearsal = 'check' | 'dryRun';

/** Limit of rejected records. A percentage is checked after 1000 records and at the end. */
export type RejectLimit = { readonly records: number } | { readonly percent: number };

/** Defaults of writes. */
export const writeDefaults = {
  chunkBytes: 4 * 1024 * 1024,
  maxRecordBytes: 1024 * 1024,
} as const;

/** Request options of an export. */
export interface ExportOptions {
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

export interface ProfileExportOptions extends ExportOptions {
  /** Event that the users performed. */
  readonly event: string;
}

export interface EventExportOptions extends ExportOptions {
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
export interface FileOptions {
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
export interface DayFileOptions extends FileOptions {
  /** Fetch only days that have no file. The last day must be over. */
  readonly missing?: boolean;
  /** Number of days at the end of the range to fetch again. Complete files replace the old ones. */
  readonly refresh?: number;
  /** Minimum records of a day. A day with fewer is not published and counts as missing. */
  readonly minRecords?: number;
}

export const exportDefaults = {
  batchSize: limits.batchSize,
  pollInterval: 2000,
  pendingTimeout: 1_800_000,
  concurrency: limits.othersInFlight,
} as const;

export interface LookUpOptions extends ReadOptions {
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
export interface VerifyOptions extends Omit<
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

export const verifyDefaults = { sample: 300 } as const;

/** Words of options that are one of some, in the library and on the command line. */
export const optionWords = {
  order: ['key', 'none'],
  empty: ['omit', 'null', 'string'],
  ts: ['now'],
  csvFormulas: ['keep', 'escape'],
} as const;

/** Values that an option may have. */
interface Accepted {
  readonly wanted: string;
  readonly accepts: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const text: Accepted = { wanted: 'a text', accepts: isText };
const texts: Accepted = {
  wanted: 'a list of texts',
  accepts: (value) => Array.isArray(value) && value.every(isText),
};
const oneOf = (words: readonly string[]): Accepted => ({
  wanted: `one of ${words.join(', ')}`,
  accepts: (value) => words.some((word) => word === value),
});
/** The service refuses those too large. */
const wholeNumber = (least: number): Accepted => ({
  wanted: `a whole number, at least ${least}`,
  accepts: (value) => Number.isInteger(value) && Number(value) >= least,
});

const flag: Accepted = {
  wanted: 'true or false',
  accepts: (value) => typeof value === 'boolean',
};
const milliseconds: Accepted = {
  wanted: 'a number of milliseconds',
  accepts: (value) => typeof value === 'number' && value >= 0,
};
const object: Accepted = {
  wanted: 'an object',
  accepts: (value) => typeof value === 'object' && value !== null,
};

/** All options of the library: those of a write are also passed to `verify`. */
type LibraryOption =
  | keyof UploadOptions
  | keyof SubscribeOptions
  | keyof ProfileExportOptions
  | keyof EventExportOptions
  | keyof DayFileOptions
  | keyof LookUpOptions
  | keyof VerifyOptions
  | keyof JobOptions;

const acceptedOptions: Readonly<Record<LibraryOption, Accepted>> = {
  batchSize: wholeNumber(1),
  chunkSize: wholeNumber(1),
  chunkBytes: wholeNumber(1),
  concurrency: wholeNumber(1),
  maxRecordBytes: wholeNumber(1),
  sample: wholeNumber(1),
  limit: wholeNumber(0),
  refresh: wholeNumber(0),
  minRecords: wholeNumber(0),
  skipLines: wholeNumber(0),
  seed: { wanted: 'a number', accepts: (value) => typeof value === 'number' },
  waitLock: milliseconds,
  within: milliseconds,
  pollInterval: milliseconds,
  pendingTimeout: milliseconds,
  map: texts,
  types: texts,
  drop: texts,
  only: texts,
  set: texts,
  lowercase: texts,
  columns: texts,
  nullValues: texts,
  event: {
    wanted: 'a text or a list of texts',
    accepts: (value) => isText(value) || texts.accepts(value),
  },
  identity: text,
  objectId: text,
  mapping: text,
  eventName: text,
  rejects: text,
  gone: text,
  stream: text,
  runName: text,
  column: text,
  by: text,
  type: oneOf(['profile', 'event']),
  status: text,
  from: text,
  to: text,
  format: oneOf(['ndjson', 'csv', 'json']),
  delimiter: text,
  quote: text,
  escape: text,
  comment: text,
  records: text,
  encoding: text,
  inputFormat: oneOf(inputFormatNames),
  order: oneOf(optionWords.order),
  empty: oneOf(optionWords.empty),
  ts: oneOf(optionWords.ts),
  csvFormulas: oneOf(optionWords.csvFormulas),
  rehearsal: oneOf(['check', 'dryRun']),
  maxRejects: { wanted: '{ records: n } or { percent: n }', accepts: isRejectLimit },
  shard: object,
  subscriptions: object,
  signal: {
    wanted: 'an AbortSignal',
    accepts: (value) => value === null || isAbortSignal(value),
  },
  recoverQuotes: flag,
  trim: flag,
  retryUnknown: flag,
  resume: flag,
  final: flag,
  fresh: flag,
  again: flag,
  changed: flag,
  full: flag,
  failOnWarnings: flag,
  app: flag,
  eventSummaries: flag,
  profileProperties: flag,
  split: flag,
  withEventName: flag,
  bom: flag,
  overwrite: flag,
  missing: flag,
  reachability: flag,
  all: flag,
  settle: flag,
};

const subscriptionType = oneOf(Object.keys(subscriptionTypes));

/** Options that say which records a job makes of its input. Another job that ignored them would make others. */
const recordOptions = {
  upload: [
    'type',
    'identity',
    'objectId',
    'map',
    'types',
    'drop',
    'only',
    'set',
    'lowercase',
    'mapping',
    'empty',
    'eventName',
    'ts',
  ],
  subscribe: ['type', 'status', 'map', 'types', 'lowercase', 'mapping'],
  demerge: ['identity'],
  getProfiles: ['by', 'column', 'types', 'lowercase'],
} as const satisfies Readonly<Record<string, readonly LibraryOption[]>>;
export type RecordJob = keyof typeof recordOptions;

const hasOption = (job: RecordJob, name: string): boolean =>
  recordOptions[job].some((one) => one === name);
const jobsWithRecords = Object.keys(recordOptions) as RecordJob[];

/**
 * Throws E-USAGE for what a caller of the library without types may pass: options that would be ignored, because no job
 * has them, or not this one; and numbers with which a job would never end, or would end at once as if there were nothing
 * to do. `verify` and exports accept the options of all jobs.
 */
export function refuseWrongOptions(
  options: unknown,
  {
    job,
    autoConcurrency = false,
  }: { readonly job?: RecordJob; readonly autoConcurrency?: boolean } = {},
): void {
  if (!isPlain(options)) throw wrongOption('the options must be a plain object', options);
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined) continue;
    if (!isOption(name)) throw noOption(name, 'the library', Object.keys(acceptedOptions));
    if (job && !hasOption(job, name) && jobsWithRecords.some((other) => hasOption(other, name)))
      throw noOption(name, job);
    const isSubscription = job === 'subscribe' && name === 'type';
    const { wanted, accepts } = isSubscription ? subscriptionType : acceptedOptions[name];
    if (accepts(value)) continue;
    if (autoConcurrency && name === 'concurrency' && value === 'auto') continue;
    throw wrongOption(`${name} must be ${wanted}`, value);
  }
}

/** Error for an option that a job, or an object of options, does not have; `known`: those that it has. */
export const noOption = (name: string, of: string, known: Iterable<string> = []): EngagectlError =>
  new EngagectlError('E-USAGE', `${name} is not an option of ${of}${didYouMean(name, known)}`);

const isOption = (name: string): name is LibraryOption => Object.hasOwn(acceptedOptions, name);

function isRejectLimit(limit: unknown): boolean {
  const [[name, value] = [], ...others] = Object.entries(Object(limit) as object);
  const isKnown = others.length === 0 && (name === 'records' || name === 'percent');
  return isKnown && typeof value === 'number' && value >= 0;
}

function wrongOption(wanted: string, value: unknown): EngagectlError {
  const found = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return new EngagectlError('E-USAGE', `${wanted}, found ${found}`);
}

/** Returns a copy without members that are undefined: they count as not given. */
export const definedOf = <Given extends object>(given: Given): Partial<Given> =>
  Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Partial<Given>;

/** Whether a value is an AbortSignal, in whatever realm it was made. */
export const isAbortSignal = (value: unknown): value is AbortSignal =>
  Object.prototype.toString.call(value) === '[object AbortSignal]';

/** Whether a value is an object of no class, in whatever realm it was made. */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

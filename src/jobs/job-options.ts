import { limits } from '../contract/limits.js';
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

/** What upload, subscribe and demerge have in common. */
export interface WriteOptions extends ReadOptions {
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
export interface JobOptions {
  /** Stops the job, for whatever reason. What is in flight may finish. */
  readonly signal?: AbortSignal;
}

/** Names input columns throughout. */
export interface UploadOptions extends WriteOptions {
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

export interface SubscribeOptions extends WriteOptions {
  /** Where the input does not say. */
  readonly type?: 'phone' | 'whatsapp' | 'email';
  readonly status?: 'Unsubscribe' | 'Resubscribe';
}

export interface DemergeOptions extends WriteOptions {
  /** Column of the identity; default `identity`. */
  readonly identity?: string;
}

/** Nothing is to be changed: records are read and checked here, or by the service as well. */
export type Rehearsal = 'check' | 'dryRun';

/** A percentage is judged from 1000 records on, and at the end. */
export type RejectLimit = { readonly records: number } | { readonly percent: number };

/** What is not said. */
export const writeDefaults = {
  chunkBytes: 4 * 1024 * 1024,
  maxRecordBytes: 1024 * 1024,
} as const;

/** What an export asks the service for. */
export interface ExportOptions {
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

export interface ProfileExportOptions extends ExportOptions {
  /** The event that the users did. */
  readonly event: string;
}

export interface EventExportOptions extends ExportOptions {
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
export interface FileOptions {
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
export interface DayFileOptions extends FileOptions {
  /** Fetch only the days that have no file. The last day must be over. */
  readonly missing?: boolean;
  /** So many days at the end of the range are fetched again, and replaced when they are whole. */
  readonly refresh?: number;
  /** A day with fewer is not put in place, and counts as missing. */
  readonly minRecords?: number;
}

export const exportDefaults = {
  batchSize: limits.batchSize,
  pollInterval: 2000,
  pendingTimeout: 1_800_000,
  concurrency: limits.othersInFlight,
} as const;

export interface LookUpOptions extends ReadOptions {
  /** What the source identifies users by, where it does not say. */
  readonly by?: 'identity' | 'email' | 'objectId';
  /** Most requests in flight; default 3. */
  readonly concurrency?: number;
  /** Add what the subscription flags mean for SMS, WhatsApp and email. */
  readonly reachability?: boolean;
}

/** What was sent, as the options of the write say it, and how it is looked for. */
export interface VerifyOptions extends Omit<
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

export const verifyDefaults = { sample: 300 } as const;

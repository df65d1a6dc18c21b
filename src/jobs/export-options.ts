import { extname } from 'node:path';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import type { OutputOptions } from '../output/output.js';
import type { Words } from './words.js';

/** What an export asks the service for. */
export interface ExportOptions {
  /** First and last day, both inclusive: YYYY-MM-DD, YYYYMMDD, today, yesterday, or 7d. */
  readonly from: string;
  readonly to: string;
  /** Records per page; of profiles a multiple of 23. Default 4991. */
  readonly batchSize?: number;
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
  /** Adds `event_name` and `ts_utc` to each record; always so with several events. */
  readonly withEventName?: boolean;
}

/** How records are written to a file. */
export interface FileOptions {
  /** Else by the extension of the file's name, else NDJSON. */
  readonly format?: 'ndjson' | 'csv' | 'json';
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

export const exportDefaults = {
  batchSize: limits.batchSize,
  pollInterval: 2000,
  pendingTimeout: 1_800_000,
  concurrency: limits.othersInFlight,
} as const;

/** Format and compression that an output's name asks for; ndjson where it asks for none. */
function formatOf(name: string | undefined): Pick<OutputOptions, 'format' | 'gzip'> {
  const gzip = name !== undefined && extname(name).toLowerCase() === '.gz';
  const extension = extname(gzip ? name.slice(0, -3) : (name ?? '')).toLowerCase();
  return { format: formats[extension] ?? 'ndjson', gzip };
}

const formats: Readonly<Record<string, OutputOptions['format']>> = {
  '.csv': 'csv',
  '.json': 'json',
};

/** The output at `path`; undefined is stdout. */
export function outputOf(path: string | undefined, options: FileOptions): OutputOptions {
  const { format, gzip } = formatOf(path);
  return {
    path,
    format: options.format ?? format,
    gzip,
    overwrite: options.overwrite === true,
    fresh: options.fresh === true,
    ...(options.columns && { columns: options.columns }),
    escapeFormulas: options.csvFormulas === 'escape',
    bom: options.bom === true,
  };
}

/** Throws E-USAGE for what only a CSV has. */
export function refuseCsvOptions(
  path: string | undefined,
  options: FileOptions,
  { option }: Words,
): void {
  if (outputOf(path, options).format === 'csv') return;
  const wrong = options.bom ? option('bom') : options.columns && option('columns');
  if (wrong === undefined) return;
  throw new EngagectlError('E-USAGE', `${wrong} is for CSV`, {
    why: 'in the other formats every record is written as it came',
    fix: `add ${option('format', 'csv')}, or leave out ${wrong}`,
  });
}

import { InvalidArgumentError } from 'commander';
import { formatNames } from '../../jobs/output-options.js';
import { choice, notEmpty, duration, integer } from './value-parsers.js';
import { limits } from '../../contract/limits.js';
import type { FileOptions, ExportOptions } from '../../jobs/job-options.js';
import type { FlagsOf, OptionTable, OptionRow } from './option-table.js';

/** Flags of every command that writes records. */
interface OutputFlags extends FileOptions {
  readonly output?: string;
}

/** `places`: what else than `{date}` may stand in the name. */
export const outputOptions = (places: readonly string[] = []): OptionTable => [
  'Output:',
  [
    '-o, --output <file>',
    'default: standard output; .gz compresses; {date} is today',
    nameWith(['{date}', ...places]),
  ],
  [
    '--format <format>',
    `${formatNames.slice(0, -1).join(', ')} or ${formatNames.at(-1)!}; default: by the extension, else ndjson`,
    choice(...formatNames),
  ],
  [
    '--columns <list>',
    'columns of a CSV, like identity,profileData.City; default: all',
    columnList,
  ],
  [
    '--csv-formulas <how>',
    "cells that a spreadsheet would run: keep, or escape with '",
    { parse: choice('keep', 'escape'), default: 'keep' },
  ],
  ['--bom', 'begin a CSV with a byte order mark, which Excel needs for UTF-8'],
  ['--overwrite', 'replace an existing output file'],
  ['--fresh', 'start again, setting the partial file of an earlier run aside'],
];

/** Flag of the commands that can write a page about their run. */
export const reportOptions = [
  'Report:',
  [
    '--report <file.html>',
    'write a page about the run: figures, charts over time, samples of rejects',
  ],
] as const satisfies OptionTable;
export type ReportFlag = FlagsOf<typeof reportOptions>;

/** A place that nothing comes to stand in is a slip: the file would have it in its name. */
const nameWith =
  (places: readonly string[]) =>
  (text: string): string => {
    const wrong = (text.match(/\{[A-Za-z]\w*\}/g) ?? []).find((place) => !places.includes(place));
    if (wrong === undefined) return notEmpty(text);
    throw new InvalidArgumentError(`${wrong} stands for nothing here. Use ${places.join(', ')}.`);
  };

function columnList(text: string): string[] {
  const columns = text.split(',');
  const repeated = columns.find((column, index) => columns.indexOf(column) !== index);
  if (columns.includes('')) throw new InvalidArgumentError('A column name is empty.');
  if (repeated !== undefined) throw new InvalidArgumentError(`Column "${repeated}" appears twice.`);
  return columns;
}

/** Flags that both exports share. */
export type ExportFlags = ExportOptions & OutputFlags & ReportFlag;

/** Of whatever is read by cursors. */
export const pendingTimeoutOption: OptionRow = [
  '--pending-timeout <duration>',
  'longest time to wait for data that is not ready',
  { parse: duration, default: 1_800_000, shown: '30m' },
];

/** The flags that both exports share; `batchSize` parses the one whose limits differ. */
export const exportOptions = (
  batchSize: (text: string) => number,
  places?: readonly string[],
): OptionTable => [
  'What is exported:',
  [
    '--from <date>',
    'first day: YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d, last-week, last-month, this-month',
    { required: true },
  ],
  ['--to <date>', 'last day, inclusive', { required: true }],
  [
    '--limit <n>',
    'end after the first n records: into one file, one request at a time',
    integer({ min: 1 }),
  ],
  ['--app', 'with app fields: versions, make and model of devices'],
  ['--no-event-summaries', "without the summaries of users' events"],
  ['--no-profile-properties', 'without custom profile properties'],
  'Fetching:',
  ['--batch-size <n>', 'records per page', { parse: batchSize, default: limits.batchSize }],
  [
    '--poll-interval <duration>',
    'first pause while the data is not ready; grows to 30s',
    { parse: duration, default: 2000, shown: '2s' },
  ],
  pendingTimeoutOption,
  ...outputOptions(places),
  ...reportOptions,
  'Output:',
  [
    '--resume',
    'go on with an export to this --output that did not finish; without one, start',
    { conflicts: 'fresh' },
  ],
];

/** 23 to 5000: endpoint 6 rounds down to a multiple of 23 by itself. */
export const eventBatchSize = integer({ min: limits.batchStep, max: limits.batchSizeMaximum });

/** A multiple of 23 from 23 to 4991, as endpoint 3 demands. */
export function profileBatchSize(text: string): number {
  const { batchStep: step, batchSize: largest } = limits;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value % step === 0 && value >= step && value <= largest) return value;
  const rule = `Use a multiple of ${step} from ${step} to ${largest}`;
  if (Number.isNaN(value)) throw new InvalidArgumentError(`${rule}.`);
  const nearest = Math.min(Math.max(Math.round(value / step) * step, step), largest);
  throw new InvalidArgumentError(`${rule}; the nearest is ${nearest}.`);
}

/** Of whatever sends several requests at once: the most it may, and how many it does. */
export const concurrencyOption = (most: number, usual = most) =>
  [
    '--concurrency <n>',
    `most requests in flight, at most ${most}`,
    { parse: integer({ min: 1, max: most }), default: usual },
  ] as const;

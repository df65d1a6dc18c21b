import { InvalidArgumentError } from 'commander';
import { formatNames } from '../../jobs/output-options.js';
import { choice, nonEmpty, duration, integer, suggesting } from './value-parsers.js';
import { limits } from '../../contract/limits.js';
import { optionWords, type FileOptions, type ExportOptions } from '../../jobs/job-options.js';
import type { FlagsOf, OptionTable, OptionRow } from './option-table.js';

/** Flags of every command that writes records. */
interface OutputFlags extends FileOptions {
  readonly output?: string;
}

/** `places` are the placeholders besides `{date}` that a name may contain. */
export const outputOptions = (places: readonly string[] = []): OptionTable => [
  'Output:',
  [
    '-o, --output <file>',
    'file; .gz compresses; {date}: today (default: stdout)',
    { parse: nameWith(['{date}', ...places]), common: true, writes: true },
  ],
  [
    '--format <format>',
    `${formatNames.slice(0, -1).join(', ')} or ${formatNames.at(-1)!} (default: by extension)`,
    { parse: choice(...formatNames), common: true },
  ],
  [
    '--columns <list>',
    'CSV columns, such as identity,profileData.City (default: all)',
    { parse: columnList, common: true },
  ],
  [
    '--csv-formulas <how>',
    "spreadsheet formulas in CSV cells: keep, or escape with '",
    { parse: choice(...optionWords.csvFormulas), default: 'keep' },
  ],
  ['--bom', 'start a CSV with a byte order mark, for Excel'],
  ['--overwrite', 'replace an existing output file', { common: true }],
  ['--fresh', 'start from scratch; rename the partial file of an earlier run'],
];

/** Flags of commands that can write an HTML report of their run. */
export const reportOptions = [
  'Report:',
  [
    '--report <file.html>',
    'write an HTML report: counts, charts over time, samples of rejects',
    { writes: true },
  ],
] as const satisfies OptionTable;
export type ReportFlag = FlagsOf<typeof reportOptions>;

/** Rejects unknown placeholders, which would otherwise become part of the file name. */
const nameWith =
  (places: readonly string[]) =>
  (text: string): string => {
    const wrong = (text.match(/\{[A-Za-z]\w*\}/g) ?? []).find((place) => !places.includes(place));
    if (wrong === undefined) return nonEmpty(text);
    throw new InvalidArgumentError(`unknown placeholder ${wrong}. Use ${places.join(', ')}.`);
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

const dateWords = suggesting(
  'today',
  'yesterday',
  '7d',
  '30d',
  'last-week',
  'last-month',
  'this-month',
);

/** Flag of every command that follows cursors. */
export const pendingTimeoutOption: OptionRow = [
  '--pending-timeout <duration>',
  'maximum time to wait until the service has prepared the data',
  { parse: duration, default: 1_800_000, defaultText: '30m' },
];

/** Flags that both exports share; `batchSize` parses the flag whose limits differ. */
export const exportOptions = (
  batchSize: (text: string) => number,
  places?: readonly string[],
): OptionTable => [
  'Selection:',
  [
    '--from <date>',
    'first day: YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d, last-week, last-month, this-month',
    { required: true, parse: dateWords },
  ],
  ['--to <date>', 'last day, inclusive', { required: true, parse: dateWords }],
  [
    '--limit <n>',
    'stop after n records; one file, one request at a time',
    { parse: integer({ min: 1 }), common: true },
  ],
  ['--app', 'include app fields: versions, make and model of devices'],
  ['--no-event-summaries', 'omit the event summaries of users'],
  ['--no-profile-properties', 'omit custom profile properties'],
  'Requests:',
  ['--batch-size <n>', 'records per page', { parse: batchSize, default: limits.batchSize }],
  [
    '--poll-interval <duration>',
    'first pause while the service prepares the data; grows to 30s',
    { parse: duration, default: 2000, defaultText: '2s' },
  ],
  pendingTimeoutOption,
  ...outputOptions(places),
  ...reportOptions,
  'Output:',
  [
    '--resume',
    'continue the unfinished export to --output, or start one',
    { conflicts: 'fresh', common: true },
  ],
  [
    '--wait-lock <duration>',
    'wait for another process that writes the same file, instead of exit code 8',
    duration,
  ],
];

/** Parses 23 to 5000: endpoint 6 itself rounds down to a multiple of 23. */
export const eventBatchSize = integer({ min: limits.batchStep, max: limits.batchSizeMaximum });

/** Parses a multiple of 23 from 23 to 4991, as endpoint 3 requires. */
export function profileBatchSize(text: string): number {
  const { batchStep: step, batchSize: largest } = limits;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value % step === 0 && value >= step && value <= largest) return value;
  const rule = `Use a multiple of ${step} from ${step} to ${largest}`;
  if (Number.isNaN(value)) throw new InvalidArgumentError(`${rule}.`);
  const nearest = Math.min(Math.max(Math.round(value / step) * step, step), largest);
  throw new InvalidArgumentError(`${rule}; the nearest is ${nearest}.`);
}

/** The concurrency limit of reads: its maximum and its default. */
export const concurrencyOption = (most: number, usual = most) =>
  [
    '--concurrency <n>',
    `maximum requests in flight, 1 to ${most}`,
    { parse: integer({ min: 1, max: most }), default: usual },
  ] as const;

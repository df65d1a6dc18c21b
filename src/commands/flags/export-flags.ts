import { InvalidArgumentError } from 'commander';
import { limits } from '../../contract/limits.js';
import { duration, integer } from './value-parsers.js';
import { outputOptions, reportOptions, type OutputFlags, type ReportFlag } from './output-flags.js';
import type { ExportOptions } from '../../jobs/job-options.js';
import type { OptionRow, OptionTable } from './option-table.js';

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

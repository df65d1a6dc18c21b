import { InvalidArgumentError } from 'commander';
import type { RejectLimit } from '../jobs/job-options.js';
import { inputOptions, type InputFlags } from './input-options.js';
import type { OptionRow, OptionTable } from './option-table.js';
import { byteCount, choice, integer } from './option-values.js';
import { reportOptions, type ReportFlag } from './output-options.js';

/** Flags that upload, subscribe and demerge share. */
export interface WriteFlags extends InputFlags, ReportFlag {
  readonly chunkSize: number;
  readonly chunkBytes: number;
  readonly concurrency: number;
  readonly order?: 'key' | 'none';
  readonly rejects?: string;
  readonly maxRejects?: RejectLimit;
  readonly strict?: boolean;
  readonly retryUnknown?: boolean;
  readonly resume?: boolean;
  readonly fresh?: boolean;
  /** The run that `runs resume` means. */
  readonly run?: string;
  /** False with `--no-journal`. */
  readonly journal: boolean;
  readonly check?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

interface WriteDefaults {
  /** Records per request, and the most of them. */
  readonly chunkSize: number;
  readonly inFlight: number;
  readonly mostInFlight: number;
  /** Help of `--dry-run`. */
  readonly dryRun: string;
  /** Help of `--yes`. */
  readonly yes: string;
  /** Whether records have an order that `--order none` can give up. */
  readonly ordered: boolean;
}

/** The flags of a command that writes, besides those that say what the records are. */
export const writeOptions = (defaults: WriteDefaults): OptionTable => [
  ...inputOptions,
  'Sending:',
  ...sendingOptions(defaults),
  ...(defaults.ordered ? [orderOption] : []),
  'Rejected records:',
  ...rejectOptions,
  'Interrupted runs:',
  ...resumeOptions,
  ...reportOptions,
];

const sendingOptions = (defaults: WriteDefaults): OptionTable => [
  ['--check', 'read and validate everything, send nothing'],
  ['--dry-run', defaults.dryRun],
  ['-y, --yes', defaults.yes],
  [
    '--chunk-size <n>',
    `records per request, at most ${defaults.chunkSize}`,
    { parse: integer({ min: 1, max: defaults.chunkSize }), default: defaults.chunkSize },
  ],
  [
    '--chunk-bytes <bytes>',
    'bytes per request',
    { parse: byteCount, default: 4 * 1024 * 1024, shown: '4MiB' },
  ],
  [
    '--concurrency <n>',
    `most requests in flight, at most ${defaults.mostInFlight}`,
    { parse: integer({ min: 1, max: defaults.mostInFlight }), default: defaults.inFlight },
  ],
];

const orderOption: OptionRow = [
  '--order <how>',
  'key: records of one key arrive in input order; none: any order',
  { parse: choice('key', 'none'), default: 'key' },
];

const rejectOptions: OptionTable = [
  ['--rejects <file>', 'where rejected records go (default: beside the first input)'],
  ['--max-rejects <n|n%>', 'stop when more than that were rejected', rejectLimit],
  ['--strict', 'stop at the first rejected record: --max-rejects 0', { conflicts: 'maxRejects' }],
  ['--retry-unknown', 'send records of a rejects file whose outcome is unknown again'],
];

const resumeOptions: OptionTable = [
  ['--resume', 'go on with the unfinished run of this command; without one, start afresh'],
  ['--fresh', 'forget the unfinished run of this command and start anew', { conflicts: 'resume' }],
  ['--run <id>', 'the run that `runs resume` means', { hidden: true }],
  ['--no-journal', 'keep nothing to resume from', { conflicts: 'resume' }],
];

function rejectLimit(text: string): RejectLimit {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = Number(match?.[1]);
  if (match?.[2] === '%' && value <= 100) return { percent: value };
  if (match && match[2] === '' && Number.isInteger(value)) return { records: value };
  throw new InvalidArgumentError('Use a number like 100, or a percentage like 2%.');
}

import { InvalidArgumentError } from 'commander';
import { writes, type WriteEndpoint } from '../../contract/endpoints.js';
import { concurrencyOption, reportOptions, type ReportFlag } from './output-flags.js';
import { inputOptions } from './input-flags.js';
import { byteCount, choice, integer, matching } from './value-parsers.js';
import { shardOptions, type ShardFlags } from './shard-flags.js';
import type { RejectLimit } from '../../jobs/job-options.js';
import type { WriteRequest } from '../../jobs/write/write-request.js';
import type { OptionRow, OptionTable } from './option-table.js';

/** Flags that upload, subscribe and demerge share. */
export interface WriteFlags
  extends Omit<WriteRequest, 'files' | 'rehearsal' | 'shard'>, ReportFlag, ShardFlags {
  readonly concurrency: number;
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly strict?: boolean;
  readonly yes?: boolean;
}

interface WriteHelp {
  /** Of `--dry-run`. */
  readonly dryRun: string;
  /** Of `--yes`. */
  readonly yes?: string;
  /** False where records have no order that `--order none` could give up. */
  readonly ordered?: boolean;
}

/** The flags of a command that writes, besides those that say what the records are. */
export const writeOptions = (
  name: WriteEndpoint,
  {
    dryRun,
    yes = 'do not ask, though the config profile is marked production',
    ordered = true,
  }: WriteHelp,
): OptionTable => [
  // A line behind a lost quote may be free text that names a user.
  ...inputOptions.filter((row) => name !== 'demerge' || row[0] !== '--recover-quotes'),
  'Sending:',
  ['--check', 'read and validate everything, send nothing'],
  ['--dry-run', dryRun],
  ['-y, --yes', yes],
  ...sizeOptions(writes[name]),
  ...(ordered ? [orderOption] : []),
  ...(name === 'demerge' ? [] : ['Only what changed:', ...changedOptions]),
  'Rejected records:',
  ...rejectOptions,
  'Interrupted runs:',
  ...resumeOptions,
  ...(name === 'subscribe' ? [] : [againOption]),
  ...shardOptions,
  ...reportOptions,
];

const sizeOptions = ({
  records,
  inFlight,
  mostInFlight,
}: (typeof writes)[WriteEndpoint]): OptionTable => [
  [
    '--chunk-size <n>',
    `records per request, at most ${records}`,
    { parse: integer({ min: 1, max: records }), default: records },
  ],
  [
    '--chunk-bytes <bytes>',
    'bytes per request',
    { parse: byteCount, default: 4 * 1024 * 1024, shown: '4MiB' },
  ],
  concurrencyOption(mostInFlight, inFlight),
];

const orderOption: OptionRow = [
  '--order <how>',
  'key: records of one key arrive in input order; none: any order',
  { parse: choice('key', 'none'), default: 'key' },
];

const changedOptions: OptionTable = [
  ['--changed', 'send only what is not as the account last accepted it from here'],
  [
    '--stream <name>',
    'where that is remembered: one for each source of other columns (default: default)',
  ],
  ['--full', 'with --changed: send everything, and remember it'],
  ['--gone <file>', 'with --changed: write whom the input does not hold any more'],
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
  [
    '--run-name <name>',
    'resume input from a pipe by this name: its producer is run again',
    matching(/^[\w.-]{1,64}$/, 'Use up to 64 letters, digits, and . _ -'),
  ],
  ['--no-journal', 'keep nothing to resume from', { conflicts: 'resume' }],
];

const againOption: OptionRow = [
  '--again',
  'send once more what another run sent, though it does harm (events, demerges, $incr, $decr, $add)',
];

function rejectLimit(text: string): RejectLimit {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = Number(match?.[1]);
  if (match?.[2] === '%' && value <= 100) return { percent: value };
  if (match && match[2] === '' && Number.isInteger(value)) return { records: value };
  throw new InvalidArgumentError('Use a number like 100, or a percentage like 2%.');
}

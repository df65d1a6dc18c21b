import { InvalidArgumentError } from 'commander';
import {
  writeEndpoints,
  type WriteEndpoint,
  type WriteProperties,
} from '../../contract/endpoints.js';
import { reportOptions, type ReportFlag } from './output-flags.js';
import { inputOptions } from './input-flags.js';
import { byteCount, choice, duration, integer, matching, rejectsFile } from './value-parsers.js';
import { shardOptions, type ShardFlags } from './shard-flags.js';
import { optionWords, type RejectLimit } from '../../jobs/job-options.js';
import type { WriteRequest } from '../../jobs/write/write-request.js';
import type { OptionRow, OptionTable } from './option-table.js';

/** Flags that upload, subscribe and demerge share. */
export interface WriteFlags
  extends Omit<WriteRequest, 'files' | 'rehearsal' | 'shard'>, ReportFlag, ShardFlags {
  readonly concurrency: number | 'auto';
  readonly check?: boolean;
  readonly dryRun?: boolean;
  readonly strict?: boolean;
  readonly yes?: boolean;
}

/** Flags of a write, apart from those that describe its records. */
export function writeOptions(name: WriteEndpoint): OptionTable {
  const write = writeEndpoints[name];
  return [
    // A line after a lost quote may be free text that names a user.
    ...inputOptions.filter(([flags]) => write.idempotent || flags !== '--recover-quotes'),
    'Sending:',
    ['--check', 'read and validate everything, send nothing', { common: true }],
    ...(write.hints
      ? [['--fail-on-warnings', 'exit 3 if the input has likely mistakes'] as const]
      : []),
    [
      '--dry-run',
      write.dryRun ? 'let the service check the records and change nothing' : 'the same as --check',
      { common: true },
    ],
    [
      '-y, --yes',
      `skip the confirmation${write.irreversible ? '' : ' of production profiles'}`,
      { common: true },
    ],
    ...batchOptions(write),
    ...(write.ordered ? [orderOption] : []),
    ...(write.tracksChanges ? ['Change tracking:', ...changedOptions] : []),
    'Rejected records:',
    ...rejectOptions,
    'Interrupted runs:',
    ...resumeOptions,
    ...(write.idempotent === true ? [] : [resendOption]),
    ...shardOptions,
    ...reportOptions,
  ];
}

const batchOptions = ({ records, inFlight, mostInFlight }: WriteProperties): OptionTable => [
  [
    '--chunk-size <n>',
    `records per request, at most ${records}`,
    { parse: integer({ min: 1, max: records }), default: records },
  ],
  [
    '--chunk-bytes <bytes>',
    'bytes per request',
    { parse: byteCount, default: 4 * 1024 * 1024, defaultText: '4MiB' },
  ],
  [
    '--concurrency <n>',
    `maximum requests in flight, 1 to ${mostInFlight}, or auto: adapts, from ${inFlight} up to ${mostInFlight}`,
    { parse: concurrency(mostInFlight), default: 'auto' },
  ],
];

const concurrency = (most: number) => (text: string) =>
  text === 'auto' ? text : integer({ min: 1, max: most })(text);

const orderOption: OptionRow = [
  '--order <how>',
  'key: records with the same key arrive in input order; none: any order',
  { parse: choice(...optionWords.order), default: 'key' },
];

const changedOptions: OptionTable = [
  ['--changed', 'send only records changed since this machine sent them', { common: true }],
  [
    '--stream <name>',
    'baseline to compare with; one per source of different columns (default: default)',
  ],
  ['--full', 'with --changed: send everything and renew the baseline'],
  [
    '--gone <file>',
    'with --changed: replace this file by the known users missing from the input',
    { writes: true },
  ],
];

const rejectOptions: OptionTable = [
  [
    '--rejects <file>',
    'file for rejected records (default: next to the first input)',
    { parse: rejectsFile, writes: true },
  ],
  [
    '--max-rejects <n|n%>',
    'stop if more records are rejected',
    { parse: rejectLimit, common: true },
  ],
  ['--strict', 'stop at the first rejected record (--max-rejects 0)', { conflicts: 'maxRejects' }],
  ['--retry-unknown', 'resend records of a rejects file whose outcome is unknown'],
];

const resumeOptions: OptionTable = [
  ['--resume', 'continue the unfinished run of this command, or start one', { common: true }],
  [
    '--final',
    'the input ends here, even without a line end (default: hold back an incomplete last record)',
  ],
  [
    '--fresh',
    'discard the unfinished run of this command and start from scratch',
    { conflicts: 'resume' },
  ],
  ['--run <id>', 'the run that `runs resume` means', { hidden: true }],
  [
    '--run-name <name>',
    'name for input from a pipe, so that it can be resumed by running its producer again',
    matching(/^[\w.-]{1,64}$/, 'Use up to 64 letters, digits, and . _ -'),
  ],
  [
    '--wait-lock <duration>',
    'wait for another process that works on the same run, instead of exit code 8',
    duration,
  ],
  ['--no-journal', 'do not keep a journal (the run cannot be resumed)', { conflicts: 'resume' }],
];

const resendOption: OptionRow = [
  '--again',
  'resend even if this duplicates events, demerges, $incr, $decr or $add',
];

function rejectLimit(text: string): RejectLimit {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = Number(match?.[1]);
  if (match?.[2] === '%' && value <= 100) return { percent: value };
  if (match && match[2] === '' && Number.isInteger(value)) return { records: value };
  throw new InvalidArgumentError('Use a number like 100, or a percentage like 2%.');
}

import { InvalidArgumentError, Option, type Command } from 'commander';
import type { RejectLimit } from '../bulk/write/write-job.js';
import { inputOptions, type InputFlags } from './input-options.js';
import { byteCount, choice, integer } from './option-values.js';
import { reportOption, type ReportFlag } from './report-option.js';

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

export interface WriteDefaults {
  readonly chunkSize: number;
  readonly chunkSizeMaximum: number;
  readonly concurrency: number;
  readonly concurrencyMaximum: number;
  readonly dryRun: string;
  /** Help of `--yes`. */
  readonly yes: string;
  /** Whether records have an order that `--order none` can give up. */
  readonly ordered: boolean;
}

export function addWriteOptions(command: Command, defaults: WriteDefaults): Command {
  for (const option of inputOptions()) command.addOption(option.helpGroup('Input:'));
  for (const option of sendingOptions(defaults)) command.addOption(option.helpGroup('Sending:'));
  for (const option of rejectOptions()) command.addOption(option.helpGroup('Rejected records:'));
  for (const option of resumeOptions()) command.addOption(option.helpGroup('Interrupted runs:'));
  return command.addOption(reportOption());
}

const sendingOptions = (defaults: WriteDefaults): Option[] => [
  new Option('--check', 'read and validate everything, send nothing'),
  new Option('--dry-run', defaults.dryRun),
  new Option('-y, --yes', defaults.yes),
  new Option('--chunk-size <n>', `records per request, at most ${defaults.chunkSizeMaximum}`)
    .argParser(integer({ min: 1, max: defaults.chunkSizeMaximum }))
    .default(defaults.chunkSize),
  new Option('--chunk-bytes <bytes>', 'bytes per request')
    .argParser(byteCount)
    .default(4 * 1024 * 1024, '4MiB'),
  new Option('--concurrency <n>', `most requests in flight, at most ${defaults.concurrencyMaximum}`)
    .argParser(integer({ min: 1, max: defaults.concurrencyMaximum }))
    .default(defaults.concurrency),
  ...(defaults.ordered
    ? [
        new Option(
          '--order <how>',
          'key: records of one key arrive in input order; none: any order',
        )
          .argParser(choice('key', 'none'))
          .default('key'),
      ]
    : []),
];

const resumeOptions = (): Option[] => [
  new Option(
    '--resume',
    'go on with the unfinished run of this command; without one, start afresh',
  ),
  new Option('--fresh', 'forget the unfinished run of this command and start anew').conflicts(
    'resume',
  ),
  new Option('--run <id>', 'the run that `runs resume` means').hideHelp(),
  new Option('--no-journal', 'keep nothing to resume from').conflicts('resume'),
];

const rejectOptions = (): Option[] => [
  new Option('--rejects <file>', 'where rejected records go (default: beside the first input)'),
  new Option('--max-rejects <n|n%>', 'stop when more than that were rejected').argParser(
    rejectLimit,
  ),
  new Option('--strict', 'stop at the first rejected record: --max-rejects 0').conflicts(
    'maxRejects',
  ),
  new Option('--retry-unknown', 'send records of a rejects file whose outcome is unknown again'),
];

function rejectLimit(text: string): RejectLimit {
  const match = /^(\d+(?:\.\d+)?)(%?)$/.exec(text);
  const value = Number(match?.[1]);
  if (match?.[2] === '%' && value <= 100) return { percent: value };
  if (match && match[2] === '' && Number.isInteger(value)) return { records: value };
  throw new InvalidArgumentError('Use a number like 100, or a percentage like 2%.');
}

/** The input flags that decide what is sent: a run is only resumed with the same ones. */
export const inputMeaning = ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  maxRecordBytes,
  limit,
}: WriteFlags) => ({
  inputFormat,
  delimiter,
  quote,
  escape,
  comment,
  encoding,
  maxRecordBytes,
  limit,
});

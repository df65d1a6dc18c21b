import { InvalidArgumentError, Option, type Command } from 'commander';
import { limits } from '../contract/limits.js';
import { duration, integer } from './option-values.js';
import { outputOptions, type OutputFlags } from './output-options.js';
import { reportOption, type ReportFlag } from './report-option.js';

/** Flags that both exports share. */
export interface ExportFlags extends OutputFlags, ReportFlag {
  readonly resume?: true;
  readonly from: string;
  readonly to: string;
  readonly batchSize: number;
  readonly app?: true;
  /** False with `--no-event-summaries`. */
  readonly eventSummaries: boolean;
  /** False with `--no-profile-properties`. */
  readonly profileProperties: boolean;
  readonly pollInterval: number;
  readonly pendingTimeout: number;
}

/** Adds the shared flags; `batchSize` parses the one whose limits differ. */
export function addExportOptions(command: Command, batchSize: (text: string) => number): Command {
  for (const option of requestOptions(batchSize)) command.addOption(option.helpGroup('Request:'));
  for (const option of outputOptions()) command.addOption(option.helpGroup('Output:'));
  return command
    .addOption(reportOption())
    .addOption(
      new Option(
        '--resume',
        'go on with an export to this --output that did not finish; without one, start',
      )
        .conflicts('fresh')
        .helpGroup('Output:'),
    );
}

const requestOptions = (batchSize: (text: string) => number): Option[] => [
  new Option(
    '--from <date>',
    'first day: YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d',
  ).makeOptionMandatory(),
  new Option('--to <date>', 'last day, inclusive').makeOptionMandatory(),
  new Option('--batch-size <n>', 'records per page').argParser(batchSize).default(limits.batchSize),
  new Option('--app', 'with app fields: versions, make and model of devices'),
  new Option('--no-event-summaries', "without the summaries of users' events"),
  new Option('--no-profile-properties', 'without custom profile properties'),
  new Option('--poll-interval <duration>', 'first pause while the data is not ready; grows to 30s')
    .argParser(duration)
    .default(2000, '2s'),
  new Option('--pending-timeout <duration>', 'longest time to wait for it')
    .argParser(duration)
    .default(1_800_000, '30m'),
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

import { InvalidArgumentError } from 'commander';
import { limits } from '../contract/limits.js';
import {
  concurrencyOption,
  eventBatchSize,
  exportOptions,
  type ExportFlags,
} from './flags/output-flags.js';
import { integer, nonEmpty } from './flags/value-parsers.js';
import { shardOptions, type ShardFlags } from './flags/shard-flags.js';
import type { DayFileOptions, EventExportOptions } from '../jobs/job-options.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionTable } from './flags/option-table.js';

type EventFlags = Omit<EventExportOptions, 'shard'> &
  ExportFlags &
  DayFileOptions &
  ShardFlags & { readonly concurrency: number };

/** Parses `2d` or `48h` into days, rounded up. */
function dayCount(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,4})(d|h)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('Use a number of days like 3d.');
  return unit === 'd' ? Number(number) : Math.ceil(Number(number) / 24);
}

const missingDaysOptions: OptionTable = [
  'Daily files (-o with {day}):',
  ['--missing', 'export only days without a file; the last day must be complete', { common: true }],
  ['--refresh <duration>', 'export the last days of the range again, such as 3d', dayCount],
  [
    '--min-records <n>',
    'do not create files for days with fewer records; they count as missing',
    integer({ min: 1 }),
  ],
];

export const command: CommandSpec<EventFlags> = {
  summary: 'export the events of a date range',
  description:
    'Exports the events between two days, both inclusive, ordered by event as given, then by time. ' +
    'NDJSON contains every record byte for byte as the service sent it.',
  examples: `
    # the last seven full days
    engagectl export-events --event Charged --from 7d --to yesterday -o charged.ndjson.gz
    # two events into one table
    engagectl export-events --event Charged --event "Product Viewed" --from 7d --to today -o all.csv
    # from cron: one file per day; export missing days, continue an interrupted run
    engagectl export-events --event Charged --from 30d --to yesterday -o '{event}-{day}.ndjson' --missing --resume --quiet
    # a few records, to see their contents
    engagectl export-events --event Charged --from today --to today --with-event-name --limit 3
  `,
  options: [
    'Selection:',
    [
      '--event <name>',
      'event name, case-sensitive (repeatable)',
      { parse: nonEmpty, repeatable: true, required: true },
    ],
    ...exportOptions(eventBatchSize, ['{day}', '{event}']),
    'Requests:',
    ['--no-split', 'use one cursor per event instead of one per request in flight'],
    concurrencyOption(limits.othersInFlight),
    ...shardOptions,
    'Output:',
    [
      '--with-event-name',
      'add "event_name" and "ts_utc" to each record; implied by several --event',
    ],
    ...missingDaysOptions,
  ],
  run: async (call) => {
    const [{ exportEvents }, { runExport }] = await Promise.all([
      import('../jobs/export/export-events.js'),
      import('./shared/run-export.js'),
    ]);
    await runExport(call, {
      name: 'export-events',
      concurrency: call.flags.concurrency,
      parts: 'slices',
      job: exportEvents,
    });
  },
};

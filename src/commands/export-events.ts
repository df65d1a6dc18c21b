import { InvalidArgumentError } from 'commander';
import { limits } from '../contract/limits.js';
import {
  concurrencyOption,
  eventBatchSize,
  exportOptions,
  type ExportFlags,
} from './flags/output-flags.js';
import { integer, notEmpty } from './flags/value-parsers.js';
import { shardOptions, type ShardFlags } from './flags/shard-flags.js';
import type { DayFileOptions, EventExportOptions } from '../jobs/job-options.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionTable } from './flags/option-table.js';

type EventFlags = Omit<EventExportOptions, 'shard'> &
  ExportFlags &
  DayFileOptions &
  ShardFlags & { readonly concurrency: number };

/** `2d` or `48h`, in days; what has begun counts whole. */
function dayCount(text: string): number {
  const [, number, unit] = /^([1-9]\d{0,4})(d|h)$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('Use a number of days like 3d.');
  return unit === 'd' ? Number(number) : Math.ceil(Number(number) / 24);
}

const healingOptions: OptionTable = [
  'Files of a day each, -o with {day}:',
  ['--missing', 'fetch only the days without a file; the last day must be over'],
  ['--refresh <duration>', 'fetch the last days of the range again, 3d', dayCount],
  [
    '--min-records <n>',
    'a day with fewer is not put in place, and counts as missing',
    integer({ min: 1 }),
  ],
];

export const command: CommandSpec<EventFlags> = {
  summary: 'events in a date range',
  description:
    'Exports the events of a range of days, both inclusive, in the order of the events given, ' +
    'then of days. NDJSON holds every record byte for byte as the service sent it.',
  examples: `
    # the last seven full days
    engagectl export-events --event Charged --from 7d --to yesterday -o charged.ndjson.gz
    # two events into one table
    engagectl export-events --event Charged --event "Product Viewed" --from 7d --to today -o all.csv
    # from cron: a file a day; fetches what is missing, and goes on with one cut short
    engagectl export-events --event Charged --from 30d --to yesterday -o '{event}-{day}.ndjson' --missing --resume --quiet
    # a few of them, to see what they hold
    engagectl export-events --event Charged --from today --to today --with-event-name --limit 3
  `,
  options: [
    'What is exported:',
    [
      '--event <name>',
      'the event; may be repeated; case-sensitive',
      { parse: notEmpty, repeatable: true, required: true },
    ],
    ...exportOptions(eventBatchSize, ['{day}', '{event}']),
    'Fetching:',
    ['--no-split', 'one cursor for the whole range, not one a day'],
    concurrencyOption(limits.othersInFlight),
    ...shardOptions,
    'Output:',
    [
      '--with-event-name',
      'adds "event_name" and "ts_utc" to each record; implied by more than one --event',
    ],
    ...healingOptions,
  ],
  run: async (call) => {
    const [{ exportEvents }, { runExport }] = await Promise.all([
      import('../jobs/export/export-events.js'),
      import('./shared/run-export.js'),
    ]);
    await runExport(call, {
      name: 'export-events',
      concurrency: call.flags.concurrency,
      parts: call.flags.event.length > 1 ? 'event days' : 'days',
      job: exportEvents,
    });
  },
};

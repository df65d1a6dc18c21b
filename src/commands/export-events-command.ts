import { limits } from '../contract/limits.js';
import type { EventExportOptions } from '../jobs/job-options.js';
import type { CommandSpec } from './command-spec.js';
import { eventBatchSize, exportOptions, type ExportFlags } from './export-flags.js';
import { integer, notEmpty } from './option-values.js';
import { shardOptions, type ShardFlags } from './shard-flags.js';

type EventFlags = Omit<EventExportOptions, 'shard'> &
  ExportFlags &
  ShardFlags & { readonly concurrency: number };

export const command: CommandSpec<EventFlags> = {
  summary: 'events in a date range',
  description:
    'Exports the events of a range of days, both inclusive, in the order of the events given,\n' +
    'then of days. NDJSON holds every record byte for byte as the service sent it.',
  examples: `
    # the last seven full days
    engagectl export-events --event Charged --from 7d --to yesterday -o charged.ndjson.gz
    # two events into one table
    engagectl export-events --event Charged --event "Product Viewed" --from 7d --to today -o all.csv
    # from cron: a file a day; goes on with one cut short
    engagectl export-events --event Charged --from yesterday --to yesterday -o '{event}-{day}.ndjson' --resume --quiet
    # in a pipe
    engagectl export-events --event Charged --from today --to today --with-event-name | head -n 3
  `,
  options: [
    'Options:',
    [
      '--event <name>',
      'the event; may be repeated; case-sensitive',
      { parse: notEmpty, repeatable: true, required: true },
    ],
    ...exportOptions(eventBatchSize),
    'Request:',
    ['--no-split', 'one cursor for the whole range, not one a day'],
    [
      '--concurrency <n>',
      'most requests in flight',
      {
        parse: integer({ min: 1, max: limits.othersInFlight }),
        default: limits.othersInFlight,
      },
    ],
    ...shardOptions,
    'Output:',
    [
      '--with-event-name',
      'adds "event_name" and "ts_utc" to each record; implied by more than one --event',
    ],
  ],
  run: async (call) => {
    const [{ exportEvents }, { runExport }] = await Promise.all([
      import('../jobs/export-events-job.js'),
      import('./run-export.js'),
    ]);
    await runExport(call, {
      name: 'export-events',
      concurrency: call.flags.concurrency,
      parts: call.flags.event.length > 1 ? 'event days' : 'days',
      job: exportEvents,
    });
  },
};

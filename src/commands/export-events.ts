import { unexportableEvents } from '../contract/codes.js';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { eventBatchSize, exportOptions, type ExportFlags } from './export-options.js';
import { integer, notEmpty } from './option-values.js';
import type { Settings } from './settings.js';

type EventFlags = ExportFlags & {
  readonly event: readonly string[];
  readonly withEventName?: true;
  /** False with `--no-split`. */
  readonly split: boolean;
  readonly concurrency: number;
};

export const command: CommandSpec<EventFlags> = {
  summary: 'events in a date range',
  description:
    'Exports the events of a range of days, both inclusive, in the order of the events given,\n' +
    'then of days. NDJSON holds every record byte for byte as the service sent it.',
  examples: [
    [
      'the last seven full days',
      'engagectl export-events --event Charged --from 7d --to yesterday -o charged.ndjson.gz',
    ],
    [
      'two events into one table',
      'engagectl export-events --event Charged --event "Product Viewed" --from 7d --to today -o all.csv',
    ],
    [
      'from cron: a file a day; goes on with one cut short',
      "engagectl export-events --event Charged --from yesterday --to yesterday -o '{event}-{day}.ndjson' --resume --quiet",
    ],
    [
      'in a pipe',
      'engagectl export-events --event Charged --from today --to today --with-event-name | head -n 3',
    ],
  ],
  options: [
    [
      'Options:',
      [
        [
          '--event <name>',
          'the event; may be repeated; case-sensitive',
          { parse: notEmpty, repeatable: true, required: true },
        ],
      ],
    ],
    ...exportOptions(eventBatchSize),
    [
      'Request:',
      [
        ['--no-split', 'one cursor for the whole range, not one a day'],
        [
          '--concurrency <n>',
          'most requests in flight',
          {
            parse: integer({ min: 1, max: limits.othersInFlight }),
            default: limits.othersInFlight,
          },
        ],
      ],
    ],
    [
      'Output:',
      [
        [
          '--with-event-name',
          'adds "event_name" and "ts_utc" to each record; implied by more than one --event',
        ],
      ],
    ],
  ],
  run: ({ flags, settings, runtime }) => exportEvents(flags, settings(), runtime),
};

/** Writes the events in the order of the names given, then of days. */
async function exportEvents(
  flags: EventFlags,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  refuseEvents(flags.event);
  refuseUnsplitDays(flags);
  const [{ runExportCommand }, { planEvents }, { eventNamer }] = await Promise.all([
    import('../jobs/run-export.js'),
    import('./plan-events.js'),
    import('../output/event-name.js'),
  ]);
  await runExportCommand(
    {
      name: 'export-events',
      kind: 'events',
      flags,
      meaning: {
        '--event': flags.event,
        '--no-split': !flags.split,
        '--with-event-name': flags.withEventName === true,
      },
      concurrency: flags.concurrency,
      plan: (range, output) => planEvents(range, flags, output),
      restarts: true,
      ...((flags.withEventName || flags.event.length > 1) && { prepare: eventNamer }),
    },
    settings,
    runtime,
  );
}

function refuseEvents(events: readonly string[]): void {
  const names: readonly string[] = unexportableEvents;
  const refused = events.filter((event) => names.includes(event));
  if (refused.length > 0) {
    throw new EngagectlError('E-USAGE', `cannot be exported: ${refused.join(', ')}`, {
      why: `the service does not export these events: ${names.join(', ')}`,
      fix: 'leave them out; export-profiles finds the users of "Notification Sent"',
    });
  }
  const repeated = events.find((event, index) => events.indexOf(event) !== index);
  if (repeated === undefined) return;
  throw new EngagectlError('E-USAGE', `--event "${repeated}" was given twice`, {
    why: 'its records would be written twice',
    fix: 'name each event once',
  });
}

function refuseUnsplitDays({ split, output }: EventFlags): void {
  if (split || !output?.includes('{day}')) return;
  throw new EngagectlError('E-USAGE', '--no-split has no days to name files after', {
    why: `--output ${output} asks for a file a day, and one cursor returns all days together`,
    fix: 'leave out --no-split, or {day}',
  });
}

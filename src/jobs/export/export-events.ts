import { formatDay, type Day } from '../../contract/dates.js';
import { unexportableEvents } from '../../contract/error-codes.js';
import { EngagectlError } from '../../errors.js';
import { eventNamer } from '../../output/event-name.js';
import { exportDefaults, type EventExportOptions } from '../job-options.js';
import { daysOf, type DateRange } from '../date-range.js';
import { performExport, type ExportHooks } from './run-export.js';
import { refuseDays } from './missing-days.js';
import type { SliceOfFile } from '../../bulk/export/export-journal.js';
import type { ExportRequest } from './export-files.js';
import type { ExportResult } from '../job-results.js';
import type { Words, World } from '../job-context.js';

/** Exports events in the order of the names given, then of days. */
export async function exportEvents(
  request: ExportRequest & EventExportOptions,
  world: World,
  hooks?: ExportHooks,
): Promise<ExportResult> {
  const { split = true, withEventName = false, concurrency = exportDefaults.concurrency } = request;
  const event = typeof request.event === 'string' ? [request.event] : request.event;
  refuseEvents(event, world.words);
  refuseUnsplitDays({ split, output: request.output }, world.words);
  refuseDays(request, request.output, world.words);
  return performExport(
    {
      name: 'export-events',
      reads: 'events',
      meaning: { '--event': event, '--no-split': !split, '--with-event-name': withEventName },
      concurrency,
      plan: (range, output) => planEvents(range, { event, split }, output),
      restarts: true,
      prepare: withEventName || event.length > 1 ? eventNamer : undefined,
    },
    request,
    world,
    hooks,
  );
}

/** A slice per event and day, in this order; with `--no-split` one per event. */
export function planEvents(
  range: DateRange,
  { event, split }: { readonly event: readonly string[]; readonly split: boolean },
  output: string | undefined,
): SliceOfFile[] {
  const ranges = split ? daysOf(range).map((day) => ({ from: day, to: day })) : [range];
  return event.flatMap((eventName) =>
    ranges.map(({ from, to }) => ({ eventName, from, to, file: fileOf(output, eventName, from) })),
  );
}

function fileOf(output: string | undefined, eventName: string, day: Day): string | undefined {
  return output
    ?.replaceAll('{day}', formatDay(day))
    .replaceAll('{event}', () => fileNamePart(eventName));
}

/** Names that differ stay different, and none of them leads out of the folder. */
const fileNamePart = (name: string): string =>
  name.replaceAll(/[/\\:*?"<>|%]|\p{C}|^\.|[. ]$/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );

function refuseEvents(events: readonly string[], { option }: Words): void {
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
  throw new EngagectlError('E-USAGE', `${option('event', `"${repeated}"`)} was given twice`, {
    why: 'its records would be written twice',
    fix: 'name each event once',
  });
}

function refuseUnsplitDays(
  { split, output }: { readonly split: boolean; readonly output: string | undefined },
  { option }: Words,
): void {
  if (split || !output?.includes('{day}')) return;
  const noSplit = option('noSplit');
  throw new EngagectlError('E-USAGE', `${noSplit} has no days to name files after`, {
    why: `${option('output', output)} asks for a file a day, and one cursor returns all days together`,
    fix: `leave out ${noSplit}, or {day}`,
  });
}

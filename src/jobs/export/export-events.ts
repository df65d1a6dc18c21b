import { formatDay, type Day } from '../../contract/dates.js';
import { unexportableEvents } from '../../contract/error-codes.js';
import { EngagectlError } from '../../errors.js';
import { exportDefaults, type EventExportOptions } from '../job-options.js';
import type { DateRange } from '../date-range.js';
import { runExport, type ExportHooks } from './run-export.js';
import { checkDayOptions } from './missing-days.js';
import { Breaks } from '../../event-loop.js';
import { spaceEnd } from '../../text/raw-json.js';
import { tsText } from '../../bulk/export/slice.js';
import type { FileSlice } from '../../bulk/export/export-journal.js';
import type { ExportKind, ExportRequest } from './export-files.js';
import type { ExportResult } from '../job-results.js';
import type { Wording, JobContext } from '../job-context.js';
import type { TimeZone } from '../../time-zone.js';
import type { ExportJob } from '../../bulk/export/export-job.js';

/** Exports events in the order of the given names, then by time. */
export async function exportEvents(
  request: ExportRequest & EventExportOptions,
  context: JobContext,
  hooks?: ExportHooks,
): Promise<ExportResult> {
  const { split = true, withEventName = false, concurrency = exportDefaults.concurrency } = request;
  const event = typeof request.event === 'string' ? [request.event] : request.event;
  refuseEvents(event, context.words);
  refuseUnsplitDays({ split, output: request.output }, context.words);
  checkDayOptions(request, request.output, context.words);
  return runExport(
    {
      name: 'export-events',
      reads: 'events',
      fingerprinted: { '--event': event, '--no-split': !split, '--with-event-name': withEventName },
      concurrency,
      slicing: slicingOf(request),
      plan: (ranges, output) => planEvents(ranges, event, output),
      restarts: true,
      prepare: withEventName || event.length > 1 ? addEventMembers : undefined,
    },
    request,
    context,
    hooks,
  );
}

/** Returns how the range is sliced. Files per day and shards need days. */
function slicingOf({
  split = true,
  output,
  shard,
}: ExportRequest & EventExportOptions): ExportKind['slicing'] {
  if (!split) return 'whole';
  return output?.includes('{day}') || shard ? 'days' : 'parts';
}

/** Plans one slice per event and range, in this order. */
export const planEvents = (
  ranges: readonly DateRange[],
  event: readonly string[],
  output: string | undefined,
): FileSlice[] =>
  event.flatMap((eventName) =>
    ranges.map(({ from, to }) => ({ eventName, from, to, file: fileOf(output, eventName, from) })),
  );

function fileOf(output: string | undefined, eventName: string, day: Day): string | undefined {
  return output
    ?.replaceAll('{day}', formatDay(day))
    .replaceAll('{event}', () => fileNamePart(eventName));
}

/** Escapes an event name for a file name. Different names stay different, none leaves the folder. */
const fileNamePart = (name: string): string =>
  name.replaceAll(/[/\\:*?"<>|%]|\p{C}|^\.|[. ]$/gu, (character) =>
    [...Buffer.from(character)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  );

function refuseEvents(events: readonly string[], { option }: Wording): void {
  if (events.length === 0) {
    throw new EngagectlError('E-USAGE', `${option('event')} names no event`, {
      fix: 'list at least one event',
    });
  }
  const names: readonly string[] = unexportableEvents;
  const refused = events.filter((event) => names.includes(event));
  if (refused.length > 0) {
    throw new EngagectlError('E-USAGE', `cannot export ${refused.join(', ')}`, {
      why: `the service does not export these events: ${names.join(', ')}`,
      fix: 'omit them; export-profiles finds the users of "Notification Sent"',
    });
  }
  const repeated = events.find((event, index) => events.indexOf(event) !== index);
  if (repeated === undefined) return;
  throw new EngagectlError('E-USAGE', `${option('event', repeated)} occurs twice`, {
    why: 'its records would be written twice',
    fix: 'list each event once',
  });
}

function refuseUnsplitDays(
  { split, output }: { readonly split: boolean; readonly output: string | undefined },
  { option }: Wording,
): void {
  if (split || !output?.includes('{day}')) return;
  const noSplit = option('noSplit');
  throw new EngagectlError('E-USAGE', `${noSplit} cannot write one file per day`, {
    why: `${option('output', output)} contains {day}, and one cursor returns all days together`,
    fix: `omit ${noSplit}, or {day}`,
  });
}

const closeBrace = 0x7d;
/** Cost of a record besides its bytes; see Breaks. */
const recordUnits = 1024;

/**
 * Adds `"event_name"` and `"ts_utc"` as the last members of each record. Event records do not
 * contain their name, and `ts` is 14 digits in the account's time zone. `ts_utc` is null if `ts`
 * is missing or in another format.
 */
function addEventMembers(zone: TimeZone): NonNullable<ExportJob['prepare']> {
  const breaks = new Breaks();
  return async (page, { eventName }) => {
    const name = `"event_name":${JSON.stringify(eventName)}`;
    const parts: Buffer[] = [];
    const bounds = new Int32Array(2 * page.count);
    let length = 0;
    for (let i = 0; i < page.count; i += 1) {
      const record = page.bytes.subarray(page.bounds[2 * i], page.bounds[2 * i + 1]);
      const comma = record[spaceEnd(record, 1)] === closeBrace ? '' : ',';
      const added = Buffer.from(`${comma}${name},"ts_utc":${tsUtc(record, zone)}}\n`);
      parts.push(record.subarray(0, -1), added);
      bounds[2 * i] = length;
      length += record.length + added.length - 1;
      bounds[2 * i + 1] = length - 1;
      if (breaks.areDue(recordUnits + record.length)) await breaks.take();
    }
    return { bytes: Buffer.concat(parts, length), bounds, count: page.count };
  };
}

/** Returns the record's time in UTC as JSON text. */
function tsUtc(record: Buffer, zone: TimeZone): string {
  const digits = /^"?(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)"?$/.exec(tsText(record));
  if (digits === null) return 'null';
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = digits
    .slice(1)
    .map(Number);
  const local = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  return JSON.stringify(new Date(zone.toEpoch(local) * 1000).toISOString().replace('.000Z', 'Z'));
}

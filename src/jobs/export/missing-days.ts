import { addDays, type Day } from '../../contract/dates.js';
import { EngagectlError, groupDigits } from '../../errors.js';
import { outputSize } from '../../output/document-output.js';
import { todayOf, type Today, type DateRange } from '../date-range.js';
import type { FileSlice } from '../../bulk/export/export-journal.js';
import type { ExportCounters } from '../../bulk/export/export-job.js';
import type { DayFileOptions } from '../job-options.js';
import type { DayCounts } from '../job-results.js';
import type { Wording, JobContext } from '../job-context.js';

/** The slices of one file. */
export type FileSlices = readonly FileSlice[];

/** Throws E-USAGE for options that need one file per day. */
export function checkDayOptions(
  options: DayFileOptions,
  output: string | undefined,
  { option }: Wording,
): void {
  const { missing, refresh, minRecords, overwrite } = options;
  const requested =
    (missing && option('missing')) ||
    (refresh !== undefined && option('refresh')) ||
    (minRecords !== undefined && option('minRecords'));
  if (!requested) return;
  if (!output?.includes('{day}')) {
    throw new EngagectlError('E-USAGE', `${requested} requires one file per day`, {
      why: 'existing files show which days are complete',
      fix: `put {day} in the output name: ${option('output', 'charged/{day}.ndjson.gz')}`,
    });
  }
  if (refresh !== undefined && !missing) {
    throw new EngagectlError('E-USAGE', `${requested} requires ${option('missing')}`, {
      why: `without ${option('missing')}, all days are fetched`,
      fix: `add ${option('missing')}, or replace all days with ${option('overwrite')}`,
    });
  }
  if (missing && overwrite) {
    throw new EngagectlError(
      'E-USAGE',
      `${requested} cannot be combined with ${option('overwrite')}`,
      {
        why: `${requested} keeps existing files`,
        fix: `choose the days to replace: ${option('refresh', '3d')}`,
      },
    );
  }
}

/** Throws E-DATE if the last day is not over, since its file would never be completed. */
export function refuseToday({ to }: DateRange, today: Today, { option }: Wording): void {
  if (to < todayOf(today)) return;
  const missing = option('missing');
  throw new EngagectlError('E-DATE', `${missing} requires complete days`, {
    why: `today (${today.zone.name}) is not over, and its file would count as complete tomorrow`,
    fix: `end the range with ${option('to', 'yesterday')}`,
  });
}

/** Warns that the file of a day that is not over looks complete later. */
export function warnOfToday(
  { to }: DateRange,
  today: Today,
  { words, messages }: JobContext,
): void {
  if (to < todayOf(today)) return;
  messages.warn(
    `today (${today.zone.name}) is not over: its file will lack events, and ${words.option('missing')} will not fetch it again; delete it tomorrow, or end the range with ${words.option('to', 'yesterday')}`,
  );
}

/** Lists the files to write: missing ones, and those of the last days to refresh. */
export async function missingFiles(
  files: readonly FileSlices[],
  { refresh = 0, to }: { readonly refresh: number | undefined; readonly to: Day },
  context: JobContext,
): Promise<FileSlices[]> {
  const refreshed = addDays(to, -refresh);
  const toFetch: FileSlices[] = [];
  for (const slices of files) {
    const bytes = await outputSize(slices[0]!.file, context.runtime, context.words.option);
    const isOld = slices[0]!.from <= refreshed;
    if (bytes === undefined) toFetch.push(slices);
    // An empty file may be the remains of a copy to a full disk, so it is fetched again.
    else if (bytes === 0 || !isOld) toFetch.push(slices.map(replacing));
  }
  return toFetch;
}

const replacing = (slice: FileSlice): FileSlice => ({ ...slice, replaces: true });

interface Counted {
  /** Names of the requested files. */
  readonly wanted: ReadonlySet<string | undefined>;
  /** Documents of the run. */
  readonly files: readonly FileSlices[];
}

/** Counts the outcome of each file. */
export function countDays(
  { wanted, files }: Counted,
  { published, short }: Pick<ExportCounters, 'published' | 'short'>,
): DayCounts {
  const ends = new Map<string | undefined, 'fetched' | 'refreshed' | 'short' | 'missing'>();
  for (const [index, slices] of files.entries()) {
    const [{ file, replaces = false } = {}] = slices;
    if (short.has(index)) ends.set(file, 'short');
    else if (!published.has(index)) ends.set(file, 'missing');
    else ends.set(file, replaces && ends.get(file) !== 'fetched' ? 'refreshed' : 'fetched');
  }
  const all = new Set([...wanted, ...ends.keys()]);
  const count = (end: string) => [...ends.values()].filter((one) => one === end).length;
  return {
    wanted: all.size,
    present: all.size - ends.size,
    fetched: count('fetched'),
    refreshed: count('refreshed'),
    short: count('short'),
  };
}

/** Builds the error for days with too few records; undefined if there are none. */
export function shortDaysError(
  files: readonly FileSlices[],
  { short }: Pick<ExportCounters, 'short'>,
  { minRecords, words }: { readonly minRecords: number; readonly words: Wording },
): EngagectlError | undefined {
  if (short.size === 0) return undefined;
  const names = [...short].map((index) => files[index]![0]!.file!);
  const listed = names.slice(0, 3).join(', ') + (names.length > 3 ? ', …' : '');
  const what = short.size === 1 ? 'file has' : 'files have';
  return new EngagectlError(
    'E-SHORT',
    `${groupDigits(short.size)} ${what} fewer than ${groupDigits(minRecords)} records: ${listed}`,
    {
      why: 'the service may not have all data of these days yet, or the event was not sent',
      fix: `fetch them again later, or lower ${words.option('minRecords')}`,
    },
  );
}

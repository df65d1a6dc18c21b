import {
  addDays,
  dayOf,
  daysBetween,
  formatDay,
  spanOf,
  splitDays,
  type DayRange,
  type Day,
} from '../../contract/dates.js';
import { countOf, EngagectlError } from '../../errors.js';
import {
  CursorExpiredError,
  digestOf,
  followCursor,
  openCursor,
  sameForTwo,
  type CursorState,
} from './cursor.js';
import type { PageTarget, PlannedSlice, ExportJob } from './export-job.js';
import type { CursorQuery } from '../../client/client.js';
import type { ExportEntry, SliceProgress } from './export-journal.js';
import { rawMembers } from '../../text/raw-json.js';
import type { RecordPage } from '../../output/output.js';

/** Maximum pages of a slice that are written and not yet synced. */
const mostWaiting = 8;

interface SliceJob {
  readonly planned: PlannedSlice;
  readonly target: PageTarget;
  /** The target is the slice's own spill. */
  readonly spilled: boolean;
  readonly job: ExportJob;
  readonly slots: SliceSlots;
}

/** The concurrency limit as a slice sees it. */
export interface SliceSlots {
  /** Slots that no slice uses, and that none is waiting for. */
  readonly idle: number;
  /** Divides a slice into consecutive ranges, and starts to read the new slices. */
  divide(slice: PlannedSlice, ranges: readonly DayRange[]): void;
}

/** Records and pages of a slice in its target. */
interface SliceCounts {
  records: number;
  pages: number;
  /** Whether a page that was read since the start or resumption may be of the days asked for. */
  hasOwnDay: boolean;
  /** Day of an event of another page. */
  otherDay: Day | undefined;
}

/**
 * Reads a slice completely, or continues where an earlier process stopped. If the cursor is
 * refused, its pages are truncated and it restarts once, so that a slice never mixes snapshots. A
 * slice that proves large while slots are idle is divided, and restarts with its first range.
 */
export async function readSlice(sliceJob: SliceJob): Promise<void> {
  const { planned, target, job, slots } = sliceJob;
  let earlier = job.log.earlier.slices.get(planned.index);
  if (earlier?.cursor === null) return;
  const start = earlier?.start ?? target.checkpoint();
  const { records = 0, pages = 0 } = earlier ?? {};
  const counts: SliceCounts = { records, pages, hasOwnDay: false, otherDay: undefined };
  const drop = async (entry: ExportEntry) => {
    await job.log.note(entry);
    job.pages.drop(planned);
    if (counts.records > 0) await target.rewind(start);
    job.state.records -= counts.records;
    job.state.pages -= counts.pages;
    counts.records = counts.pages = 0;
    earlier = undefined;
  };
  for (let { restarts } = job; ;) {
    try {
      const ranges = await copyPages(sliceJob, counts, earlier);
      if (!ranges) break;
      await drop({ kind: 'divided', slice: planned.index, ranges });
      slots.divide(planned, ranges);
    } catch (error) {
      if (!(error instanceof CursorExpiredError) || !restarts) throw error;
      if (counts.records > 0 && !target.rewindable) throw cannotTakeBack(error, sliceJob, counts);
      restarts = false;
      await drop({ kind: 'refused', slice: planned.index });
      const { eventName, from } = planned.query;
      const text = `${eventName}, ${from}: ${error.message}; restarting this slice`;
      job.warn(text, error.details);
    }
  }
  job.state.slicesDone += 1;
}

function cannotTakeBack(
  { details: { foreign = '' } }: CursorExpiredError,
  { target, job: { option } }: SliceJob,
  { records }: SliceCounts,
) {
  const { name } = target;
  const why = `${countOf(records, 'record')} of that cursor went to ${name}, which cannot be truncated`;
  const file = option('output', '<file>');
  return new CursorExpiredError(foreign, option, `${why}; with ${file} the slice would restart`);
}

/** Copies the pages of the slice to its target. Returns ranges if it should be divided instead. */
async function copyPages(
  sliceJob: SliceJob,
  counts: SliceCounts,
  earlier: SliceProgress | undefined,
): Promise<readonly DayRange[] | undefined> {
  const { planned, target, job, slots } = sliceJob;
  const { state, limit } = job;
  const estimate =
    job.divides && target.rewindable && counts.pages === 0
      ? new DivisionEstimate(planned.query, job.runtime.monotonic)
      : undefined;
  let waiting = 0;
  let committed = Promise.resolve();
  try {
    const pages = followCursor(await trailOf(sliceJob, earlier), job);
    for await (const { page: whole, next, hash } of pages) {
      if (whole && whole.count > 0) noteDays(whole, planned.query, counts);
      if (whole && hash !== undefined) refuseOtherDays(whole, hash, sliceJob);
      const { otherDay, hasOwnDay } = counts;
      if (next === undefined && !hasOwnDay && otherDay !== undefined)
        job.warn(onlyOtherDays(otherDay, planned.query));
      const page = whole && { ...whole, count: Math.min(whole.count, limit - state.records) };
      const records = page?.count ?? 0;
      if (page) {
        if (page.count > 0) estimate?.add(page);
        await target.writePage(job.prepare ? await job.prepare(page, planned.query) : page);
        counts.records += records;
        counts.pages += 1;
        state.records += records;
        state.pages += 1;
        state.bytesReceived += page.bytes.length;
      }
      // Commits run behind the writes, so that no page waits for the disk.
      waiting += 1;
      const after = { next: next ?? null, records, at: target.checkpoint() };
      const known = hash === undefined ? {} : { hash: String(hash) };
      committed = job.log
        .note({ kind: 'page', slice: planned.index, ...after, ...known }, target)
        .then(() => void (waiting -= 1));
      committed.catch(() => undefined); // the next await reports it
      if (waiting >= mostWaiting) await committed;
      if (state.records >= limit) break;
      const ranges = next === undefined ? undefined : estimate?.ranges(slots.idle);
      if (ranges) return ranges;
    }
  } finally {
    await committed;
  }
  return undefined;
}

/**
 * Throws E-CURSOR for a page of events that another slice of the event has as well. Records with a time have one day,
 * so one of the slices would get records of other days. A single record may occur twice.
 */
function refuseOtherDays(page: RecordPage, hash: bigint, sliceJob: SliceJob): void {
  if (page.count < 2 || recordDay(recordAt(page, 0)) === undefined) return;
  const { planned, job } = sliceJob;
  refuseOther(countOf(page.count, 'record'), job.pages.add(planned, hash), sliceJob);
}

/** Throws E-CURSOR if the service sent the same for another slice, except one with the same days of the event. */
function refuseOther(
  what: string,
  other: PlannedSlice | undefined,
  { planned: { query }, job }: SliceJob,
): void {
  if (!other || overlap(other.query, query)) return;
  throw sameForTwo(what, [spanOf(other.query), spanOf(query)], job.option);
}

/**
 * Notes whether a page of events begins or ends with one of the days asked for, or may do so. Throws E-ANSWER if one of them
 * is more than a day off, which no time zone explains: a cache or proxy may answer with the page of another cursor. Checking
 * each event would double the time of an export.
 */
function noteDays(page: RecordPage, query: CursorQuery, counts: SliceCounts): void {
  if (query.kind !== 'events') return;
  for (const index of [0, page.count - 1]) {
    const record = recordAt(page, index);
    const day = recordDay(record);
    if (isOfDays(record, query) || day === undefined) counts.hasOwnDay = true;
    else counts.otherDay ??= day;
  }
}

const recordAt = ({ bytes, bounds }: RecordPage, index: number): Buffer =>
  bytes.subarray(bounds[2 * index], bounds[2 * index + 1]);

/**
 * Whether an event has a time of the days asked for. Throws E-ANSWER if it is more than a day off. False for a time in
 * another form, which the specification does not exclude, and without one.
 */
export function isOfDays(record: Buffer, query: CursorQuery): boolean {
  const day = recordDay(record);
  if (day === undefined) return false;
  const { from, to } = query;
  if (day >= from && day <= to) return true;
  if (day < addDays(from, -1) || day > addDays(to, 1)) throw foreignDay(day, query);
  return false;
}

const onlyOtherDays = (day: Day, query: CursorQuery): string =>
  `the pages for ${spanOf(query)} begin and end with other days, such as ${formatDay(day)}: a cache in between may have repeated an answer; compare with the files of those days`;

const foreignDay = (day: Day, query: CursorQuery): EngagectlError =>
  new EngagectlError(
    'E-ANSWER',
    `the service sent an event of ${formatDay(day)} for ${spanOf(query)}`,
    {
      why: 'the answer is of other days than those asked for; a cache or proxy in between may repeat answers',
      fix: 'check the base URL, and what is between: engagectl config show',
    },
  );

/** Whether two slices share a day of an event, as those of a file that a resumed run fetches again. */
const overlap = (one: CursorQuery, other: CursorQuery): boolean =>
  one.eventName === other.eventName && one.from <= other.to && other.from <= one.to;

async function trailOf(
  sliceJob: SliceJob,
  earlier: SliceProgress | undefined,
): Promise<CursorState> {
  const { planned, spilled, job } = sliceJob;
  const { index, query } = planned;
  const { kind } = query;
  const of = spanOf(query);
  if (typeof earlier?.cursor === 'string') {
    return { kind, of, cursor: earlier.cursor, seen: earlier.seen, hashes: earlier.hashes };
  }
  const cursor = await openCursor(query, job);
  refuseOther('cursor', job.pages.addCursor(planned, digestOf(cursor)), sliceJob);
  await job.log.note({ kind: 'opened', slice: index, cursor, spilled });
  return { kind, of, cursor, seen: [], hashes: [] };
}

/**
 * Decides whether to divide a slice of events that is being read. Dividing repeats everything since
 * the slice was opened, so it pays only if the rest is expected to take longer than that. The
 * estimate assumes that records come in the order of their times; if they do not, the slice is read
 * with one cursor or some pages are read twice, and the output is the same.
 */
class DivisionEstimate {
  readonly #range: DayRange;
  readonly #monotonic: () => number;
  readonly #opened: number;
  #firstPageAt: number | undefined;
  #first: Day | undefined;
  #last: Day | undefined;

  constructor(range: DayRange, monotonic: () => number) {
    this.#range = range;
    this.#monotonic = monotonic;
    this.#opened = monotonic();
  }

  /** Adds a page with at least one record. */
  add(page: RecordPage): void {
    this.#firstPageAt ??= this.#monotonic();
    this.#first ??= recordDay(recordAt(page, 0));
    this.#last = recordDay(recordAt(page, page.count - 1));
  }

  /** Returns the ranges that use the idle slots too; undefined if the slice should stay whole. */
  ranges(idleSlots: number): readonly DayRange[] | undefined {
    const { from, to } = this.#range;
    const [first, last, firstPageAt] = [this.#first, this.#last, this.#firstPageAt];
    if (idleSlots <= 0 || first === undefined || last === undefined || firstPageAt === undefined)
      return undefined;
    if (first < from || last < first || last >= to) return undefined;
    const now = this.#monotonic();
    const perDay = (now - firstPageAt) / (daysBetween(first, last) + 1);
    if (perDay * daysBetween(last, to) <= now - this.#opened) return undefined;
    const [head, ...others] = splitDays({ from: first, to }, idleSlots + 1);
    return [{ from, to: head!.to }, ...others];
  }
}

/** Returns the day of a record's `ts`, 14 digits in the account's time zone; undefined without one. */
function recordDay(record: Buffer): Day | undefined {
  const [, year, month, day] = /^"?(\d{4})(\d\d)(\d\d)\d{6}"?$/.exec(tsText(record)) ?? [];
  return day === undefined ? undefined : dayOf(Number(year), Number(month), Number(day));
}

/** Returns the raw text of a record's `ts`; empty if there is none. */
export function tsText(record: Buffer): string {
  for (const { key, value } of rawMembers(record)) {
    if (key.length === 4 && key.toString('latin1') === '"ts"') return value.toString('latin1');
  }
  return '';
}

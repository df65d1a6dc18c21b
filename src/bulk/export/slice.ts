import { spanOf } from '../../contract/dates.js';
import { countOf } from '../../errors.js';
import { CursorExpiredError, followCursor, openCursor, type CursorState } from './cursor.js';
import type { PageTarget, PlannedSlice, ExportJob } from './export-job.js';
import type { SliceProgress } from './export-journal.js';

/** Maximum pages of a slice that are written and not yet synced. */
const mostWaiting = 8;

interface SliceJob {
  readonly planned: PlannedSlice;
  readonly target: PageTarget;
  /** The target is the slice's own spill. */
  readonly spilled: boolean;
  readonly job: ExportJob;
}

/** Records and pages of a slice in its target. */
interface SliceCounts {
  records: number;
  pages: number;
}

/**
 * Reads a slice completely, or continues where an earlier process stopped. If the cursor is
 * refused, its pages are truncated, so that a slice never mixes snapshots.
 */
export async function readSlice(sliceJob: SliceJob): Promise<void> {
  const { planned, target, job } = sliceJob;
  const { state } = job;
  const earlier = job.log.earlier.slices.get(planned.index);
  if (earlier?.cursor === null) return;
  const start = earlier?.start ?? target.checkpoint();
  const counts = { records: earlier?.records ?? 0, pages: earlier?.pages ?? 0 };
  try {
    await copyPages(sliceJob, counts, earlier);
  } catch (error) {
    if (!(error instanceof CursorExpiredError) || !job.restarts) throw error;
    if (counts.records > 0 && !target.rewindable) throw cannotTakeBack(error, sliceJob, counts);
    await job.log.note({ kind: 'refused', slice: planned.index });
    if (counts.records > 0) await target.rewind(start);
    state.records -= counts.records;
    state.pages -= counts.pages;
    const { eventName, from } = planned.query;
    job.warn(`${eventName}, ${from}: ${error.message}; restarting this slice`);
    await copyPages(sliceJob, { records: 0, pages: 0 }, undefined);
  }
  state.slicesDone += 1;
}

function cannotTakeBack(
  { message }: Error,
  { target, job: { option } }: SliceJob,
  { records }: SliceCounts,
) {
  const { name } = target;
  const why = `${countOf(records, 'record')} of that cursor went to ${name}, which cannot be truncated`;
  const file = option('output', '<file>');
  return new CursorExpiredError(message, option, `${why}; with ${file} the slice would restart`);
}

async function copyPages(
  sliceJob: SliceJob,
  counts: SliceCounts,
  earlier: SliceProgress | undefined,
): Promise<void> {
  const { planned, target, job } = sliceJob;
  const { state, limit } = job;
  const { eventName } = planned.query;
  let waiting = 0;
  let committed = Promise.resolve();
  try {
    for await (const { page: whole, next } of followCursor(await trailOf(sliceJob, earlier), job)) {
      const page = whole && { ...whole, count: Math.min(whole.count, limit - state.records) };
      const records = page?.count ?? 0;
      if (page) {
        await target.writePage(job.prepare ? job.prepare(page, eventName) : page);
        counts.records += records;
        counts.pages += 1;
        state.records += records;
        state.pages += 1;
        state.bytesReceived += page.bytes.length;
      }
      // Commits run behind the writes, so that no page waits for the disk.
      waiting += 1;
      const at = target.checkpoint();
      committed = job.log
        .note({ kind: 'page', slice: planned.index, next: next ?? null, records, at }, target)
        .then(() => void (waiting -= 1));
      committed.catch(() => undefined); // the next await reports it
      if (waiting >= mostWaiting) await committed;
      if (state.records >= limit) break;
    }
  } finally {
    await committed;
  }
}

async function trailOf(
  { planned: { index, query }, spilled, job }: SliceJob,
  earlier: SliceProgress | undefined,
): Promise<CursorState> {
  const { kind } = query;
  const of = spanOf(query);
  if (typeof earlier?.cursor === 'string') {
    return { kind, of, cursor: earlier.cursor, seen: earlier.seen };
  }
  const cursor = await openCursor(query, job);
  await job.log.note({ kind: 'opened', slice: index, cursor, spilled });
  return { kind, of, cursor, seen: [] };
}

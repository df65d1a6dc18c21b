import { PeekableIterator, whileIdle } from '../peekable-iterator.js';
import { ordinalOfFault, ordinalOfRow } from '../outcomes/ordinal-set.js';
import { BatchBuilder } from './batch-builder.js';
import { RunStop, checkRejectLimit } from './stop-conditions.js';
import { Breaks } from '../../event-loop.js';
import { addIdentity, tooManyIdentities } from './deduplication.js';
import { SendQueue } from './send-queue.js';
import { BatchSender } from './batch-sender.js';
import type { EngagectlError } from '../../errors.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { RequestTotals, WriteJob } from './write-job.js';

export interface PipelineResult extends RequestTotals {
  /** The whole input was worked through. */
  readonly done: boolean;
  /** Why the run ended before its input did, or failed at its end. */
  readonly stopped: EngagectlError | undefined;
}

interface Parts {
  readonly job: WriteJob;
  readonly halt: RunStop;
  readonly sender: SendQueue;
  readonly filler: BatchBuilder;
}

/**
 * Sends the records of all rows in batches. Every row ends in the tally as exactly one
 * outcome, also when the run stops early. Rejects only for defects.
 */
export async function writeRecords(job: WriteJob): Promise<PipelineResult> {
  const halt = new RunStop(job.runtime);
  const settler = new BatchSender(job, halt);
  const sender = new SendQueue(job, { halt, settler });
  const parts = { job, halt, sender, filler: new BatchBuilder(job, sender) };
  const { tally } = job;
  const input = new PeekableIterator(job.rows);
  await halt.guard(() => sendAll(input, parts));
  await sender.idle();
  await halt.guard(async () => {
    for (const { rows, row } of parts.filler.drain()) tally.notSent(rows, row, stoppedBefore);
    await tally.close();
  });
  await halt.guard(async () => {
    if (halt.error && !job.piped) await countUnread(input, job);
  });
  halt.close();
  tally.assertBalanced();
  const { error } = halt;
  const stopped = error ?? checkRejectLimit(job, 'end');
  return { ...settler.traffic, done: error === undefined, stopped };
}

const stoppedBefore = 'not sent: the run stopped';

async function sendAll(input: PeekableIterator<RowBlock>, parts: Parts): Promise<void> {
  const { job, halt, filler } = parts;
  const next = async () => {
    const rows = input.take(halt.drainSignal);
    if (!job.piped) return rows;
    return whileIdle(rows, job.runtime, async (heard) => filler.submitAll(heard));
  };
  for (let rows = await next(); rows; rows = await next()) await feed(rows, parts);
  await filler.finish();
}

/** One block: its faults and rejects to the tally, its records to the filler. */
async function feed(rows: RowBlock, { job, halt, filler }: Parts): Promise<void> {
  const { tally, toldOnce } = job;
  tally.log.opened(rows);
  const mapped = job.map(rows);
  const block = job.memory ? { ...mapped, unchanged: job.memory.unchanged(mapped) } : mapped;
  if (block.elsewhere !== undefined) tally.otherShard(rows, block.elsewhere);
  // A disk that does not take it stops the run; then the block's records end as not sent.
  const commit = async () => halt.guard(async () => tally.log.commit());
  if (await turnDownUnsendable(block, job, commit)) await commit();
  let next = 0;
  while (next < block.count && !halt.error) {
    next = fill(block, next, { job, filler });
    await filler.makeRoom();
  }
  for (; next < block.count; next += 1) {
    const row = block.row[next] ?? 0;
    if (isSettled(job, rows, ordinalOfRow(rows, row))) continue;
    tally.counts.read += 1;
    tally.notSent(rows, row, stoppedBefore);
  }
  halt.stopAt(checkRejectLimit(job, 'running') ?? (toldOnce && tooManyIdentities(toldOnce)));
}

/** Work on a reject; see Breaks. */
const rejectUnits = 1024;
/** Characters of the rejects file that wait to be written. */
const mostWaiting = 1024 * 1024;

/**
 * Records that cannot be read or break a local rule; true when there were any. All of a block may be such, and the line
 * of each may name thousands of columns: `commit` is called where many wait.
 */
async function turnDownUnsendable(
  { rows, rejects, faults }: RecordBlock,
  job: WriteJob,
  commit: () => Promise<void>,
): Promise<boolean> {
  const { tally } = job;
  const before = tally.counts.read;
  const breaks = new Breaks();
  for (const fault of faults) {
    if (isSettled(job, rows, ordinalOfFault(rows, fault))) continue;
    tally.counts.read += 1;
    tally.parseError(rows, fault);
    if (tally.rejects.waiting > mostWaiting) await commit();
    if (breaks.areDue(rejectUnits)) await breaks.take();
  }
  for (const { row, ...reject } of rejects) {
    if (isSettled(job, rows, ordinalOfRow(rows, row))) continue;
    tally.counts.read += 1;
    tally.reject(rows, row, reject);
    if (tally.rejects.waiting > mostWaiting) await commit();
    if (breaks.areDue(rejectUnits)) await breaks.take();
  }
  return tally.counts.read > before;
}

/** Gives records to the filler until it wants to make room; returns the next index. */
function fill(
  block: RecordBlock,
  from: number,
  { job, filler }: Pick<Parts, 'job' | 'filler'>,
): number {
  let index = from;
  while (index < block.count && filler.hasRoom) {
    if (block.unchanged?.[index] === 1) {
      index = passUnchanged(block, index, job);
      continue;
    }
    const next = filler.add(block, index, endOfSendable(job, block, index));
    job.tally.counts.read += next - index;
    index = next === index ? index + 1 : next;
  }
  return index;
}

/** Records from `index` on that need not be sent, and whose rows are neighbours; returns their end. */
function passUnchanged({ rows, row, ...block }: RecordBlock, from: number, job: WriteJob): number {
  const first = row[from]!;
  if (isSettled(job, rows, ordinalOfRow(rows, first))) return from + 1;
  let end = from + 1;
  const isNext = () => block.unchanged?.[end] === 1 && row[end] === first + end - from;
  // Of a run that is gone on with, each may have its outcome.
  while (!job.earlier && end < block.count && isNext()) end += 1;
  job.tally.counts.read += end - from;
  job.tally.accept(rows, first, end - from, 'unchanged');
  return end;
}

/** End of the records from `index` on that are to be sent: `index` when that one has its outcome. */
function endOfSendable(job: WriteJob, block: RecordBlock, index: number): number {
  const { tally, toldOnce, send, earlier } = job;
  const { rows, unchanged, count } = block;
  if (send && !toldOnce && !earlier) {
    const end = unchanged?.indexOf(1, index) ?? -1;
    return end < 0 ? count : end;
  }
  const row = block.row[index] ?? 0;
  const isNew = toldOnce === undefined || addIdentity(toldOnce, block, index);
  const ordinal = ordinalOfRow(rows, row);
  if (isSettled(job, rows, ordinal)) return index;
  const wasSent = earlier?.intended.has(ordinal) === true;
  if (isNew && send && !wasSent) return index + 1;
  tally.counts.read += 1;
  if (wasSent) tally.reject(rows, row, { stage: 'unknown', error: killedBefore });
  else if (isNew) tally.notSent(rows, row, 'only checked');
  else tally.duplicate(rows, row);
  return index;
}

const killedBefore =
  'the run was killed after this record was sent and before its outcome was known';

/** True for a record that an earlier part of the run settled. */
function isSettled({ earlier, tally }: WriteJob, rows: RowBlock, ordinal: number): boolean {
  if (earlier?.settled.has(ordinal) !== true) return false;
  tally.log.skipped(rows);
  return true;
}

/** A run that stops accounts for the rest of its files as not sent; an interrupted one just ends. */
async function countUnread(
  input: PeekableIterator<RowBlock>,
  { tally, runtime, earlier, map }: WriteJob,
): Promise<void> {
  const isShard = tally.counts.otherShards !== undefined;
  for await (const rows of input.until(runtime.signal)) {
    const block = isShard ? map(rows) : undefined;
    if (block) tally.otherShard(rows, block.elsewhere ?? 0);
    const ordinals = block ? ordinalsOf(block) : ordinalsIn(rows);
    const open = earlier ? ordinals.filter((at) => !earlier.settled.has(at)) : ordinals;
    tally.notRead(open.length);
  }
}

const ordinalsIn = ({ first, count, faults }: RowBlock): number[] =>
  Array.from({ length: count + faults.length }, (_, n) => first + n);

/** Of the records that a shard accounts for. */
const ordinalsOf = ({ rows, row, count, rejects, faults }: RecordBlock): number[] => [
  ...Array.from(row.subarray(0, count), (at) => ordinalOfRow(rows, at)),
  ...rejects.map((reject) => ordinalOfRow(rows, reject.row)),
  ...faults.map((fault) => ordinalOfFault(rows, fault)),
];

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
  /** Whether the whole input was processed. */
  readonly done: boolean;
  /** Error that stopped the run early, or failed it at the end. */
  readonly stopped: EngagectlError | undefined;
}

interface Parts {
  readonly job: WriteJob;
  readonly stop: RunStop;
  readonly builder: BatchBuilder;
}

/**
 * Sends the records of all rows in batches. Every row gets exactly one outcome in the tally, even if
 * the run stops early. The promise rejects only for defects.
 */
export async function writeRecords(job: WriteJob): Promise<PipelineResult> {
  const stop = new RunStop(job.runtime);
  const sender = new BatchSender(job, stop);
  const queue = new SendQueue(job, { stop, sender });
  const parts = { job, stop, builder: new BatchBuilder(job, queue) };
  const { tally } = job;
  const input = new PeekableIterator(job.rows);
  await stop.guard(() => sendAll(input, parts));
  await queue.idle();
  await stop.guard(async () => {
    for (const { rows, row } of parts.builder.drain()) tally.notSent(rows, row, stoppedBefore);
    await tally.close();
  });
  await stop.guard(async () => {
    const isLeft = stop.error !== undefined || tally.incomplete !== undefined;
    if (isLeft && !job.piped) await countUnread(input, job);
  });
  stop.close();
  tally.assertBalanced();
  const { error } = stop;
  const stopped = error ?? checkRejectLimit(job, 'end');
  const done = error === undefined && tally.incomplete === undefined;
  return { ...sender.traffic, done, stopped };
}

const stoppedBefore = 'not sent: the run stopped';

async function sendAll(input: PeekableIterator<RowBlock>, parts: Parts): Promise<void> {
  const { job, stop, builder } = parts;
  const next = async () => {
    const rows = input.take(stop.drainSignal);
    if (!job.piped) return rows;
    return whileIdle(rows, job.runtime, async (moreInput) => builder.submitAll(moreInput));
  };
  for (let rows = await next(); rows; rows = await next()) {
    await feed(rows, parts);
    if (!rows.heldBack) continue;
    // The ordinals of later inputs are known when this one is complete.
    job.tally.holdBack(rows, rows.heldBack);
    break;
  }
  await builder.finish();
}

/** Processes one block: rejects go to the tally, records to the builder. */
async function feed(rows: RowBlock, { job, stop, builder }: Parts): Promise<void> {
  const { tally, identities } = job;
  tally.log.opened(rows);
  const mapped = job.map(rows);
  const block = job.changes ? { ...mapped, unchanged: job.changes.unchanged(mapped) } : mapped;
  if (block.elsewhere !== undefined) tally.otherShard(rows, block.elsewhere);
  // A disk error stops the run, and the records of the block end as not sent.
  const commit = async () => stop.guard(async () => tally.log.commit());
  if (await rejectInvalid(block, job, commit)) await commit();
  let next = 0;
  while (next < block.count && !stop.error) {
    next = addToBatches(block, next, { job, builder });
    await builder.makeRoom();
  }
  for (; next < block.count; next += 1) {
    const row = block.row[next] ?? 0;
    if (hasOutcome(job, rows, ordinalOfRow(rows, row))) continue;
    tally.counts.read += 1;
    tally.notSent(rows, row, stoppedBefore);
  }
  stop.stopAt(checkRejectLimit(job, 'running') ?? (identities && tooManyIdentities(identities)));
}

/** Cost of a reject; see Breaks. */
const rejectUnits = 1024;
/** Maximum unwritten characters of the rejects file. */
const waitingMaximum = 1024 * 1024;

/**
 * Rejects records that cannot be parsed or violate a local rule; returns whether there were any. A
 * whole block can be invalid, and each reject can name thousands of columns, so `commit` is called
 * when many characters are waiting.
 */
async function rejectInvalid(
  { rows, rejects, faults }: RecordBlock,
  job: WriteJob,
  commit: () => Promise<void>,
): Promise<boolean> {
  const { tally } = job;
  const before = tally.counts.read;
  const breaks = new Breaks();
  for (const fault of faults) {
    if (hasOutcome(job, rows, ordinalOfFault(rows, fault))) continue;
    tally.counts.read += 1;
    tally.parseError(rows, fault);
    if (tally.rejects.waiting > waitingMaximum) await commit();
    if (breaks.areDue(rejectUnits)) await breaks.take();
  }
  for (const { row, ...reject } of rejects) {
    if (hasOutcome(job, rows, ordinalOfRow(rows, row))) continue;
    tally.counts.read += 1;
    tally.reject(rows, row, reject);
    if (tally.rejects.waiting > waitingMaximum) await commit();
    if (breaks.areDue(rejectUnits)) await breaks.take();
  }
  return tally.counts.read > before;
}

/** Adds records to batches while the builder has room. Returns the next index. */
function addToBatches(
  block: RecordBlock,
  from: number,
  { job, builder }: Pick<Parts, 'job' | 'builder'>,
): number {
  let index = from;
  while (index < block.count && builder.hasRoom) {
    if (block.unchanged?.[index] === 1) {
      index = skipUnchanged(block, index, job);
      continue;
    }
    const next = builder.add(block, index, endOfSendable(job, block, index));
    job.tally.counts.read += next - index;
    index = next === index ? index + 1 : next;
  }
  return index;
}

/** Ends unchanged records in neighboring rows, starting at `from`. Returns their end. */
function skipUnchanged({ rows, row, ...block }: RecordBlock, from: number, job: WriteJob): number {
  const first = row[from]!;
  if (hasOutcome(job, rows, ordinalOfRow(rows, first))) return from + 1;
  let end = from + 1;
  const isNext = () => block.unchanged?.[end] === 1 && row[end] === first + end - from;
  // In a resumed run, each record may already have its outcome.
  while (!job.earlier && end < block.count && isNext()) end += 1;
  job.tally.counts.read += end - from;
  job.tally.accept(rows, first, end - from, 'unchanged');
  return end;
}

/** Returns the end of the records to send, starting at `index`; `index` itself if that record got its outcome. */
function endOfSendable(job: WriteJob, block: RecordBlock, index: number): number {
  const { tally, identities, send, earlier } = job;
  const { rows, unchanged, count } = block;
  if (send && !identities && !earlier) {
    const end = unchanged?.indexOf(1, index) ?? -1;
    return end < 0 ? count : end;
  }
  const row = block.row[index] ?? 0;
  const isNew = identities === undefined || addIdentity(identities, block, index);
  const ordinal = ordinalOfRow(rows, row);
  if (hasOutcome(job, rows, ordinal)) return index;
  const wasSent = earlier?.intended.has(ordinal) === true;
  if (isNew && send && !wasSent) return index + 1;
  tally.counts.read += 1;
  if (wasSent) tally.reject(rows, row, { stage: 'unknown', error: killedBefore });
  else if (isNew) tally.notSent(rows, row, 'only checked');
  else tally.duplicate(rows, row);
  return index;
}

const killedBefore =
  'the run was killed after sending this record and before its outcome was known';

/** Whether an earlier attempt recorded an outcome for the record. */
function hasOutcome({ earlier, tally }: WriteJob, rows: RowBlock, ordinal: number): boolean {
  if (earlier?.settled.has(ordinal) !== true) return false;
  tally.log.skipped(rows);
  return true;
}

/** Counts the rest of the files as not sent when a run stops, unless it is interrupted. */
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

/** Ordinals of the records of this shard. */
const ordinalsOf = ({ rows, row, count, rejects, faults }: RecordBlock): number[] => [
  ...Array.from(row.subarray(0, count), (at) => ordinalOfRow(rows, at)),
  ...rejects.map((reject) => ordinalOfRow(rows, reject.row)),
  ...faults.map((fault) => ordinalOfFault(rows, fault)),
];

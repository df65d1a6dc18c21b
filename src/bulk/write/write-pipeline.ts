import { PeekableIterator, whileIdle } from '../peekable-iterator.js';
import { ordinalOfParseError, ordinalOfRow } from '../outcomes/ordinal-set.js';
import { BatchBuilder } from './batch-builder.js';
import { RunStop, checkRejectLimit } from './stop-conditions.js';
import { Breaks } from '../../event-loop.js';
import { addIdentity, tooManyIdentities } from './deduplication.js';
import { SendQueue } from './send-queue.js';
import { BatchSender } from './batch-sender.js';
import { skipReason } from '../outcomes/outcome-counts.js';
import { EngagectlError } from '../../errors.js';
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
    // Of a run that lists what it read and did not send, the error says how many records it read.
    const isListed = stop.error !== undefined && tally.listsNotSent;
    if (isLeft && !job.piped && !isListed) await countUnread(input, job);
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
  const head = job.events?.head || job.namedColumns ? new Head(parts) : undefined;
  const next = async () => {
    const rows = input.take(stop.drainSignal);
    if (!job.piped) return rows;
    return whileIdle(rows, job.runtime, async (moreInput) => {
      await head?.end('idle');
      await builder.submitAll(moreInput);
    });
  };
  for (let rows = await next(); rows; rows = await next()) {
    if (head?.isOpen) await head.add(rows);
    else await feed(rows, parts);
    if (!rows.heldBack) continue;
    await head?.end('ended');
    // The ordinals of later inputs are known when this one is complete.
    job.tally.holdBack(rows, rows.heldBack);
    break;
  }
  await head?.end('ended');
  await builder.finish();
}

/** Maximum records of the head, and their maximum bytes. */
export const headRecords = 1000;
const headBytes = 16 * 1024 * 1024;

/**
 * The first records of an input, of which none is sent if another run sent one of their events, also with other times,
 * or if options name a column that none of them has.
 */
class Head {
  isOpen = true;
  readonly #parts: Parts;
  readonly #blocks: RowBlock[] = [];
  #records = 0;
  #bytes = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Adds a block, and ends the head if it is complete. */
  async add(rows: RowBlock): Promise<void> {
    const { namedColumns } = this.#parts.job;
    this.#blocks.push(rows);
    const hasEvents = this.#hasEvents(rows);
    const hasColumns = namedColumns?.look(rows) ?? true;
    this.#records += Math.min(headRecords - this.#records, rows.count + rows.parseErrors.length);
    this.#bytes += rows.bytes.length + (rows.cells?.bounds.byteLength ?? 0);
    if (this.#records === headRecords || this.#bytes >= headBytes) await this.end('full');
    else if (hasColumns && !this.#parts.job.events?.head) await this.end('full');
    // Profiles need not wait for the event memory.
    else if (hasColumns && !hasEvents && this.#blocks.length === 1)
      await feed(this.#blocks.pop()!, this.#parts);
  }

  /** Looks the events of a block up; returns whether it has any. */
  #hasEvents(rows: RowBlock): boolean {
    const { events } = this.#parts.job;
    try {
      return events?.head?.look(rows, headRecords - this.#records) ?? false;
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /** Counts all records as not read: none of them was sent. */
  #refuse(error: unknown): never {
    for (const rows of this.#blocks) this.#parts.job.tally.notRead(ordinalsIn(rows).length);
    throw error;
  }

  /**
   * Sends the records of the head, because it is complete, the input has ended or a pipe is idle, which may still
   * deliver a missing column. Throws E-ALREADY-SENT, E-COLUMN-MISSING.
   */
  async end(reason: 'full' | 'ended' | 'idle'): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    const { events, namedColumns } = this.#parts.job;
    const records = reason === 'ended' ? undefined : this.#records;
    const refusal =
      (reason === 'idle' ? undefined : namedColumns?.refusal(records)) ??
      events?.head?.refusal(this.#records);
    if (refusal) this.#refuse(refusal);
    for (const rows of this.#blocks.splice(0)) await feed(rows, this.#parts);
  }
}

/** Processes one block: rejects go to the tally, records to the builder. */
async function feed(rows: RowBlock, { job, stop, builder }: Parts): Promise<void> {
  const { tally, identities } = job;
  tally.log.opened(rows);
  // A disk error stops the run, and the records of the block end as not sent.
  const commit = async () => stop.guard(async () => tally.log.commit());
  const block = withSkips(await mapOrEnd(rows, job, commit), job);
  if (block.elsewhere !== undefined) tally.otherShard(rows, block.elsewhere);
  if (await rejectInvalid(block, job, commit)) await commit();
  let next = 0;
  while (next < block.count && !stop.error) {
    next = addToBatches(block, next, { job, builder });
    await builder.makeRoom();
  }
  for (; next < block.count; next += 1) endUnsent(rows, block.row[next] ?? 0, job);
  stop.stopAt(checkRejectLimit(job, 'running') ?? (identities && tooManyIdentities(identities)));
}

/** Ends a row that was read and is not sent, because the run stopped. */
function endUnsent(rows: RowBlock, row: number, job: WriteJob): void {
  if (hasOutcome(job, rows, ordinalOfRow(rows, row))) return;
  job.tally.counts.read += 1;
  job.tally.notSent(rows, row, stoppedBefore);
}

/** Maps a block. If reading stops at a line of it, as at the header of another file, the records above end first. */
async function mapOrEnd(
  rows: RowBlock,
  job: WriteJob,
  commit: () => Promise<void>,
): Promise<RecordBlock> {
  try {
    return job.map(rows);
  } catch (error) {
    const line = error instanceof EngagectlError ? error.details.line : undefined;
    // Without the mapping it is unknown which records are of this shard.
    if (line !== undefined && job.tally.counts.otherShards === undefined)
      await endAbove(line, rows, { job, commit });
    throw error;
  }
}

/** Ends the records above a line as invalid or not sent, and counts the others of a file as not read. */
async function endAbove(
  line: number,
  rows: RowBlock,
  { job, commit }: { readonly job: WriteJob; readonly commit: () => Promise<void> },
): Promise<void> {
  const parseErrors = rows.parseErrors.filter((parseError) => parseError.line < line);
  await rejectInvalid({ rows, rejects: [], parseErrors }, job, commit);
  let row = 0;
  for (; row < rows.count && rows.lines[row]! < line; row += 1) endUnsent(rows, row, job);
  const left = rows.count - row + rows.parseErrors.length - parseErrors.length;
  if (!job.piped) job.tally.notRead(left);
}

/** Marks the records that need not be sent. */
function withSkips(block: RecordBlock, { changes, events }: WriteJob): RecordBlock {
  if (!changes && !events) return block;
  const unchanged = changes?.unchanged(block);
  const { skip = unchanged ?? block.skip, fingerprints } = events?.skip(block) ?? {};
  if (skip && unchanged && skip !== unchanged) {
    for (const [index, is] of unchanged.entries()) if (is) skip[index] = skipReason.unchanged;
  }
  return { ...block, skip, fingerprints };
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
  { rows, rejects, parseErrors }: Pick<RecordBlock, 'rows' | 'rejects' | 'parseErrors'>,
  job: WriteJob,
  commit: () => Promise<void>,
): Promise<boolean> {
  const { tally } = job;
  const before = tally.counts.read;
  const breaks = new Breaks();
  for (const parseError of parseErrors) {
    if (hasOutcome(job, rows, ordinalOfParseError(rows, parseError))) continue;
    tally.counts.read += 1;
    tally.parseError(rows, parseError);
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
    if (block.skip?.[index]) {
      index = skipRecords(block, index, job);
      continue;
    }
    const next = builder.add(block, index, endOfSendable(job, block, index));
    job.tally.counts.read += next - index;
    index = next === index ? index + 1 : next;
  }
  return index;
}

/** Ends records in neighboring rows that are skipped for the same reason, from `from` on. Returns their end. */
function skipRecords(block: RecordBlock, from: number, { tally, ...job }: WriteJob): number {
  const { rows, row, skip, count } = block;
  const first = row[from]!;
  const reason = skip![from];
  const ordinal = ordinalOfRow(rows, first);
  if (hasOutcome({ ...job, tally }, rows, ordinal)) return from + 1;
  if (reason === skipReason.unreported || job.earlier?.intended.has(ordinal)) {
    tally.counts.read += 1;
    tally.reject(rows, first, { stage: 'unknown', error: killedBefore });
    return from + 1;
  }
  let end = from + 1;
  const isNext = () => skip![end] === reason && row[end] === first + end - from;
  // In a resumed run, each record may already have its outcome.
  while (!job.earlier && end < count && isNext()) end += 1;
  tally.counts.read += end - from;
  if (reason === skipReason.unchanged) tally.accept(rows, first, end - from, 'unchanged');
  else tally.alreadySent(rows, first, end - from);
  return end;
}

/** Returns the end of the records to send, starting at `index`; `index` itself if that record got its outcome. */
function endOfSendable(job: WriteJob, block: RecordBlock, index: number): number {
  const { tally, identities, send, earlier } = job;
  const { rows, skip, count } = block;
  if (send && !identities && !earlier) {
    let end = skip ? index : count;
    while (end < count && skip![end] === 0) end += 1;
    return end;
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

const killedBefore = 'a run was killed after sending this record and before its outcome was known';

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

const ordinalsIn = ({ first, count, parseErrors }: RowBlock): number[] =>
  Array.from({ length: count + parseErrors.length }, (_, n) => first + n);

/** Ordinals of the records of this shard. */
const ordinalsOf = ({ rows, row, count, rejects, parseErrors }: RecordBlock): number[] => [
  ...Array.from(row.subarray(0, count), (at) => ordinalOfRow(rows, at)),
  ...rejects.map((reject) => ordinalOfRow(rows, reject.row)),
  ...parseErrors.map((parseError) => ordinalOfParseError(rows, parseError)),
];

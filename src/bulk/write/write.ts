import type { EngagectlError } from '../../errors.js';
import type { RowBlock } from '../../input/rows.js';
import type { RecordBlock } from '../../mapping/records.js';
import { Filler } from './filler.js';
import { firstRecords } from './first-records.js';
import { seeIdentity, tooManyIdentities } from './identities.js';
import { Halt } from './halt.js';
import { Interruptible } from '../interruptible.js';
import { ordinalOfFault, ordinalOfRow } from '../run/ordinals.js';
import { rejectLimitReached } from './reject-limit.js';
import { Sender } from './sender.js';
import { Settler } from './settler.js';
import { withSilence } from './silence.js';
import type { Traffic, WriteJob } from './write-job.js';

export interface WriteResult extends Traffic {
  /** The whole input was worked through. */
  readonly done: boolean;
  /** Why the run ended before its input did, or failed at its end. */
  readonly stopped: EngagectlError | undefined;
}

/** A run under way: what it came to, and its figures for whoever watches. */
export interface WriteRun {
  readonly result: Promise<WriteResult>;
  inFlight(): number;
}

/**
 * Sends the records of all rows in batches. Every row ends in the tally as exactly one
 * outcome, also when the run stops early. The result rejects only for defects.
 */
export function write(job: WriteJob): WriteRun {
  const halt = new Halt(job.runtime);
  const settler = new Settler(job, halt);
  const sender = new Sender(job, { halt, settler });
  const filler = new Filler(job, sender);
  return {
    result: run({ job, halt, sender, filler }).then((ended) => ({ ...settler.traffic, ...ended })),
    inFlight: () => settler.gate.inFlight,
  };
}

interface Parts {
  readonly job: WriteJob;
  readonly halt: Halt;
  readonly sender: Sender;
  readonly filler: Filler;
}

async function run({
  job,
  halt,
  sender,
  filler,
}: Parts): Promise<Pick<WriteResult, 'done' | 'stopped'>> {
  const { tally } = job;
  const input = new Interruptible(
    job.limit === undefined ? job.rows : firstRecords(job.rows, job.limit),
  );
  await halt.guard(async () => {
    const blocks = input.until(halt.stopping);
    const whileSilent = async (heard: AbortSignal) => filler.submitAll(heard);
    for await (const rows of job.piped ? withSilence(blocks, job.runtime, whileSilent) : blocks) {
      await feed(rows, { job, halt, sender, filler });
    }
    await filler.finish();
  });
  await sender.idle();
  await halt.guard(async () => {
    for (const { rows, row } of filler.drain()) {
      tally.notSent(rows, row, 'not sent: the run stopped');
    }
    await tally.close();
  });
  await halt.guard(async () => {
    if (halt.error && !job.piped) await countUnread(input, job);
  });
  halt.close();
  tally.assertBalanced();
  const { error } = halt;
  return { done: error === undefined, stopped: error ?? rejectLimitReached(job, 'end') };
}

/** One block: its faults and rejects to the tally, its records to the filler. */
async function feed(rows: RowBlock, { job, halt, filler }: Parts): Promise<void> {
  const { tally } = job;
  tally.log?.opened(rows);
  const block = job.map(rows);
  // A disk that does not take it stops the run; then the block's records end as not sent.
  if (turnDownUnsendable(rows, block, job)) await halt.guard(async () => tally.commit());
  let next = 0;
  while (next < block.count && !halt.error) {
    next = fill(block, next, { job, filler });
    await filler.makeRoom();
  }
  for (; next < block.count; next += 1) {
    if (isSettled(job, rows, ordinalOfRow(...source(block, next)))) continue;
    tally.counts.read += 1;
    tally.notSent(...source(block, next), 'not sent: the run stopped');
  }
  halt.stopAt(rejectLimitReached(job, 'running') ?? (job.seen && tooManyIdentities(job.seen)));
}

/** Records that cannot be read or break a local rule; true when there were any. */
function turnDownUnsendable(rows: RowBlock, block: RecordBlock, job: WriteJob): boolean {
  const { tally } = job;
  const before = tally.counts.read;
  for (const fault of rows.faults) {
    if (isSettled(job, rows, ordinalOfFault(rows, fault))) continue;
    tally.counts.read += 1;
    tally.fault(rows, fault);
  }
  for (const { row, stage, error } of block.rejects) {
    if (isSettled(job, rows, ordinalOfRow(rows, row))) continue;
    tally.counts.read += 1;
    tally.turnDown(rows, row, { stage, error });
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
    const next = filler.add(block, index, endOfSendable(job, block, index));
    job.tally.counts.read += next - index;
    index = next === index ? index + 1 : next;
  }
  return index;
}

/** End of the records from `index` on that are to be sent: `index` when that one has its outcome. */
function endOfSendable(job: WriteJob, block: RecordBlock, index: number): number {
  const { tally, seen, send, earlier } = job;
  if (send && !seen && !earlier) return block.count;
  const isNew = seen === undefined || seeIdentity(seen, block, index);
  if (earlier && wasSent(job, block, index)) return index;
  if (isNew && send) return index + 1;
  tally.counts.read += 1;
  if (isNew) tally.notSent(...source(block, index), 'only checked');
  else tally.duplicate(...source(block, index));
  return index;
}

/** True for a record that an earlier part of the run settled, or may have sent and must not repeat. */
function wasSent(job: WriteJob, block: RecordBlock, index: number): boolean {
  const [rows, row] = source(block, index);
  const ordinal = ordinalOfRow(rows, row);
  if (isSettled(job, rows, ordinal)) return true;
  if (job.retryUnknown || job.earlier?.intended.has(ordinal) !== true) return false;
  const error = 'the run was killed after this record was sent and before its outcome was known';
  job.tally.counts.read += 1;
  job.tally.turnDown(rows, row, { stage: 'unknown', error });
  return true;
}

function isSettled({ earlier, tally }: WriteJob, rows: RowBlock, ordinal: number): boolean {
  if (earlier?.settled.has(ordinal) !== true) return false;
  tally.log?.skipped(rows);
  return true;
}

const source = ({ rows, row }: RecordBlock, index: number): [rows: RowBlock, row: number] => [
  rows,
  row[index] ?? 0,
];

/** A run that stops accounts for the rest of its files as not sent; an interrupted one just ends. */
async function countUnread(
  input: Interruptible<RowBlock>,
  { tally, runtime, earlier }: WriteJob,
): Promise<void> {
  for await (const { first, count, faults } of input.until(runtime.signal)) {
    const ordinals = Array.from({ length: count + faults.length }, (_, n) => first + n);
    const open = earlier ? ordinals.filter((at) => !earlier.settled.has(at)) : ordinals;
    tally.notRead(open.length);
  }
}

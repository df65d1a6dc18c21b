import type { EngagectlError } from '../errors.js';
import type { RowBlock } from '../input/rows.js';
import type { RecordBlock } from '../mapping/records.js';
import { Filler } from './filler.js';
import { firstRecords } from './first-records.js';
import { identityAt, tooManyIdentities } from './identities.js';
import { Halt } from './halt.js';
import { Interruptible } from './interruptible.js';
import { rejectLimitReached } from './reject-limit.js';
import { Sender } from './sender.js';
import { Settler } from './settler.js';
import type { Traffic, WriteJob } from './write-job.js';

export interface WriteResult extends Traffic {
  /** Why the run ended before its input did, or failed at its end. */
  readonly stopped: EngagectlError | undefined;
}

/** A run under way: what it came to, and its figures for whoever watches. */
export interface WriteRun {
  readonly result: Promise<WriteResult>;
  inFlight(): number;
}

/**
 * Sends the records of all rows in batches. Every row ends in the account as exactly one
 * outcome, also when the run stops early. The result rejects only for defects.
 */
export function write(job: WriteJob): WriteRun {
  const halt = new Halt(job.runtime);
  const settler = new Settler(job, halt);
  const sender = new Sender(job, { halt, settler });
  const filler = new Filler(job, sender);
  return {
    result: run({ job, halt, sender, filler }).then((stopped) => ({ ...settler.traffic, stopped })),
    inFlight: () => settler.gate.inFlight,
  };
}

interface Parts {
  readonly job: WriteJob;
  readonly halt: Halt;
  readonly sender: Sender;
  readonly filler: Filler;
}

async function run({ job, halt, sender, filler }: Parts): Promise<EngagectlError | undefined> {
  const { account } = job;
  const input = new Interruptible(
    job.limit === undefined ? job.rows : firstRecords(job.rows, job.limit),
  );
  await halt.guard(async () => {
    for await (const rows of input.until(halt.stopping)) {
      await feed(rows, { job, halt, sender, filler });
    }
    await filler.finish();
  });
  await sender.idle();
  await halt.guard(async () => {
    for (const record of filler.drain()) account.notSent(record, 'not sent: the run stopped');
    if (halt.error && job.countUnread) await countUnread(input, job);
    account.rejects.close();
  });
  halt.close();
  account.assertBalanced();
  return halt.error ?? rejectLimitReached(job, 'end');
}

/** One block: its faults and rejects to the account, its records to the filler. */
async function feed(rows: RowBlock, { job, halt, filler }: Parts): Promise<void> {
  const { account } = job;
  account.counts.read += rows.count + rows.faults.length;
  for (const fault of rows.faults) account.fault(rows.source, fault);
  const block = job.map(rows);
  for (const { row, stage, error } of block.rejects) account.turnDown(rows, row, { stage, error });
  let next = 0;
  while (next < block.count && !halt.error) {
    next = fill(block, next, { job, filler });
    await filler.makeRoom();
  }
  for (; next < block.count; next += 1) {
    account.notSent(source(block, next), 'not sent: the run stopped');
  }
  account.rejects.flush();
  halt.stopAt(rejectLimitReached(job, 'running') ?? (job.seen && tooManyIdentities(job.seen)));
}

/** Gives records to the filler until it wants to make room; returns the next index. */
function fill(
  block: RecordBlock,
  from: number,
  { job, filler }: Pick<Parts, 'job' | 'filler'>,
): number {
  for (let index = from; index < block.count; index += 1) {
    if (job.seen?.add(identityAt(block, index)) === false) job.account.duplicate();
    else if (job.send === undefined) job.account.notSent(source(block, index), 'only checked');
    else if (!filler.add(block, index)) return index + 1;
  }
  return block.count;
}

const source = ({ rows, row }: RecordBlock, index: number) => ({ rows, row: row[index] ?? 0 });

/** A run that stops accounts for the rest of its files as not sent; an interrupted one just ends. */
async function countUnread(
  input: Interruptible<RowBlock>,
  { account, runtime }: WriteJob,
): Promise<void> {
  for await (const { count, faults } of input.until(runtime.signal)) {
    account.notRead(count + faults.length);
  }
}

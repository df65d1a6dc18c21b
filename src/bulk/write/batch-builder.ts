import { noKey, batchRecord, type Batch, type BatchRecord } from './batch.js';
import { PerKeyOrder } from './per-key-order.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { SendQueue } from './send-queue.js';
import type { WriteJob } from './write-job.js';

/** Kinds of records that never share a request, as in RecordBlock.kinds. */
const kinds = { profile: 0, event: 1 } as const;

type FillerJob = Pick<WriteJob, 'request' | 'order' | 'budget' | 'option' | 'warn'>;
/** Where batches go. */
type BatchSink = Pick<
  SendQueue,
  'takeBatch' | 'submit' | 'open' | 'nextSettled' | 'idle' | 'isStopped' | 'onSettled'
>;

/**
 * Puts records into batches and hands full ones to the sender. Profiles and events never share
 * a batch; of records whose key is still under way, only the first is in one.
 */
export class BatchBuilder {
  readonly #job: FillerJob;
  readonly #sender: BatchSink;
  readonly #window = new PerKeyOrder();
  readonly #filling = new Map<number, Batch>();
  readonly #full: Batch[] = [];
  #warned = false;

  constructor(job: FillerJob, sender: BatchSink) {
    this.#job = job;
    this.#sender = sender;
    sender.onSettled = (batch) => {
      if (batch.keys[0] !== noKey) this.#window.settle(batch.keys, batch.size);
    };
  }

  /** False: wait for `makeRoom` before the next record. */
  get hasRoom(): boolean {
    return this.#full.length === 0 && !this.#window.hasReady && !this.#window.isFull;
  }

  /** Takes records `from` to `to` while there is room; returns the first one not taken. */
  add(block: RecordBlock, from: number, to: number): number {
    let next = from;
    while (next < to && this.hasRoom) {
      const end = this.#addRun(block, next, to);
      if (end === next) this.#window.hold(batchRecord(block, next));
      next = Math.max(end, next + 1);
    }
    return next;
  }

  /** Adds the longest run that can go into one batch as it is; returns its end. */
  #addRun(block: RecordBlock, from: number, to: number): number {
    const kind = block.kinds[from] ?? kinds.profile;
    const batch = this.#batchFor(
      kind,
      (block.bounds[2 * from + 1] ?? 0) - (block.bounds[2 * from] ?? 0),
    );
    const room = this.#job.request.records - batch.size;
    const bytes = this.#job.request.bytes - batch.bytesWith(0);
    const neighbours = endOfNeighbours(block, from, Math.min(to, from + room), bytes);
    const ordered = this.#job.order === 'key' && kind !== kinds.event; // events have no order
    const end = ordered ? this.#window.admit(block.keys, from, neighbours) : neighbours;
    if (end > from) batch.addRun(block, from, end, ordered);
    if (batch.size === this.#job.request.records) this.#seal(kind, batch);
    return end;
  }

  /** Submits what is full, and waits while the window is. Returns at once when the run stops. */
  makeRoom(): Promise<void> {
    return this.#submitUntil(() => !this.#window.isFull);
  }

  /** Submits everything that is left, held records included, and waits until it is settled. */
  async finish(): Promise<void> {
    await this.#submitUntil(() => this.#window.heldCount === 0 && this.#filling.size === 0);
    await this.#sender.idle();
  }

  /** Submits full batches and, until it is `enough`, others as well. */
  async #submitUntil(enough: () => boolean): Promise<void> {
    while (!this.#sender.isStopped) {
      this.#putReady();
      if (this.#full.length > 0) await this.#submitFull();
      else if (enough()) return;
      else await this.#submitRestOrWait();
    }
  }

  /** Submits whatever there is, as slots become free, until more input is heard. */
  async submitAll(heard: AbortSignal): Promise<void> {
    const more = new Promise<void>((resolve) => {
      heard.addEventListener('abort', () => resolve(), { once: true });
    });
    while (!heard.aborted && !this.#sender.isStopped) {
      this.#putReady();
      const [first] = this.#filling;
      const isFree = this.#sender.open < this.#job.budget.most;
      if (isFree && first) this.#seal(...first);
      if (this.#full.length > 0) await this.#submitFull();
      else if (this.#sender.open > 0) await Promise.race([this.#sender.nextSettled(), more]);
      else return;
    }
  }

  /** The records that were taken and never submitted, for the tally of a run that stopped. */
  *drain(): Generator<BatchRecord> {
    for (const batch of [...this.#full.splice(0), ...this.#filling.values()]) {
      for (const position of batch.positions()) yield batch.record(position);
    }
    this.#filling.clear();
    yield* this.#window.drain();
  }

  /** The batch being filled, with room for one more record of so many bytes. */
  #batchFor(kind: number, bytes: number): Batch {
    const filling = this.#filling.get(kind);
    if (filling && filling.bytesWith(bytes) <= this.#job.request.bytes) return filling;
    if (filling) this.#seal(kind, filling);
    const batch = this.#sender.takeBatch();
    batch.holdsEvents = kind === kinds.event;
    this.#filling.set(kind, batch);
    return batch;
  }

  #seal(kind: number, batch: Batch): void {
    this.#full.push(batch);
    this.#filling.delete(kind);
  }

  /** Only records with an order are ever held, and those are no events. */
  #putReady(): void {
    for (const record of this.#window.takeReady()) {
      const batch = this.#batchFor(kinds.profile, record.end - record.start);
      batch.add(record);
      if (batch.size === this.#job.request.records) this.#seal(kinds.profile, batch);
    }
  }

  async #submitFull(): Promise<void> {
    for (let batch = this.#full[0]; batch; batch = this.#full[0]) {
      if (!(await this.#sender.submit(batch))) return;
      this.#full.shift();
    }
  }

  /**
   * Held records wait for a key in flight. A part-filled batch goes out when nothing is held, or
   * when nothing is in flight any more that could fill it up: so a few hot keys cost one small
   * request per round trip, and not one per key.
   */
  async #submitRestOrWait(): Promise<void> {
    this.#warnOfHotKeys();
    if (this.#window.heldCount > 0 && this.#sender.open > 0) return this.#sender.nextSettled();
    for (const [kind, batch] of this.#filling) this.#seal(kind, batch);
    await this.#submitFull();
  }

  #warnOfHotKeys(): void {
    if (this.#warned || this.#window.heldCount < manyHeld) return;
    this.#warned = true;
    this.#job.warn(
      `slow input: ${this.#window.heldCount} records wait for earlier ones of the same key; ` +
        `each key has one record in flight at a time (${this.#job.option('order', 'none')} opts out)`,
    );
  }
}

/** End of the records of one kind, at least one, that lie one byte apart and are not longer together. */
function endOfNeighbours(
  { kinds, bounds }: RecordBlock,
  from: number,
  to: number,
  bytes: number,
): number {
  const kind = kinds[from];
  const mostEnd = (bounds[2 * from] ?? 0) + bytes;
  let end = from + 1;
  while (
    end < to &&
    kinds[end] === kind &&
    bounds[2 * end] === (bounds[2 * end - 1] ?? 0) + 1 &&
    (bounds[2 * end + 1] ?? 0) <= mostEnd
  ) {
    end += 1;
  }
  return end;
}

/** Records held back from which on it is worth saying: they take up to as many round trips. */
const manyHeld = 1000;

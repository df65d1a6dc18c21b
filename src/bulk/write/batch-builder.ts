import { noKey, batchRecord, type Batch, type BatchRecord } from './batch.js';
import { PerKeyOrder } from './per-key-order.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { SendQueue } from './send-queue.js';
import type { WriteJob } from './write-job.js';

/** Record kinds of RecordBlock.kinds, which never share a request. */
const kinds = { profile: 0, event: 1 } as const;

type BuilderJob = Pick<WriteJob, 'request' | 'order' | 'limiter' | 'option' | 'warn'>;
/** Receives full batches. */
type BatchSink = Pick<
  SendQueue,
  'takeBatch' | 'submit' | 'open' | 'nextCompleted' | 'idle' | 'isStopped' | 'onCompleted'
>;

/**
 * Collects records in batches and submits full ones. Profiles and events never share a batch, and a
 * record is held back while an earlier one of its key is in flight.
 */
export class BatchBuilder {
  readonly #job: BuilderJob;
  readonly #sender: BatchSink;
  readonly #order = new PerKeyOrder();
  readonly #filling = new Map<number, Batch>();
  readonly #full: Batch[] = [];
  #warned = false;

  constructor(job: BuilderJob, sender: BatchSink) {
    this.#job = job;
    this.#sender = sender;
    sender.onCompleted = (batch) => {
      if (batch.keys[0] === noKey) return;
      this.#order.release(batch.keys, batch.size);
      const others = Int32Array.from([...batch.otherKeys.values()].flatMap((keys) => [...keys]));
      if (others.length > 0) this.#order.release(others, others.length);
    };
  }

  /** If false, await `makeRoom` before adding records. */
  get hasRoom(): boolean {
    return this.#full.length === 0 && !this.#order.hasReady && !this.#order.isFull;
  }

  /** Adds records `from` to `to` while there is room. Returns the first index not added. */
  add(block: RecordBlock, from: number, to: number): number {
    let next = from;
    while (next < to && this.hasRoom) {
      const end = this.#addRun(block, next, to);
      if (end === next) this.#order.hold(batchRecord(block, next));
      next = Math.max(end, next + 1);
    }
    return next;
  }

  /** Adds the longest run that fits the current batch unchanged. Returns its end. */
  #addRun(block: RecordBlock, from: number, to: number): number {
    const kind = block.kinds[from] ?? kinds.profile;
    const batch = this.#batchFor(
      kind,
      (block.bounds[2 * from + 1] ?? 0) - (block.bounds[2 * from] ?? 0),
    );
    const room = this.#job.request.records - batch.size;
    const bytes = this.#job.request.bytes - batch.bytesWith(0);
    const likeKeyed = endOfLikeKeyed(block, from, Math.min(to, from + room));
    const neighbors = endOfNeighbors(block, from, likeKeyed, bytes);
    const ordered = this.#job.order === 'key' && kind !== kinds.event; // events are not ordered
    const end = ordered ? this.#admit(block, from, neighbors) : neighbors;
    if (end > from) batch.addRun(block, from, end, ordered);
    this.#sealIfFull(kind, batch);
    return end;
  }

  /** Admits records until one must be held; returns its index, or `to`. */
  #admit({ keys, otherKeys }: RecordBlock, from: number, to: number): number {
    const others = otherKeys?.get(from);
    if (!others) return this.#order.admit(keys, from, to);
    return this.#order.admitOne([keys[from]!, ...others]) ? to : from;
  }

  /** Submits full batches, and waits while too many records are held. Returns at once if the run stops. */
  makeRoom(): Promise<void> {
    return this.#submitUntil(() => !this.#order.isFull);
  }

  /** Submits all remaining records, and waits until each has its outcome. */
  async finish(): Promise<void> {
    await this.#submitUntil(() => this.#order.heldCount === 0 && this.#filling.size === 0);
    await this.#sender.idle();
  }

  /** Submits full batches, then partial ones until `isDone`. */
  async #submitUntil(isDone: () => boolean): Promise<void> {
    while (!this.#sender.isStopped) {
      this.#putReady();
      if (this.#full.length > 0) await this.#submitFull();
      else if (isDone()) return;
      else await this.#submitRestOrWait();
    }
  }

  /** Submits partial batches while slots are free, until the signal reports more input. */
  async submitAll(moreInput: AbortSignal): Promise<void> {
    const more = new Promise<void>((resolve) => {
      moreInput.addEventListener('abort', () => resolve(), { once: true });
    });
    while (!moreInput.aborted && !this.#sender.isStopped) {
      this.#putReady();
      const [first] = this.#filling;
      const isFree = this.#sender.open < this.#job.limiter.most;
      if (isFree && first) this.#seal(...first);
      if (this.#full.length > 0) await this.#submitFull();
      else if (this.#sender.open > 0) await Promise.race([this.#sender.nextCompleted(), more]);
      else return;
    }
  }

  /** Removes and yields the records that were never submitted, when a run stops. */
  *drain(): Generator<BatchRecord> {
    for (const batch of [...this.#full.splice(0), ...this.#filling.values()]) {
      for (const position of batch.positions()) yield batch.record(position);
    }
    this.#filling.clear();
    yield* this.#order.drain();
  }

  /** Returns the batch being filled, with room for a record of `bytes` bytes. */
  #batchFor(kind: number, bytes: number): Batch {
    const filling = this.#filling.get(kind);
    if (filling && filling.bytesWith(bytes) <= this.#job.request.bytes) return filling;
    if (filling) this.#seal(kind, filling);
    const batch = this.#sender.takeBatch();
    batch.holdsEvents = kind === kinds.event;
    this.#filling.set(kind, batch);
    return batch;
  }

  #sealIfFull(kind: number, batch: Batch): void {
    if (batch.size === this.#job.request.records || batch.hasManyRowBytes) this.#seal(kind, batch);
  }

  #seal(kind: number, batch: Batch): void {
    this.#full.push(batch);
    this.#filling.delete(kind);
  }

  /** Adds released records to the profile batch. Events are never held. */
  #putReady(): void {
    for (const record of this.#order.takeReady()) {
      const batch = this.#batchFor(kinds.profile, record.end - record.start);
      batch.add(record);
      this.#sealIfFull(kinds.profile, batch);
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
    if (this.#order.heldCount > 0 && this.#sender.open > 0) return this.#sender.nextCompleted();
    for (const [kind, batch] of this.#filling) this.#seal(kind, batch);
    await this.#submitFull();
  }

  #warnOfHotKeys(): void {
    if (this.#warned || this.#order.heldCount < manyHeld) return;
    this.#warned = true;
    this.#job.warn(
      `slow input: ${this.#order.heldCount} records wait for earlier ones of the same key; ` +
        `each key has one record in flight at a time (${this.#job.option('order', 'none')} opts out)`,
    );
  }
}

/** Returns the end of the records of one kind, at least one, that are adjacent and fit in `bytes`. */
function endOfNeighbors(
  { kinds, bounds }: RecordBlock,
  from: number,
  to: number,
  bytes: number,
): number {
  const kind = kinds[from];
  const maximumEnd = (bounds[2 * from] ?? 0) + bytes;
  let end = from + 1;
  while (
    end < to &&
    kinds[end] === kind &&
    bounds[2 * end] === (bounds[2 * end - 1] ?? 0) + 1 &&
    (bounds[2 * end + 1] ?? 0) <= maximumEnd
  ) {
    end += 1;
  }
  return end;
}

/** Returns the end of the records with one key. A record with several is alone. */
function endOfLikeKeyed({ otherKeys }: RecordBlock, from: number, to: number): number {
  if (!otherKeys) return to;
  let end = from + 1;
  if (!otherKeys.has(from)) while (end < to && !otherKeys.has(end)) end += 1;
  return end;
}

/** Held records that trigger a warning: they can need as many round trips. */
const manyHeld = 1000;

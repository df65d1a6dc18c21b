import type { RecordBlock } from '../mapping/records.js';
import { Batch, recordBytes } from './batch.js';
import type { Sender } from './sender.js';
import { Window, type Item } from './window.js';
import type { WriteJob } from './write-job.js';

/**
 * Puts records into batches and hands full ones to the sender. Profiles and events never share
 * a batch; of records whose key is still under way, only the first is in one.
 */
export class Filler {
  readonly #job: WriteJob;
  readonly #sender: Sender;
  readonly #window = new Window();
  readonly #filling = [new Batch(), new Batch()];
  readonly #full: Batch[] = [];
  #warned = false;

  constructor(job: WriteJob, sender: Sender) {
    this.#job = job;
    this.#sender = sender;
    sender.onSettled = (batch) => {
      const { block, index } = batch.item(0);
      if (this.#isOrdered(block, index)) this.#window.settle(batch.keys());
    };
  }

  /** Takes a record. False: wait for `makeRoom` before the next one. */
  add(block: RecordBlock, index: number): boolean {
    if (!this.#isOrdered(block, index) || this.#window.admit(block, index)) {
      this.#put(block, index);
    }
    return this.#full.length === 0 && !this.#window.hasReady && !this.#window.isFull;
  }

  /** Submits what is full, and waits while the window is. Returns at once when the run stops. */
  async makeRoom(): Promise<void> {
    while (!this.#sender.halt.error) {
      this.#putReady();
      if (this.#full.length > 0) await this.#submitFull();
      else if (!this.#window.isFull) return;
      else await this.#submitRestOrWait();
    }
  }

  /** Submits everything that is left, held records included, and waits until it is settled. */
  async finish(): Promise<void> {
    while (!this.#sender.halt.error) {
      this.#putReady();
      if (this.#full.length > 0) await this.#submitFull();
      else if (this.#isEmpty) break;
      else await this.#submitRestOrWait();
    }
    await this.#sender.idle();
  }

  /** The records that were taken and never submitted, for the account of a run that stopped. */
  *drain(): Generator<Item> {
    for (const batch of [...this.#full.splice(0), ...this.#filling]) yield* batch.items();
    yield* this.#window.drain();
  }

  /** Events have no order. */
  #isOrdered(block: RecordBlock, index: number): boolean {
    return this.#job.order === 'key' && block.kinds[index] !== 1;
  }

  get #isEmpty(): boolean {
    return (
      this.#window.heldCount === 0 &&
      !this.#window.hasReady &&
      this.#filling.every(({ size }) => size === 0)
    );
  }

  #put(block: RecordBlock, index: number): void {
    const kind = block.kinds[index] ?? 0;
    const { batchRecords, batchBytes, frame } = this.#job;
    const room = batchBytes - frame.open.length - frame.close.length;
    let batch = this.#filling[kind] ?? new Batch();
    if (batch.size > 0 && batch.bytes + recordBytes(block, index) > room) {
      this.#full.push(batch);
      batch = this.#filling[kind] = new Batch();
    }
    batch.add(block, index);
    if (batch.size < batchRecords) return;
    this.#full.push(batch);
    this.#filling[kind] = new Batch();
  }

  #putReady(): void {
    for (let item = this.#window.takeReady(); item; item = this.#window.takeReady()) {
      this.#put(item.block, item.index);
    }
  }

  async #submitFull(): Promise<void> {
    for (let batch = this.#full.shift(); batch; batch = this.#full.shift()) {
      if (!(await this.#sender.submit(batch))) {
        this.#full.unshift(batch);
        return;
      }
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
    for (const [kind, batch] of this.#filling.entries()) {
      if (batch.size === 0) continue;
      this.#full.push(batch);
      this.#filling[kind] = new Batch();
    }
    await this.#submitFull();
  }

  #warnOfHotKeys(): void {
    if (this.#warned || !this.#window.isFull) return;
    this.#warned = true;
    this.#job.warn(
      `slow input: ${this.#window.heldCount} records wait for earlier ones of the same key; ` +
        'each key has one record in flight at a time (--order none opts out)',
    );
  }
}

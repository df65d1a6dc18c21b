import type { RecordBlock } from '../mapping/records.js';

/** One record, by its place in its block. */
export interface Item {
  readonly block: RecordBlock;
  readonly index: number;
}

/** Bytes of blocks that held records may keep in memory before reading pauses. */
const heldBytesMaximum = 32 * 1024 * 1024;

/**
 * Keeps records of one key in input order at any concurrency: a record is held back while an
 * earlier one of its key is in a batch that is not settled. All other records pass at once, so
 * batches stay full (architecture, decision 5).
 */
export class Window {
  /** Keys of records that passed and are not settled. */
  readonly #busy = new Set<number>();
  readonly #held = new Map<number, Item[]>();
  readonly #ready: Item[] = [];
  readonly #heldPerBlock = new Map<RecordBlock, number>();
  #heldBytes = 0;
  #heldCount = 0;

  /** True when the record may go into a batch now; else it is held until its key is settled. */
  admit(block: RecordBlock, index: number): boolean {
    const key = block.keys[index] ?? 0;
    if (!this.#busy.has(key)) {
      this.#busy.add(key);
      return true;
    }
    const item = { block, index };
    const queue = this.#held.get(key);
    if (queue) queue.push(item);
    else this.#held.set(key, [item]);
    this.#retain(block);
    return false;
  }

  /** The records of these keys are settled: the next held one of each key becomes ready. */
  settle(keys: Iterable<number>): void {
    for (const key of keys) {
      const queue = this.#held.get(key);
      const next = queue?.shift();
      if (next === undefined) this.#busy.delete(key);
      else this.#ready.push(next);
      if (queue?.length === 0) this.#held.delete(key);
    }
  }

  /** A held record whose turn has come; it passes before any new input. */
  takeReady(): Item | undefined {
    const item = this.#ready.shift();
    if (item) this.#release(item.block);
    return item;
  }

  get heldCount(): number {
    return this.#heldCount;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  /** True when reading on would hold too much in memory. */
  get isFull(): boolean {
    return this.#heldBytes > heldBytesMaximum;
  }

  /** Takes out everything that was never passed on, for the account of a run that stops. */
  *drain(): Generator<Item> {
    yield* this.#ready.splice(0);
    for (const queue of this.#held.values()) yield* queue;
    this.#held.clear();
    this.#heldPerBlock.clear();
    this.#heldCount = 0;
    this.#heldBytes = 0;
  }

  #retain(block: RecordBlock): void {
    const held = this.#heldPerBlock.get(block) ?? 0;
    if (held === 0) this.#heldBytes += bytesOf(block);
    this.#heldPerBlock.set(block, held + 1);
    this.#heldCount += 1;
  }

  #release(block: RecordBlock): void {
    const held = this.#heldPerBlock.get(block) ?? 0;
    this.#heldCount -= 1;
    if (held > 1) {
      this.#heldPerBlock.set(block, held - 1);
      return;
    }
    this.#heldPerBlock.delete(block);
    this.#heldBytes -= bytesOf(block);
  }
}

const bytesOf = (block: RecordBlock): number => block.json.length + block.rows.bytes.length;

import type { BatchRecord } from './batch.js';
import type { RowBlock } from '../../input/row-block.js';

/** Bytes that held records may keep in memory before reading pauses. */
const heldBytesMaximum = 32 * 1024 * 1024;

/**
 * Keeps records of one key in input order at any concurrency: a record is held back while an
 * earlier one of its key is in a batch that is not settled. All other records pass at once, so
 * batches stay full (architecture, decision 5).
 */
export class PerKeyOrder {
  /** Keys of records that passed and are not settled. */
  readonly #busy = new Int();
  readonly #held = new Map<number, BatchRecord[]>();
  readonly #ready: BatchRecord[] = [];
  /** Held records of each block of rows: a block stays in memory until none of its rows is held. */
  readonly #heldPerBlock = new Map<RowBlock, number>();
  #heldBytes = 0;
  #heldCount = 0;

  /**
   * Records with the keys `keys[from, to)` may go into a batch now, up to the one whose index is
   * returned: that one is to be held.
   */
  admit(keys: Int32Array, from: number, to: number): number {
    return this.#busy.addRun(keys, from, to);
  }

  /** Keeps a copy of the record until its key is settled. */
  hold(record: BatchRecord): void {
    const json = Buffer.from(record.json.subarray(record.start, record.end));
    const held = { ...record, json, start: 0, end: json.length };
    const queue = this.#held.get(record.key);
    if (queue) queue.push(held);
    else this.#held.set(record.key, [held]);
    this.#count(held, 1);
  }

  /** The records with the first `count` of these keys are settled. */
  settle(keys: Int32Array, count: number): void {
    if (this.#held.size === 0) return this.#busy.deleteAll(keys, count);
    const free = keys.subarray(0, count).filter((key) => !this.#readyNext(key));
    this.#busy.deleteAll(free, free.length);
  }

  /** The next held record of the key becomes ready, so that the key stays busy; false: there is none. */
  #readyNext(key: number): boolean {
    const queue = this.#held.get(key);
    const next = queue?.shift();
    if (next === undefined) return false;
    this.#ready.push(next);
    if (queue?.length === 0) this.#held.delete(key);
    return true;
  }

  /** Held records whose turn has come; they pass before any new input. */
  *takeReady(): Generator<BatchRecord> {
    for (let record = this.#ready.shift(); record; record = this.#ready.shift()) {
      this.#count(record, -1);
      yield record;
    }
  }

  /** Records held or ready. */
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
  *drain(): Generator<BatchRecord> {
    yield* this.takeReady();
    for (const queue of this.#held.values()) yield* queue;
    this.#held.clear();
  }

  #count({ rows, json }: BatchRecord, change: 1 | -1): void {
    const before = this.#heldPerBlock.get(rows) ?? 0;
    const after = before + change;
    this.#heldCount += change;
    this.#heldBytes += change * json.length;
    if (before === 0 || after === 0) this.#heldBytes += change * rows.bytes.length;
    if (after === 0) this.#heldPerBlock.delete(rows);
    else this.#heldPerBlock.set(rows, after);
  }
}

const free = -1;

/**
 * A set of 31-bit keys. Open addressing, linear probing: a key stands in the slot that its low bits
 * name, or behind it, and no free slot lies between. At most half of the slots are taken. A Set of
 * tens of thousands of numbers, most of them short-lived, leaves its old tables behind as garbage.
 */
export class Int {
  #slots = new Int32Array(16 * 1024).fill(free);
  #size = 0;

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    this.#reserve(to - from);
    let index = from;
    for (; index < to; index += 1) {
      const at = this.#find(keys[index]!);
      if (this.#slots[at] !== free) break;
      this.#slots[at] = keys[index]!;
    }
    this.#size += index - from;
    return index;
  }

  /** Deletes those of the first `count` keys that are there. */
  deleteAll(keys: Int32Array, count: number): void {
    for (let index = 0; index < count; index += 1) {
      const at = this.#find(keys[index]!);
      if (this.#slots[at] === free) continue;
      this.#close(at);
      this.#size -= 1;
    }
  }

  /** Where the key is, or would be. */
  #find(key: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = key & mask;
    while (slots[at] !== free && slots[at] !== key) at = (at + 1) & mask;
    return at;
  }

  /** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
  #close(start: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = start;
    for (let at = (gap + 1) & mask; slots[at] !== free; at = (at + 1) & mask) {
      const key = slots[at]!;
      if (((at - key) & mask) < ((at - gap) & mask)) continue;
      slots[gap] = key;
      gap = at;
    }
    slots[gap] = free;
  }

  #reserve(more: number): void {
    const before = this.#slots;
    let length = before.length;
    while (2 * (this.#size + more) > length) length *= 2;
    if (length === before.length) return;
    this.#slots = new Int32Array(length).fill(free);
    for (const key of before) if (key !== free) this.#slots[this.#find(key)] = key;
  }
}

import type { BatchRecord } from './batch.js';
import type { RowBlock } from '../../input/row-block.js';

/** Maximum bytes of held records; beyond it, reading pauses. */
const heldBytesMaximum = 32 * 1024 * 1024;
/** Approximate memory of a held record besides its text. */
const heldRecordBytes = 256;

/**
 * Keeps the records of each key in input order at any concurrency: holds a record back while an
 * earlier one of any of its keys is in flight. All other records pass, so batches stay full (architecture,
 * decision 5).
 */
export class PerKeyOrder {
  /** Keys of records in flight. */
  readonly #inFlight = new KeySet();
  /** Held records in the order of the input, for each of the keys that they wait for. */
  readonly #held = new Map<number, BatchRecord[]>();
  /** Number of keys that a held record waits for, if it is more than one. */
  readonly #waits = new Map<BatchRecord, number>();
  readonly #ready: BatchRecord[] = [];
  /** Number of held records of each block. A block stays in memory while one of its rows is held. */
  readonly #heldPerBlock = new Map<RowBlock, number>();
  #heldBytes = 0;
  #heldCount = 0;

  /** Admits records with the keys `keys[from, to)` until one must be held; returns its index, or `to`. */
  admit(keys: Int32Array, from: number, to: number): number {
    return this.#inFlight.addRun(keys, from, to);
  }

  /** Admits a record with several keys if none is in flight. */
  admitOne(keys: readonly number[]): boolean {
    if (keys.some((key) => this.#inFlight.has(key))) return false;
    this.#inFlight.addRun(Int32Array.from(keys), 0, keys.length);
    return true;
  }

  /**
   * Holds a copy of the record until all of its keys are free. Those that are free now are its own from here on, so
   * that later records of them wait. A record gets its place for all keys at once, so none waits for a later one.
   */
  hold(record: BatchRecord): void {
    const json = Buffer.from(record.json.subarray(record.start, record.end));
    const held = { ...record, json, start: 0, end: json.length };
    let waits = this.#waitFor(record.key, held);
    for (const key of record.otherKeys ?? []) waits += this.#waitFor(key, held);
    if (waits > 1) this.#waits.set(held, waits);
    this.#count(held, 1);
  }

  /** Takes a key that is free; otherwise puts the record behind the earlier ones of the key, and returns 1. */
  #waitFor(key: number, held: BatchRecord): 0 | 1 {
    if (this.#inFlight.addRun(Int32Array.of(key), 0, 1) === 1) return 0;
    const queue = this.#held.get(key);
    if (queue) queue.push(held);
    else this.#held.set(key, [held]);
    return 1;
  }

  /** Releases the first `count` keys, whose records have their outcomes. */
  release(keys: Int32Array, count: number): void {
    if (this.#held.size === 0) return this.#inFlight.deleteAll(keys, count);
    const free = keys.subarray(0, count).filter((key) => !this.#readyNext(key));
    this.#inFlight.deleteAll(free, free.length);
  }

  /** Gives the key to its next held record, which is ready if it waits for no other; false if there is none. */
  #readyNext(key: number): boolean {
    const queue = this.#held.get(key);
    const next = queue?.shift();
    if (next === undefined) return false;
    if (queue?.length === 0) this.#held.delete(key);
    const waits = (this.#waits.get(next) ?? 1) - 1;
    if (waits === 0) this.#ready.push(next);
    if (waits > 1) this.#waits.set(next, waits);
    else this.#waits.delete(next);
    return true;
  }

  /** Removes and yields the records that are ready. They go before new input. */
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

  /** Whether held records use too much memory to read on. */
  get isFull(): boolean {
    return this.#heldBytes > heldBytesMaximum;
  }

  /** Removes and yields all held records, when a run stops. */
  *drain(): Generator<BatchRecord> {
    yield* this.takeReady();
    yield* new Set([...this.#held.values()].flat());
    this.#held.clear();
  }

  #count({ rows, json }: BatchRecord, change: 1 | -1): void {
    const before = this.#heldPerBlock.get(rows) ?? 0;
    const after = before + change;
    this.#heldCount += change;
    this.#heldBytes += change * (json.length + heldRecordBytes);
    if (before === 0 || after === 0) this.#heldBytes += change * rows.bytes.length;
    if (after === 0) this.#heldPerBlock.delete(rows);
    else this.#heldPerBlock.set(rows, after);
  }
}

const free = -1;

/**
 * A set of 31-bit keys with open addressing and linear probing. The low bits of a key select its
 * slot, and at most half of the slots are used. A JavaScript Set of tens of thousands of short-lived
 * numbers would leave its old tables behind as garbage.
 */
export class KeySet {
  #slots = new Int32Array(16 * 1024).fill(free);
  #size = 0;

  /** Adds `keys[from, to)` up to the first duplicate; returns its index, or `to`. */
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

  has(key: number): boolean {
    return this.#slots[this.#find(key)] !== free;
  }

  /** Deletes the first `count` keys, ignoring absent ones. */
  deleteAll(keys: Int32Array, count: number): void {
    for (let index = 0; index < count; index += 1) {
      const at = this.#find(keys[index]!);
      if (this.#slots[at] === free) continue;
      this.#closeGap(at);
      this.#size -= 1;
    }
  }

  /** Finds the slot of the key, or the free slot for it. */
  #find(key: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = key & mask;
    while (slots[at] !== free && slots[at] !== key) at = (at + 1) & mask;
    return at;
  }

  /** Frees a slot and moves later keys into the gap, so that probing still finds them. */
  #closeGap(start: number): void {
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

import path from 'node:path';
import { closeSync, fdatasync, fstatSync, openSync, readSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { fsyncFolder, writeAll } from '../../files/atomic-write.js';
import {
  bytesOf,
  CorruptBaseline,
  entryBytes,
  entryWords,
  filled,
  BaselineWriter,
  type BaselineFile,
} from './baseline-file.js';

const syncData = promisify(fdatasync);

/** Numbers before the entries of a block: what it is, how many follow, their checksum, and its own. */
const blockWords = 4;
const magic = 0x4d_45_42_31;

/**
 * What a run did to a memory, in the order in which it was done: blocks of entries. An entry whose
 * record is 0 is a doubt: a record with this key is about to be sent, and nobody knows any more
 * what the service has. Doubts are synced before their request goes out.
 */
export class ChangeLog {
  readonly path: string;
  readonly #file: number;

  /** A new one. */
  constructor(file: string) {
    this.path = file;
    this.#file = openSync(file, 'wx', 0o600);
    try {
      fsyncFolder(path.dirname(file));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The entries count once they are written: what is lost of those that were accepted is a doubt. */
  write(entries: Int32Array): void {
    const count = entries.length / entryWords;
    const payload = bytesOf(entries);
    const head = Uint32Array.of(magic, count, crc32(payload), 0);
    head[blockWords - 1] = crc32(bytesOf(head.subarray(0, blockWords - 1)));
    const bytes = Buffer.concat([bytesOf(head), payload]);
    writeAll(this.#file, bytes);
  }

  async sync(): Promise<void> {
    await syncData(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/**
 * The blocks of a log, each only lent. What a kill left of the last one is passed over: the end of
 * it is missing, or was never written. Throws DoubtfulFile for any other damage, which is not looked
 * for where it is known that there is none.
 */
export function* readBlocks(
  file: string,
  { isKnown = false }: { readonly isKnown?: boolean } = {},
): Generator<Int32Array> {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    let room = new Int32Array(entryWords * 1024);
    for (let at = 0; at < size;) {
      const head = new Uint32Array(blockWords);
      if (!filled(descriptor, head, at)) return;
      const [, count = 0, sum] = head;
      const isHead = head[0] === magic && head[3] === crc32(bytesOf(head.subarray(0, 3)));
      if (!isHead && isEmpty(descriptor, at, size)) return;
      if (!isHead) throw new CorruptBaseline('a line of what was accepted is damaged');
      at += 4 * blockWords;
      if (at + entryBytes * count > size) return;
      if (room.length < entryWords * count) room = new Int32Array(entryWords * count);
      const entries = room.subarray(0, entryWords * count);
      filled(descriptor, entries, at);
      const isWhole = isKnown || crc32(bytesOf(entries)) === sum;
      if (!isWhole) throw new CorruptBaseline('a line of what was accepted is damaged');
      yield entries;
      at += entryBytes * count;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Zeros only: the file was made longer, and the disk never had the rest. */
function isEmpty(descriptor: number, from: number, size: number): boolean {
  const bytes = Buffer.alloc(64 * 1024);
  for (let at = from; at < size;) {
    const read = readSync(descriptor, bytes, 0, bytes.length, at);
    if (read === 0) return true;
    if (bytes.subarray(0, read).some((byte) => byte !== 0)) return false;
    at += read;
  }
  return true;
}

/** Entries of a log that are sorted at once: 16 MB, and 8 for their order. */
const sortedMost = 1_000_000;
/** Places of a log's entries that fit beside 32 bits of hash into the 53 of a number. */
const places = 2 ** 21;

interface Folding {
  readonly path: string;
  readonly log: string;
  readonly base: BaselineFile;
}

/**
 * Writes a base anew with what a log says: of each key its last entry, and none for a doubt. The log
 * is read once for each part of the hashes that is sorted in memory.
 */
export function compact({ path, log, base }: Folding, most = sortedMost): void {
  const writer = new BaselineWriter(path);
  try {
    const rest = new Cursor(base);
    const count = countOf(log);
    const parts = Math.ceil(count / most) || 1;
    // Hashes lie evenly. One place for all parts: what each part left would stay in memory for a while.
    const entries = new Entries(count / parts);
    for (let part = 0; part < parts; part += 1) {
      entries.clear();
      take(log, entries, [startOf(part, parts), startOf(part + 1, parts)]);
      merge(rest, entries, writer);
    }
    rest.copyTo(writer);
    writer.finish(base.head);
  } finally {
    writer.close();
  }
}

const startOf = (part: number, parts: number): number => Math.floor((2 ** 32 * part) / parts);

function countOf(log: string): number {
  let count = 0;
  for (const block of readBlocks(log)) count += block.length / entryWords;
  return count;
}

function take(log: string, entries: Entries, [from, to]: readonly [number, number]): void {
  for (const block of readBlocks(log, { isKnown: true })) {
    for (let at = 0; at < block.length; at += entryWords) {
      const high = block[at + 1]! >>> 0;
      if (high >= from && high < to) entries.add(block, at);
    }
  }
}

/** The entries of a log whose keys lie in a range, to be had in the order of their keys. */
class Entries {
  words: Int32Array;
  #order: Float64Array;
  #count = 0;

  /** `room` is how many there are, about. */
  constructor(room: number) {
    const most = Math.ceil(1.02 * room) + 1024;
    this.words = new Int32Array(entryWords * most);
    this.#order = new Float64Array(most);
  }

  clear(): void {
    this.#count = 0;
  }

  add(words: Int32Array, at: number): void {
    const end = entryWords * this.#count;
    if (end === this.words.length) {
      const larger = new Int32Array(2 * end);
      larger.set(this.words);
      this.words = larger;
      this.#order = new Float64Array(2 * this.#order.length);
    }
    for (let word = 0; word < entryWords; word += 1) this.words[end + word] = words[at + word]!;
    this.#count += 1;
  }

  /** Where the last entry of each key is. */
  *sorted(): Generator<number> {
    if (this.#count > places) throw new RangeError(`${this.#count} entries are too many`);
    // By the high half of the key and the place, in one number.
    const order = this.#order.subarray(0, this.#count);
    for (let index = 0; index < order.length; index += 1) {
      order[index] = (this.words[entryWords * index + 1]! >>> 0) * places + index;
    }
    order.sort();
    for (let first = 0, next = 0; first < order.length; first = next) {
      const high = Math.floor(order[first]! / places);
      const base = high * places;
      const at = entryWords * (order[first]! - base);
      let isOneKey = true;
      for (next = first + 1; next < order.length && order[next]! - base < places; next += 1) {
        const other = entryWords * (order[next]! - base);
        isOneKey &&= this.words[other] === this.words[at];
      }
      if (isOneKey) yield entryWords * (order[next - 1]! - base);
      else yield* this.#lastOfEach(order.subarray(first, next), base);
    }
  }

  /** Of several keys with the same high half. */
  #lastOfEach(order: Float64Array, base: number): readonly number[] {
    const lasts = new Map<number, number>();
    for (const number of order) {
      const at = entryWords * (number - base);
      lasts.set(this.words[at]!, at);
    }
    return [...lasts].toSorted(([a], [b]) => (a >>> 0) - (b >>> 0)).map(([, at]) => at);
  }
}

/** Goes through a base from its first entry to its last. */
class Cursor {
  readonly #chunks: Generator<Int32Array>;
  words: Int32Array = new Int32Array(0);
  at = 0;

  constructor(base: BaselineFile) {
    this.#chunks = base.chunks();
    this.#fill();
  }

  get isAtEnd(): boolean {
    return this.at === this.words.length;
  }

  next(): void {
    this.at += entryWords;
    if (this.isAtEnd) this.#fill();
  }

  copyTo(writer: BaselineWriter): void {
    for (; !this.isAtEnd; this.next()) writer.add(this.words, this.at);
  }

  #fill(): void {
    this.at = 0;
    const next = this.#chunks.next();
    this.words = next.done ? new Int32Array(0) : next.value;
  }
}

/** Writes the entries, and those of the base up to them whose keys are others. */
function merge(base: Cursor, entries: Entries, writer: BaselineWriter): void {
  const { words } = entries;
  for (const at of entries.sorted()) {
    let order = -1;
    while (!base.isAtEnd && (order = compare(base.words, base.at, words, at)) < 0) {
      writer.add(base.words, base.at);
      base.next();
    }
    if (!base.isAtEnd && order === 0) base.next();
    const isDoubt = words[at + 2] === 0 && words[at + 3] === 0;
    if (!isDoubt) writer.add(words, at);
  }
}

function compare(a: Int32Array, atA: number, b: Int32Array, atB: number): number {
  const high = (a[atA + 1]! >>> 0) - (b[atB + 1]! >>> 0);
  return high || (a[atA]! >>> 0) - (b[atB]! >>> 0);
}

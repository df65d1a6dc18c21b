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
  readWords,
  BaselineWriter,
  type BaselineFile,
} from './baseline-file.js';

const syncData = promisify(fdatasync);

/** Numbers before the entries of a block: signature, count, checksum of the entries, checksum of the header. */
const blockWords = 4;
const magic = 0x4d_45_42_31;

/**
 * Append-only log of the changes that a run makes to a baseline, in blocks of entries. An entry with
 * record hash 0 is an intent: a record with this key is about to be sent, so the state at the
 * service is unknown until an entry with its hash follows. Intents are synced before the request.
 */
export class ChangeLog {
  readonly path: string;
  readonly #file: number;

  /** Creates the log. Throws if it exists. */
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

  /** Appends a block. A power cut may lose unsynced entries; then their keys stay unknown. */
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
 * Yields the blocks of a log. The array is reused for the next block. A block that a kill cut off at
 * the end is skipped. Throws CorruptBaseline for other damage, unless the log `isVerified`.
 */
export function* readBlocks(
  file: string,
  { isVerified = false }: { readonly isVerified?: boolean } = {},
): Generator<Int32Array> {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    let room = new Int32Array(entryWords * 1024);
    for (let at = 0; at < size;) {
      const head = new Uint32Array(blockWords);
      if (!readWords(descriptor, head, at)) return;
      const [, count = 0, sum] = head;
      const isHead = head[0] === magic && head[3] === crc32(bytesOf(head.subarray(0, 3)));
      if (!isHead && isZeroFilled(descriptor, at, size)) return;
      if (!isHead) throw new CorruptBaseline('a block of the change log is damaged');
      at += 4 * blockWords;
      if (at + entryBytes * count > size) return;
      if (room.length < entryWords * count) room = new Int32Array(entryWords * count);
      const entries = room.subarray(0, entryWords * count);
      readWords(descriptor, entries, at);
      const isWhole = isVerified || crc32(bytesOf(entries)) === sum;
      if (!isWhole) throw new CorruptBaseline('a block of the change log is damaged');
      yield entries;
      at += entryBytes * count;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Whether the rest is zeros: the file was extended, and its data never reached the disk. */
function isZeroFilled(descriptor: number, from: number, size: number): boolean {
  const bytes = Buffer.alloc(64 * 1024);
  for (let at = from; at < size;) {
    const read = readSync(descriptor, bytes, 0, bytes.length, at);
    if (read === 0) return true;
    if (bytes.subarray(0, read).some((byte) => byte !== 0)) return false;
    at += read;
  }
  return true;
}

/** Maximum entries sorted at once: 16 MB, and 8 MB for their order. */
const sortedMaximum = 1_000_000;
/** Maximum index of an entry that fits beside 32 bits of hash into the 53 bits of a number. */
const indexes = 2 ** 21;

interface Compaction {
  readonly path: string;
  readonly log: string;
  readonly base: BaselineFile;
}

/**
 * Merges a log into a base: the last entry of each key wins. An intent of a key that was accepted before is kept, with its
 * record hash of 0, which no record equals: the account has the key, so it is gone if an input lacks it. The log is read
 * once for each range of hashes that is sorted in memory.
 */
export function compact({ path, log, base }: Compaction, maximum = sortedMaximum): void {
  const writer = new BaselineWriter(path);
  try {
    const rest = new Cursor(base);
    const count = countOf(log);
    const parts = Math.ceil(count / maximum) || 1;
    // Hashes are distributed evenly. The buffer is shared, because garbage of each part would add up.
    const entries = new Entries(count / parts);
    for (let part = 0; part < parts; part += 1) {
      entries.clear();
      collect(log, entries, [startOf(part, parts), startOf(part + 1, parts)]);
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

function collect(log: string, entries: Entries, [from, to]: readonly [number, number]): void {
  for (const block of readBlocks(log, { isVerified: true })) {
    for (let at = 0; at < block.length; at += entryWords) {
      const high = block[at + 1]! >>> 0;
      if (high >= from && high < to) entries.add(block, at);
    }
  }
}

/** Position of the last entry of a key, and whether a record of it was accepted. */
interface LastEntry {
  readonly at: number;
  readonly isAccepted: boolean;
}

/** The entries of a log in one range of keys, sorted on request. */
class Entries {
  words: Int32Array;
  #order: Float64Array;
  #count = 0;

  /** `expected` is an estimate of their number. */
  constructor(expected: number) {
    const capacity = Math.ceil(1.02 * expected) + 1024;
    this.words = new Int32Array(entryWords * capacity);
    this.#order = new Float64Array(capacity);
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

  /** Yields the last entry of each key, in key order. */
  *sorted(): Generator<LastEntry> {
    if (this.#count > indexes) throw new RangeError(`${this.#count} entries are too many`);
    // Sort key: the high half of the hash and the index, in one number.
    const order = this.#order.subarray(0, this.#count);
    for (let index = 0; index < order.length; index += 1) {
      order[index] = (this.words[entryWords * index + 1]! >>> 0) * indexes + index;
    }
    order.sort();
    for (let first = 0, next = 0; first < order.length; first = next) {
      const high = Math.floor(order[first]! / indexes);
      const base = high * indexes;
      const at = entryWords * (order[first]! - base);
      let isOneKey = true;
      let isAccepted = this.#isAccepted(at);
      for (next = first + 1; next < order.length && order[next]! - base < indexes; next += 1) {
        const other = entryWords * (order[next]! - base);
        isOneKey &&= this.words[other] === this.words[at];
        isAccepted ||= this.#isAccepted(other);
      }
      if (isOneKey) yield { at: entryWords * (order[next - 1]! - base), isAccepted };
      else yield* this.#lastOfEach(order.subarray(first, next), base);
    }
  }

  /** Returns the last entry of each of several keys with the same high half. */
  #lastOfEach(order: Float64Array, base: number): readonly LastEntry[] {
    const lasts = new Map<number, LastEntry>();
    for (const number of order) {
      const at = entryWords * (number - base);
      const low = this.words[at]!;
      const isAccepted = lasts.get(low)?.isAccepted === true || this.#isAccepted(at);
      lasts.set(low, { at, isAccepted });
    }
    return [...lasts].toSorted(([a], [b]) => (a >>> 0) - (b >>> 0)).map(([, last]) => last);
  }

  #isAccepted(at: number): boolean {
    return this.words[at + 2] !== 0 || this.words[at + 3] !== 0;
  }
}

/** Iterates over a base in key order. */
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

/** Writes the entries, and the base's entries before them whose keys are not replaced. */
function merge(base: Cursor, entries: Entries, writer: BaselineWriter): void {
  const { words } = entries;
  for (const { at, isAccepted } of entries.sorted()) {
    let order = -1;
    while (!base.isAtEnd && (order = compare(base.words, base.at, words, at)) < 0) {
      writer.add(base.words, base.at);
      base.next();
    }
    const isInBase = !base.isAtEnd && order === 0;
    if (isInBase) base.next();
    if (isInBase || isAccepted) writer.add(words, at);
  }
}

function compare(a: Int32Array, atA: number, b: Int32Array, atB: number): number {
  const high = (a[atA + 1]! >>> 0) - (b[atB + 1]! >>> 0);
  return high || (a[atA]! >>> 0) - (b[atB]! >>> 0);
}

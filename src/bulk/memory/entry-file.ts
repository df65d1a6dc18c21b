import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

/**
 * A file of entries of 16 bytes, as four numbers: the low and high half of a key's hash, and of its
 * record's. They are signed, since V8 keeps such numbers without a place in the heap for each.
 */
export const entryWords = 4;
export const entryBytes = 16;

/** Numbers of 32 bits before the entries. */
export const headWords = 10;
export const headBytes = 4 * headWords;

/** Also tells whether the machine that wrote it orders bytes as this one does. */
const magic = 0x45_4d_45_31;
const version = 1;

/** What a file of entries says of itself. */
export interface EntryHead {
  /** Of the hashes. */
  readonly seed: readonly [low: number, high: number];
  /** Whose it is: digest of account, host, stream and kind. */
  readonly owner: readonly [low: number, high: number];
  readonly count: number;
  /** CRC-32 of all entries. */
  readonly sum: number;
}

export function headOf({ seed, owner, count, sum }: EntryHead): Buffer {
  const words = Uint32Array.of(magic, version, ...seed, ...owner, count, sum, 0, 0);
  const bytes = Buffer.from(words.buffer);
  words[headWords - 1] = crc32(bytes.subarray(0, headBytes - 4));
  return bytes;
}

/** Entries that are kept in memory: 60 MB. Of more, only where they begin. */
const residentMost = 5_000_000;
/** Entries of one bucket, on average: their keys fill a line of the processor's cache, or a read. */
const bucketEntries = { inMemory: 8, inFile: 64 };
const chunkEntries = 16_384;

/** Why a file is not what it should be, in a few words. */
export class DoubtfulFile extends Error {}

/**
 * Entries in the order of their keys. A key is looked for in the bucket that its first bits name:
 * hashes lie evenly. Up to five million entries are held in memory, 12 bytes of each; beyond that
 * buckets are read from the file, so that memory stays flat.
 */
export class EntryFile {
  readonly head: EntryHead;
  readonly #file: number;
  readonly #shift: number;
  /** Index of the first entry of each bucket, and the end of the last one. */
  readonly #starts: Uint32Array;
  readonly #resident: Int32Array | undefined;
  #bucket = new Int32Array(0);
  /** Of the record found last. */
  low = 0;
  high = 0;
  /** What `fetch` read, so that it is read. */
  fetched = 0;

  /** Throws DoubtfulFile, or what the file system says. */
  static open(path: string, residents = residentMost): EntryFile {
    const file = openSync(path, 'r');
    try {
      return new EntryFile(file, residents);
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  private constructor(file: number, residents: number) {
    this.#file = file;
    this.head = readHead(file);
    const { count, sum } = this.head;
    if (fstatSync(file).size !== headBytes + entryBytes * count)
      throw new DoubtfulFile('it is cut');
    const isResident = count <= residents;
    const each = isResident ? bucketEntries.inMemory : bucketEntries.inFile;
    const bits = Math.max(1, Math.ceil(Math.log2(Math.max(1, count / each))));
    this.#shift = 32 - bits;
    this.#starts = new Uint32Array(2 ** bits + 1);
    this.#resident = isResident ? new Int32Array(residentWords * count + 1) : undefined;
    if (this.#read() !== sum) throw new DoubtfulFile('its checksum does not fit');
  }

  /**
   * Index of the entry with this key, or -1; its record is in `low` and `high` then. In memory the
   * bucket stands for a part of the key: two of five million may be taken for one, and are sent.
   */
  find(keyLow: number, keyHigh: number): number {
    const bucket = keyHigh >>> this.#shift;
    const from = this.#starts[bucket]!;
    const to = this.#starts[bucket + 1]!;
    if (!this.#resident) return this.#findInFile(keyLow, keyHigh, [from, to]);
    const words = this.#resident;
    for (let index = from, at = residentWords * from; index < to; index += 1, at += residentWords) {
      if (words[at] !== keyLow) continue;
      this.low = words[at + 1]!;
      this.high = words[at + 2]!;
      return index;
    }
    return -1;
  }

  /**
   * Reads where the keys of these hashes may be, one after the other without looking at what was
   * read: the processor fetches several at once, and `find` need not wait for each.
   */
  fetch(hashes: Int32Array): void {
    if (!this.#resident) return;
    const words = this.#resident;
    let read = 0;
    for (let at = 1; at < hashes.length; at += entryWords) {
      read ^= words[residentWords * this.#starts[hashes[at]! >>> this.#shift]!]!;
    }
    this.fetched = read;
  }

  #findInFile(keyLow: number, keyHigh: number, [from, to]: readonly [number, number]): number {
    const words = this.#readBucket(from, to);
    for (let at = 0; at < words.length; at += entryWords) {
      if (words[at] !== keyLow || words[at + 1] !== keyHigh) continue;
      this.low = words[at + 2]!;
      this.high = words[at + 3]!;
      return from + at / entryWords;
    }
    return -1;
  }

  /** All entries in order, some at a time; each array is only lent. */
  *chunks(): Generator<Int32Array> {
    const chunk = new Int32Array(entryWords * chunkEntries);
    for (let index = 0; index < this.head.count; index += chunkEntries) {
      const words = chunk.subarray(0, entryWords * Math.min(chunkEntries, this.head.count - index));
      readAll(this.#file, bytesOf(words), headBytes + entryBytes * index);
      yield words;
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Takes in what has to be in memory; returns the checksum of all entries. */
  #read(): number {
    let sum = 0;
    let index = 0;
    for (const words of this.chunks()) {
      sum = crc32(bytesOf(words), sum);
      if (this.#resident) takeIn(this.#resident, words, index);
      for (let at = 1; at < words.length; at += entryWords) {
        this.#starts[(words[at]! >>> this.#shift) + 1]! += 1;
      }
      index += words.length / entryWords;
    }
    for (let bucket = 1; bucket < this.#starts.length; bucket += 1) {
      this.#starts[bucket]! += this.#starts[bucket - 1]!;
    }
    return sum;
  }

  #readBucket(from: number, to: number): Int32Array {
    const length = entryWords * (to - from);
    if (length > this.#bucket.length) this.#bucket = new Int32Array(2 * length);
    const words = this.#bucket.subarray(0, length);
    readAll(this.#file, bytesOf(words), headBytes + entryBytes * from);
    return words;
  }
}

/** Numbers of an entry in memory: half of its key, and its record. */
const residentWords = 3;

function takeIn(resident: Int32Array, words: Int32Array, index: number): void {
  let to = residentWords * index;
  for (let at = 0; at < words.length; at += entryWords, to += residentWords) {
    resident[to] = words[at]!;
    resident[to + 1] = words[at + 2]!;
    resident[to + 2] = words[at + 3]!;
  }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function readHead(file: number): EntryHead {
  const words = new Uint32Array(headWords);
  readAll(file, bytesOf(words), 0);
  if (words[0] !== magic)
    throw new DoubtfulFile('it is none of ours, or of another kind of machine');
  const [, is, seed0 = 0, seed1 = 0, owner0 = 0, owner1 = 0, count = 0, sum = 0] = words;
  if (words[headWords - 1] !== crc32(bytesOf(words).subarray(0, headBytes - 4))) {
    throw new DoubtfulFile('its checksum does not fit');
  }
  if (is !== version)
    throw new DoubtfulFile(`it is of version ${is}, this program knows ${version}`);
  return { seed: [seed0, seed1], owner: [owner0, owner1], count, sum };
}

function readAll(file: number, bytes: Buffer, position: number): void {
  for (let at = 0; at < bytes.length;) {
    const read = readSync(file, bytes, at, bytes.length - at, position + at);
    if (read === 0) throw new DoubtfulFile('it is cut');
    at += read;
  }
}

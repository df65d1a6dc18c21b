import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { hashWords } from '../../text/record-hash.js';
import { FileDraft } from '../../files/atomic-write.js';

/**
 * A file of entries of 16 bytes, as four numbers: the low and high half of a key's hash, and of its
 * record's. They are signed, since V8 keeps such numbers without a place in the heap for each.
 */
export const entryWords = hashWords;
export const entryBytes = 4 * entryWords;

/** Numbers of 32 bits before the entries. */
const headWords = 10;
export const headBytes = 4 * headWords;

/** Also tells whether the machine that wrote it orders bytes as this one does. */
const magic = 0x45_4d_45_31;
const version = 1;

/** What a file of entries says of itself. */
export interface BaselineHeader {
  /** Of the hashes. */
  readonly seed: readonly [low: number, high: number];
  /** Whose it is: digest of account, host, stream and kind. */
  readonly owner: readonly [low: number, high: number];
  readonly count: number;
  /** CRC-32 of all entries. */
  readonly sum: number;
}

export function headOf({ seed, owner, count, sum }: BaselineHeader): Buffer {
  const words = Uint32Array.of(magic, version, ...seed, ...owner, count, sum, 0, 0);
  const bytes = Buffer.from(words.buffer);
  words[headWords - 1] = crc32(bytes.subarray(0, headBytes - 4));
  return bytes;
}

const chunkEntries = 16_384;

/** Why a file is not what it should be, in a few words. */
export class CorruptBaseline extends Error {}

/** Entries in the order of their keys. */
export class BaselineFile {
  readonly head: BaselineHeader;
  readonly #file: number;

  /** Throws DoubtfulFile, or what the file system says. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    try {
      this.head = readHead(this.#file);
      const length = headBytes + entryBytes * this.head.count;
      if (fstatSync(this.#file).size !== length) throw new CorruptBaseline('it is cut');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** All entries in order, some at a time; each array is only lent. Throws DoubtfulFile, at the end of them. */
  *chunks(): Generator<Int32Array> {
    const { count, sum } = this.head;
    const chunk = new Int32Array(entryWords * chunkEntries);
    let read = 0;
    for (let index = 0; index < count; index += chunkEntries) {
      const words = chunk.subarray(0, entryWords * Math.min(chunkEntries, count - index));
      this.read(words, index);
      read = crc32(bytesOf(words), read);
      yield words;
    }
    if (read !== sum) throw new CorruptBaseline('its checksum does not fit');
  }

  /** Fills `words` with the entries from this one on. Throws DoubtfulFile. */
  read(words: Int32Array, index: number): void {
    if (!filled(this.#file, words, headBytes + entryBytes * index))
      throw new CorruptBaseline('it is cut');
  }

  close(): void {
    closeSync(this.#file);
  }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function readHead(file: number): BaselineHeader {
  const words = new Uint32Array(headWords);
  if (!filled(file, words, 0)) throw new CorruptBaseline('it is cut');
  if (words[0] !== magic)
    throw new CorruptBaseline('it is none of ours, or of another kind of machine');
  const [, is, seed0 = 0, seed1 = 0, owner0 = 0, owner1 = 0, count = 0, sum = 0] = words;
  // First: of another version the rest may be laid out otherwise.
  if (is !== version)
    throw new CorruptBaseline(`it is of version ${is}, this program knows ${version}`);
  if (words[headWords - 1] !== crc32(bytesOf(words).subarray(0, headBytes - 4))) {
    throw new CorruptBaseline('its checksum does not fit');
  }
  return { seed: [seed0, seed1], owner: [owner0, owner1], count, sum };
}

/** Reads words from a place of a file on; false where it ends before. */
export function filled(file: number, words: Int32Array | Uint32Array, position: number): boolean {
  const bytes = bytesOf(words);
  for (let at = 0; at < bytes.length;) {
    const read = readSync(file, bytes, at, bytes.length - at, position + at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

const roomEntries = 65_536;

/** Writes a file of entries, which takes its name when it is whole. */
export class BaselineWriter {
  readonly #draft: FileDraft;
  readonly #room = new Int32Array(entryWords * roomEntries);
  #filled = 0;
  #count = 0;
  #sum = 0;

  constructor(path: string) {
    this.#draft = new FileDraft(path);
    this.#draft.write(Buffer.alloc(headBytes));
  }

  /** The entry at `words[at]`; in the order of the keys. */
  add(words: Int32Array, at: number): void {
    if (this.#filled === this.#room.length) this.#flush();
    for (let word = 0; word < entryWords; word += 1) {
      this.#room[this.#filled + word] = words[at + word]!;
    }
    this.#filled += entryWords;
    this.#count += 1;
  }

  /** Puts it in its place, synced. */
  finish(about: Pick<BaselineHeader, 'seed' | 'owner'>): void {
    this.#flush();
    const head = headOf({ ...about, count: this.#count, sum: this.#sum });
    this.#draft.write(head, 0);
    this.#draft.commit();
  }

  close(): void {
    this.#draft.discard();
  }

  #flush(): void {
    const bytes = bytesOf(this.#room.subarray(0, this.#filled));
    this.#sum = crc32(bytes, this.#sum);
    this.#draft.write(bytes);
    this.#filled = 0;
  }
}

/** Entries of one bucket, on average: one read. */
const bucketEntries = 64;

/**
 * Entries that stay in their file. A key is looked for in the bucket that its first bits name: hashes
 * lie evenly. Only where buckets begin is in memory.
 */
export class BaselineIndex implements BaselineLookup {
  readonly #file: BaselineFile;
  readonly #shift: number;
  /** Index of the first entry of each bucket, and the end of the last one. */
  readonly #starts: Uint32Array;
  readonly #seen: Bits;
  readonly #sent: Bits;
  #bucket = new Int32Array(0);

  /** Throws DoubtfulFile, or what the file system says. */
  constructor(file: BaselineFile) {
    this.#file = file;
    const { count } = file.head;
    this.#seen = new Bits(count);
    this.#sent = new Bits(count);
    const bits = Math.ceil(Math.log2(count / bucketEntries));
    this.#shift = 32 - bits;
    this.#starts = new Uint32Array(2 ** bits + 1);
    for (const chunk of file.chunks()) this.#count(chunk);
    for (let bucket = 1; bucket < this.#starts.length; bucket += 1) {
      this.#starts[bucket]! += this.#starts[bucket - 1]!;
    }
  }

  compare(entries: Int32Array, mayRest: Uint8Array): Uint8Array {
    return ofEach(entries, (entry, index) => this.#compareOne(entry, mayRest[index] === 1));
  }

  get seen(): number {
    return this.#seen.count;
  }

  has(entries: Int32Array): Uint8Array {
    return ofEach(entries, (entry) => (this.#find(entry) ? 1 : 0));
  }

  isMissed(entry: Int32Array): boolean {
    const place = this.#find(entry);
    if (!place || this.#seen.has(place.index)) return false;
    this.#seen.set(place.index);
    return true;
  }

  close(): void {
    this.#file.close();
  }

  #count(chunk: Int32Array): void {
    for (let at = 1; at < chunk.length; at += entryWords) {
      this.#starts[(chunk[at]! >>> this.#shift) + 1]! += 1;
    }
  }

  #compareOne(entry: Int32Array, mayRest: boolean): number {
    const place = this.#find(entry);
    if (!place) return matchKind.unknown;
    const { index, words, at } = place;
    this.#seen.set(index);
    const isSame = words[at + 2] === entry[2] && words[at + 3] === entry[3];
    if (isSame && mayRest && !this.#sent.has(index)) return matchKind.same;
    this.#sent.set(index);
    return matchKind.changed;
  }

  /** The entry with this key: its index, and where it is in what was read. */
  #find(entry: Int32Array) {
    const bucket = entry[1]! >>> this.#shift;
    const first = this.#starts[bucket]!;
    const words = this.#read(first, this.#starts[bucket + 1]!);
    for (let at = 0; at < words.length; at += entryWords) {
      if (words[at] !== entry[0] || words[at + 1] !== entry[1]) continue;
      return { index: first + at / entryWords, words, at };
    }
    return undefined;
  }

  #read(from: number, to: number): Int32Array {
    const length = entryWords * (to - from);
    if (length > this.#bucket.length) this.#bucket = new Int32Array(2 * length);
    const words = this.#bucket.subarray(0, length);
    this.#file.read(words, from);
    return words;
  }
}

function ofEach(
  entries: Int32Array,
  what: (entry: Int32Array, index: number) => number,
): Uint8Array {
  const all = new Uint8Array(entries.length / entryWords);
  for (let index = 0; index < all.length; index += 1) {
    all[index] = what(entries.subarray(entryWords * index, entryWords * (index + 1)), index);
  }
  return all;
}

/** A set of small whole numbers, a bit each. */
class Bits {
  /** How many are in it. */
  count = 0;
  readonly #bytes: Uint8Array;

  constructor(size: number) {
    this.#bytes = new Uint8Array(Math.ceil(size / 8));
  }

  has(number: number): boolean {
    return ((this.#bytes[number >>> 3]! >>> (number & 7)) & 1) === 1;
  }

  set(number: number): void {
    if (this.has(number)) return;
    this.#bytes[number >>> 3]! |= 1 << (number & 7);
    this.count += 1;
  }
}

/** What is found of an entry whose record is to be sent. */
export const matchKind = { unknown: 0, changed: 1, same: 2 } as const;

/** Entries with which others are compared. */
export interface BaselineLookup {
  /**
   * What is found of each entry, as numbers of `found`. What is the same counts as changed where
   * `mayRest` is 0, and where another record of its key was changed before. Lent until the next call.
   */
  compare(entries: Int32Array, mayRest: Uint8Array): Uint8Array;
  /** How many were met by others. */
  readonly seen: number;
  /** 1 for each entry whose key is known. Lent likewise. */
  has(entries: Int32Array): Uint8Array;
  /** The key of this entry is known, and was met by no other so far. */
  isMissed(entry: Int32Array): boolean;
  close(): void;
}

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { hashWords, type HashSecret } from '../../text/record-hash.js';
import { AtomicFile } from '../../files/atomic-write.js';

/**
 * Numbers in an entry: the low and high half of the key's hash, then of the record's hash. They are
 * signed, because V8 keeps signed 32-bit numbers without allocating a heap object for each.
 */
export const entryWords = hashWords;
export const entryBytes = 4 * entryWords;

/** Numbers in the file header. */
const headWords = 12;
export const headBytes = 4 * headWords;

/** File signature. It also differs if the file was written with another byte order. */
const magic = 0x45_4d_45_31;
const version = 2;

/** Contents of the file header. */
export interface BaselineHeader {
  /** Secret of the hashes. */
  readonly secret: HashSecret;
  /** Digest of account, host, stream and kind. */
  readonly owner: readonly [low: number, high: number];
  readonly count: number;
  /** CRC-32 of all entries. */
  readonly checksum: number;
}

function encodeHeader({ secret, owner, count, checksum }: BaselineHeader): Buffer {
  const words = Uint32Array.of(magic, version, ...secret, ...owner, count, checksum, 0, 0);
  const bytes = Buffer.from(words.buffer);
  words[headWords - 1] = crc32(bytes.subarray(0, headBytes - 4));
  return bytes;
}

const chunkEntries = 16_384;

/** A baseline file that cannot be trusted; the message gives the reason. */
export class CorruptBaseline extends Error {}

/** Reads a file of entries, sorted by key. */
export class BaselineFile {
  readonly head: BaselineHeader;
  readonly #file: number;

  /** Throws CorruptBaseline or a file system error. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    try {
      this.head = readHead(this.#file);
      const length = headBytes + entryBytes * this.head.count;
      if (fstatSync(this.#file).size !== length) throw new CorruptBaseline('it is truncated');
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Yields all entries in order. The array is reused for the next chunk. Throws CorruptBaseline after
   * the last chunk if the checksum differs.
   */
  *chunks(): Generator<Int32Array> {
    const { count, checksum } = this.head;
    const chunk = new Int32Array(entryWords * chunkEntries);
    let read = 0;
    for (let index = 0; index < count; index += chunkEntries) {
      const words = chunk.subarray(0, entryWords * Math.min(chunkEntries, count - index));
      this.read(words, index);
      read = crc32(bytesOf(words), read);
      yield words;
    }
    if (read !== checksum) throw new CorruptBaseline('its checksum does not match');
  }

  /** Fills `words` with entries, starting at `index`. Throws CorruptBaseline. */
  read(words: Int32Array, index: number): void {
    if (!readWords(this.#file, words, headBytes + entryBytes * index))
      throw new CorruptBaseline('it is truncated');
  }

  close(): void {
    closeSync(this.#file);
  }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function readHead(file: number): BaselineHeader {
  const words = new Uint32Array(headWords);
  const isWhole = readWords(file, words, 0);
  const [signature, is, s0 = 0, s1 = 0, s2 = 0, s3 = 0, owner0 = 0, owner1 = 0, ...rest] = words;
  // Checked first: another version may have another layout.
  if (signature === magic && is !== version)
    throw new CorruptBaseline(`it has version ${is}, and this program supports ${version}`);
  if (!isWhole) throw new CorruptBaseline('it is truncated');
  if (signature !== magic)
    throw new CorruptBaseline(
      'it is not a baseline file, or was written on another kind of machine',
    );
  if (words[headWords - 1] !== crc32(bytesOf(words).subarray(0, headBytes - 4))) {
    throw new CorruptBaseline('its checksum does not match');
  }
  const [count = 0, checksum = 0] = rest;
  return { secret: [s0, s1, s2, s3], owner: [owner0, owner1], count, checksum };
}

/** Fills `words` from a position in the file. Returns false if the file is too short. */
export function readWords(
  file: number,
  words: Int32Array | Uint32Array,
  position: number,
): boolean {
  const bytes = bytesOf(words);
  for (let at = 0; at < bytes.length;) {
    const read = readSync(file, bytes, at, bytes.length - at, position + at);
    if (read === 0) return false;
    at += read;
  }
  return true;
}

const bufferedEntries = 65_536;

/** Writes a file of entries. The file gets its name when it is complete. */
export class BaselineWriter {
  readonly #temporary: AtomicFile;
  readonly #buffer = new Int32Array(entryWords * bufferedEntries);
  #filled = 0;
  #count = 0;
  #checksum = 0;

  constructor(path: string) {
    this.#temporary = new AtomicFile(path);
    this.#temporary.write(Buffer.alloc(headBytes));
  }

  /** Adds the entry at `words[at]`. Entries must come in the order of their keys. */
  add(words: Int32Array, at: number): void {
    if (this.#filled === this.#buffer.length) this.#flush();
    for (let word = 0; word < entryWords; word += 1) {
      this.#buffer[this.#filled + word] = words[at + word]!;
    }
    this.#filled += entryWords;
    this.#count += 1;
  }

  /** Syncs the file and renames it into place. */
  finish(about: Pick<BaselineHeader, 'secret' | 'owner'>): void {
    this.#flush();
    const head = encodeHeader({ ...about, count: this.#count, checksum: this.#checksum });
    this.#temporary.write(head, 0);
    this.#temporary.commit();
  }

  close(): void {
    this.#temporary.discard();
  }

  #flush(): void {
    const bytes = bytesOf(this.#buffer.subarray(0, this.#filled));
    this.#checksum = crc32(bytes, this.#checksum);
    this.#temporary.write(bytes);
    this.#filled = 0;
  }
}

/** Average entries in a bucket. A lookup reads one bucket. */
const bucketEntries = 64;

/**
 * Looks up entries in their file. The first bits of a key select a bucket, because hashes are
 * distributed evenly; only the start of each bucket is in memory.
 */
export class BaselineIndex implements BaselineLookup {
  readonly #file: BaselineFile;
  readonly #shift: number;
  /** Index of the first entry of each bucket, followed by the number of entries. */
  readonly #starts: Uint32Array;
  readonly #seen: Bits;
  readonly #sent: Bits;
  #bucket = new Int32Array(0);

  /** Throws CorruptBaseline or a file system error. */
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

  compare(entries: Int32Array, skippable: Uint8Array): Uint8Array {
    return mapEntries(entries, (entry, index) => this.#compareOne(entry, skippable[index] === 1));
  }

  get seen(): number {
    return this.#seen.count;
  }

  has(entries: Int32Array): Uint8Array {
    return mapEntries(entries, (entry) => (this.#find(entry) ? 1 : 0));
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

  #compareOne(entry: Int32Array, isSkippable: boolean): number {
    const place = this.#find(entry);
    if (!place) return matchKind.unknown;
    const { index, words, at } = place;
    this.#seen.set(index);
    const isSame = words[at + 2] === entry[2] && words[at + 3] === entry[3];
    if (isSame && isSkippable && !this.#sent.has(index)) return matchKind.same;
    this.#sent.set(index);
    return matchKind.changed;
  }

  /** Finds the entry with this key: its index in the file, and its position in the words read. */
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

function mapEntries(
  entries: Int32Array,
  map: (entry: Int32Array, index: number) => number,
): Uint8Array {
  const all = new Uint8Array(entries.length / entryWords);
  for (let index = 0; index < all.length; index += 1) {
    all[index] = map(entries.subarray(entryWords * index, entryWords * (index + 1)), index);
  }
  return all;
}

/** A set of integers from 0, one bit each. */
class Bits {
  /** Numbers in the set. */
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

/** Result of comparing a record with the baseline. */
export const matchKind = { unknown: 0, changed: 1, same: 2 } as const;

/** The entries of a baseline, for lookups. */
export interface BaselineLookup {
  /**
   * Compares each entry with the baseline; returns numbers of `matchKind`. An equal entry counts as
   * changed if its `skippable` is 0, or if an earlier record of its key was changed. The array is
   * reused by the next call.
   */
  compare(entries: Int32Array, skippable: Uint8Array): Uint8Array;
  /** Keys of the baseline that were compared so far. */
  readonly seen: number;
  /** Returns 1 for each entry whose key is in the baseline. The array is reused by the next call. */
  has(entries: Int32Array): Uint8Array;
  /** Whether the key is in the baseline and was not compared so far; true once for each key. */
  isMissed(entry: Int32Array): boolean;
  close(): void;
}

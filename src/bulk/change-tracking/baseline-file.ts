import { entryWords, type EntryFile } from '../memory/entry-file.js';
import { found, type KnownEntries } from '../memory/known-entries.js';

/** Entries of one bucket, on average: one read. */
const bucketEntries = 64;

/**
 * Entries that stay in their file. A key is looked for in the bucket that its first bits name: hashes
 * lie evenly. Only where buckets begin is in memory.
 */
export class EntriesOnDisk implements KnownEntries {
  readonly #file: EntryFile;
  readonly #shift: number;
  /** Index of the first entry of each bucket, and the end of the last one. */
  readonly #starts: Uint32Array;
  readonly #seen: Bits;
  readonly #sent: Bits;
  #bucket = new Int32Array(0);

  /** Throws DoubtfulFile, or what the file system says. */
  constructor(file: EntryFile) {
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
    if (!place) return found.unknown;
    const { index, words, at } = place;
    this.#seen.set(index);
    const isSame = words[at + 2] === entry[2] && words[at + 3] === entry[3];
    if (isSame && mayRest && !this.#sent.has(index)) return found.same;
    this.#sent.set(index);
    return found.changed;
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

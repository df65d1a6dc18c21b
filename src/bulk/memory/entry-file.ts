import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { hashWords } from '../../text/record-hash.js';

/**
 * A file of entries of 16 bytes, as four numbers: the low and high half of a key's hash, and of its
 * record's. They are signed, since V8 keeps such numbers without a place in the heap for each.
 */
export const entryWords = hashWords;
export const entryBytes = 4 * entryWords;

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

const chunkEntries = 16_384;

/** Why a file is not what it should be, in a few words. */
export class DoubtfulFile extends Error {}

/** Entries in the order of their keys. */
export class EntryFile {
  readonly head: EntryHead;
  readonly #file: number;

  /** Throws DoubtfulFile, or what the file system says. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    try {
      this.head = readHead(this.#file);
      const length = headBytes + entryBytes * this.head.count;
      if (fstatSync(this.#file).size !== length) throw new DoubtfulFile('it is cut');
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
    if (read !== sum) throw new DoubtfulFile('its checksum does not fit');
  }

  /** Fills `words` with the entries from this one on. Throws DoubtfulFile. */
  read(words: Int32Array, index: number): void {
    if (!filled(this.#file, words, headBytes + entryBytes * index))
      throw new DoubtfulFile('it is cut');
  }

  close(): void {
    closeSync(this.#file);
  }
}

export const bytesOf = ({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

function readHead(file: number): EntryHead {
  const words = new Uint32Array(headWords);
  if (!filled(file, words, 0)) throw new DoubtfulFile('it is cut');
  if (words[0] !== magic)
    throw new DoubtfulFile('it is none of ours, or of another kind of machine');
  const [, is, seed0 = 0, seed1 = 0, owner0 = 0, owner1 = 0, count = 0, sum = 0] = words;
  // First: of another version the rest may be laid out otherwise.
  if (is !== version)
    throw new DoubtfulFile(`it is of version ${is}, this program knows ${version}`);
  if (words[headWords - 1] !== crc32(bytesOf(words).subarray(0, headBytes - 4))) {
    throw new DoubtfulFile('its checksum does not fit');
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

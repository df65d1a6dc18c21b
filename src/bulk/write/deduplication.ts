import { EngagectlError, groupDigits } from '../../errors.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';

/** Number of identities shown in the confirmation of a demerge. */
const previewedIdentities = 5;

/** Number and first identities of a demerge, for its confirmation. */
export interface IdentityCount {
  /** Number of distinct identities. */
  readonly count: number;
  readonly first: readonly string[];
}

/** Counts the distinct identities before anything is sent; leaves `identities` empty. Throws E-TOO-MANY. */
export async function countIdentities(
  blocks: AsyncIterable<RowBlock>,
  map: (rows: RowBlock) => RecordBlock,
  identities: IdentitySet,
): Promise<IdentityCount> {
  const first: string[] = [];
  for await (const rows of blocks) {
    const block = map(rows);
    for (let index = 0; index < block.count; index += 1) {
      const isNew = addIdentity(identities, block, index);
      if (isNew && first.length < previewedIdentities) first.push(identityAt(block, index));
    }
    const error = tooManyIdentities(identities);
    if (error) throw error;
  }
  const count = identities.size;
  identities.clear();
  return { count, first };
}

/** Adds the identity of record `index`; returns false for a duplicate. The JSON text is canonical. */
export const addIdentity = (
  identities: IdentitySet,
  { json, bounds }: RecordBlock,
  index: number,
): boolean => identities.add(json, bounds[2 * index] ?? 0, bounds[2 * index + 1] ?? 0);

const identityAt = ({ json, bounds }: RecordBlock, index: number): string =>
  JSON.parse(json.toString('utf8', bounds[2 * index], bounds[2 * index + 1])) as string;

/** Returns the error for a run with too many identities, whose deduplication needs bounded memory. */
export function tooManyIdentities({
  size,
  maximum,
}: Pick<IdentitySet, 'size' | 'maximum'>): EngagectlError | undefined {
  if (size <= maximum) return undefined;
  const message = `more than ${groupDigits(maximum)} identities in one run`;
  return new EngagectlError('E-TOO-MANY', message, {
    why: 'deduplication is limited to this number',
    fix: 'split the input into several runs',
  });
}

/** Slots per identity. The table never grows; the operating system allocates its pages on first use. */
const slotsPerIdentity = 1.2;
/** 32-bit numbers in a slot. The two lowest bits of the first are the number of the pass that filled it. */
const words = 2;
const passBits = 0b11;

/**
 * A set of `maximum` identities (and a block of input more): five million in 48 MB. It compares 62
 * bits of a keyed hash; other bits select the slot. The probability that any two of five million
 * identities collide is 1 in 10^11.
 */
export class IdentitySet {
  readonly #hash: SipHash;
  readonly maximum: number;
  readonly #slots: Uint32Array;
  #pass = 1;
  #size = 0;

  /** `random` returns numbers in [0, 1), for a new hash key in every run. */
  constructor(random: () => number, maximum = 5_000_000) {
    this.maximum = maximum;
    this.#slots = new Uint32Array(words * Math.ceil(slotsPerIdentity * maximum));
    const key = () => Math.floor(random() * 2 ** 32);
    this.#hash = new SipHash([key(), key()]);
  }

  get size(): number {
    return this.#size;
  }

  /** Adds the identity `bytes[start, end)`; returns false for a duplicate. */
  add(bytes: Uint8Array, start: number, end: number): boolean {
    this.#hash.hash(bytes, start, end);
    const [first = 0, second = 0, place = 0] = this.#hash.words;
    const filled = ((first & ~passBits) | this.#pass) >>> 0;
    const at = this.#find(place % (this.#slots.length / words), first, second);
    if (this.#slots[at] === filled) return false;
    this.#slots[at] = filled;
    this.#slots[at + 1] = second;
    this.#size += 1;
    return true;
  }

  /** Empties the set by starting a new pass. Works at most twice. */
  clear(): void {
    this.#pass += 1;
    this.#size = 0;
  }

  /** Finds the slot of the identity from any pass, or a free slot for it. */
  #find(slot: number, first: number, second: number): number {
    const table = this.#slots;
    let at = words * slot;
    for (let found = table[at]!; found !== 0; found = table[at]!) {
      if (((found ^ first) & ~passBits) === 0 && table[at + 1] === second) break;
      at = at + words === table.length ? 0 : at + words;
    }
    return at;
  }
}

/**
 * HalfSipHash-2-4, a keyed hash for 32-bit arithmetic (Aumasson and Bernstein). Without the key,
 * nobody can construct a collision. The first two numbers are the 64-bit tag; four more rounds give
 * the third. Unlike `node:crypto`, it allocates nothing per text.
 */
export class SipHash {
  readonly words = new Uint32Array(3);
  readonly #key: readonly [number, number];

  constructor(key: readonly [number, number]) {
    this.#key = key;
  }

  /** Hashes `bytes[start, end)` into `words`. */
  hash(bytes: Uint8Array, start: number, end: number): void {
    const [k0, k1] = this.#key;
    // Four variables: an array is three times as slow.
    let v0 = k0 | 0;
    let v1 = k1 ^ 0xee;
    let v2 = 0x6c79_6765 ^ k0;
    let v3 = 0x7465_6462 ^ k1;
    const count = ((end - start) >>> 2) + 1;
    for (let step = 0; step < count + this.words.length; step += 1) {
      const output = step - count; // index of the output word, once the text is consumed
      const word = output < 0 ? wordAt(bytes, start, start + 4 * step, end) : 0;
      if (output === 0) v2 ^= 0xee;
      if (output > 0) v1 ^= 0xdd;
      v3 ^= word;
      for (let round = output < 0 ? 2 : 4; round > 0; round -= 1) {
        v0 = (v0 + v1) | 0;
        v1 = rotated(v1, 5) ^ v0;
        v2 = (v2 + v3) | 0;
        v3 = rotated(v3, 8) ^ v2;
        v0 = (rotated(v0, 16) + v3) | 0;
        v3 = rotated(v3, 7) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = rotated(v1, 13) ^ v2;
        v2 = rotated(v2, 16);
      }
      v0 ^= word;
      if (output >= 0) this.words[output] = v1 ^ v3;
    }
  }
}

/** Reads four bytes, little-endian. The highest byte of the last word is the length. */
function wordAt(bytes: Uint8Array, start: number, at: number, end: number): number {
  if (at + 4 <= end) {
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  }
  let word = (end - start) << 24;
  for (let byte = 0; at + byte < end; byte += 1) word |= bytes[at + byte]! << (8 * byte);
  return word;
}

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

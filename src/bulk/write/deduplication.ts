import { EngagectlError, groupDigits } from '../../errors.js';
import type { RowBlock } from '../../input/row-block.js';
import type { RecordBlock } from '../../mapping/record-block.js';

/** Identities shown before a demerge is confirmed. */
const shownIdentities = 5;

/** What a demerge is about to do. */
export interface IdentityCount {
  /** Different identities. */
  readonly count: number;
  readonly first: readonly string[];
}

/** Reads all identities once, before anything is sent; `told` is lent. Throws E-TOO-MANY. */
export async function countIdentities(
  blocks: AsyncIterable<RowBlock>,
  map: (rows: RowBlock) => RecordBlock,
  told: IdentitySet,
): Promise<IdentityCount> {
  const first: string[] = [];
  for await (const rows of blocks) {
    const block = map(rows);
    for (let index = 0; index < block.count; index += 1) {
      const isNew = addIdentity(told, block, index);
      if (isNew && first.length < shownIdentities) first.push(identityAt(block, index));
    }
    const error = tooManyIdentities(told);
    if (error) throw error;
  }
  const count = told.size;
  told.clear();
  return { count, first };
}

/** False when record `index` repeats an identity: it has the same bytes however the input spells it. */
export const addIdentity = (
  told: IdentitySet,
  { json, bounds }: RecordBlock,
  index: number,
): boolean => told.add(json, bounds[2 * index] ?? 0, bounds[2 * index + 1] ?? 0);

const identityAt = ({ json, bounds }: RecordBlock, index: number): string =>
  JSON.parse(json.toString('utf8', bounds[2 * index], bounds[2 * index + 1])) as string;

/** Duplicates of a run are found among so many, so that memory stays bounded. */
export function tooManyIdentities({
  size,
  most,
}: Pick<IdentitySet, 'size' | 'most'>): EngagectlError | undefined {
  if (size <= most) return undefined;
  const message = `more than ${groupDigits(most)} identities in one run`;
  return new EngagectlError('E-TOO-MANY', message, {
    why: 'duplicates are found among at most so many',
    fix: 'split the input into several runs',
  });
}

/** Slots per identity: what never grows is never there twice. Memory is taken as it is filled. */
const room = 1.2;
/** Numbers of 32 bits in a slot. The lowest two bits of the first say in which pass it was filled. */
const words = 2;
const passBits = 0b11;

/**
 * The identities told so far: `most`, five million of them, and a block of input more in 48 MB. They are told
 * apart by 62 bits of a keyed hash, and by the place where they are looked for, which other bits
 * choose: that any two of five million are taken for one has a chance of 1 in 10^11.
 */
export class IdentitySet {
  readonly #hash: SipHash;
  readonly most: number;
  readonly #slots: Uint32Array;
  #pass = 1;
  #size = 0;

  /** `random` in [0, 1): the hash has another key in every run. */
  constructor(random: () => number, most = 5_000_000) {
    this.most = most;
    this.#slots = new Uint32Array(words * Math.ceil(room * most));
    const key = () => Math.floor(random() * 2 ** 32);
    this.#hash = new SipHash([key(), key()]);
  }

  get size(): number {
    return this.#size;
  }

  /** False when the identity `bytes[start, end)` was there already. */
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

  /** Empties the set: what is in it now is as good as gone. At most twice. */
  clear(): void {
    this.#pass += 1;
    this.#size = 0;
  }

  /** Where the identity is, in this pass or an earlier one, or would be. */
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
 * HalfSipHash-2-4, a keyed hash for machines of 32 bits (Aumasson and Bernstein): who does not know
 * the key cannot make two texts meet. The first two numbers are its 64-bit tag, the third one comes
 * of another four rounds. Leaves no garbage behind, as a hash of `node:crypto` does for each text.
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
    // In four variables: in an array they would take three times as long.
    let v0 = k0 | 0;
    let v1 = k1 ^ 0xee;
    let v2 = 0x6c79_6765 ^ k0;
    let v3 = 0x7465_6462 ^ k1;
    const count = ((end - start) >>> 2) + 1;
    for (let step = 0; step < count + this.words.length; step += 1) {
      const made = step - count; // number of the word that is made, once the text is taken
      const word = made < 0 ? wordAt(bytes, start, start + 4 * step, end) : 0;
      if (made === 0) v2 ^= 0xee;
      if (made > 0) v1 ^= 0xdd;
      v3 ^= word;
      for (let round = made < 0 ? 2 : 4; round > 0; round -= 1) {
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
      if (made >= 0) this.words[made] = v1 ^ v3;
    }
  }
}

/** Four bytes, the least significant one first; of the last word the highest one is the length. */
function wordAt(bytes: Uint8Array, start: number, at: number, end: number): number {
  if (at + 4 <= end) {
    return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
  }
  let word = (end - start) << 24;
  for (let byte = 0; at + byte < end; byte += 1) word |= bytes[at + byte]! << (8 * byte);
  return word;
}

const rotated = (word: number, by: number): number => (word << by) | (word >>> (32 - by));

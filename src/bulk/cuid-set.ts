import { SipHash } from './write/sip-hash.js';

/** Slots per cuid: what never grows is never there twice. Memory is taken as it is filled. */
const room = 1.2;
/** Numbers of 32 bits in a slot: two tags, and the place. A slot without a place is free. */
const words = 3;
/** Bits of the second tag that tell texts apart which differ by case alone; the others belong to the first. */
const caseBits = 0xff_ffff;

/** Where a cuid was met before: as it is, or with other letters in upper case. */
export interface Met {
  readonly how: 'duplicate' | 'case-twin';
  readonly place: number;
}

/**
 * The cuids met so far, and a place of each: `most`, five million, and a block of input more in
 * 72 MB. They are told apart by 40 bits of a keyed hash of the text in lower case, by the slot that
 * other bits of it choose, and by 24 bits of a hash of which letters are in upper case.
 */
export class CuidSet {
  readonly most: number;
  /** Of the slots. */
  readonly #count: number;
  readonly #slots: Int32Array;
  readonly #folded: SipHash;
  readonly #caseFactor: number;
  #lower = new Uint8Array(64);
  #size = 0;

  /** `random` in [0, 1): the hashes have other keys in every run. */
  constructor(random: () => number, most = 5_000_000) {
    this.most = most;
    this.#count = Math.ceil(room * most);
    this.#slots = new Int32Array(words * this.#count);
    const key = () => Math.floor(random() * 2 ** 32);
    this.#folded = new SipHash([key(), key()]);
    this.#caseFactor = key() | 1;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Adds the cuid `bytes[start, end)`, met at `place`, from 1 on. One that was there already stays
   * with its first place, which is returned; so is that of a twin.
   */
  add(bytes: Uint8Array, start: number, end: number, place: number): Met | undefined {
    const cases = this.#fold(bytes, start, end);
    this.#folded.hash(this.#lower, 0, end - start);
    const { words: hashed } = this.#folded;
    const second = (hashed[1]! & ~caseBits) | (cases >>> 8);
    // As numbers of 31 or 32 bits with a sign: others are slow.
    return this.#put((hashed[2]! >>> 1) % this.#count, hashed[0]! | 0, second, place);
  }

  // oxlint-disable-next-line max-params -- once for each row: an object would cost a tenth of it
  #put(slot: number, first: number, second: number, place: number): Met | undefined {
    const table = this.#slots;
    let twin: Met | undefined;
    let at = words * slot;
    for (let found = table[at + 2]!; found !== 0; found = table[at + 2]!) {
      const other = table[at + 1]! ^ second;
      if (table[at] === first && (other & ~caseBits) === 0) {
        if (other === 0) return { how: 'duplicate', place: found >>> 0 };
        twin ??= { how: 'case-twin', place: found >>> 0 };
      }
      at = at + words === table.length ? 0 : at + words;
    }
    table[at] = first;
    table[at + 1] = second;
    table[at + 2] = place;
    this.#size += 1;
    return twin;
  }

  /** Copies the text with A to Z in lower case; returns a hash of where they were. */
  #fold(bytes: Uint8Array, start: number, end: number): number {
    if (this.#lower.length < end - start) this.#lower = new Uint8Array(2 * (end - start));
    const lower = this.#lower;
    const factor = this.#caseFactor;
    let cases = 0;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at]!;
      const upper = byte >= 0x41 && byte <= 0x5a ? 0x20 : 0;
      lower[at - start] = byte | upper;
      cases = Math.imul(cases ^ upper, factor);
    }
    return cases;
  }
}

import { SipHash } from './sip-hash.js';

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

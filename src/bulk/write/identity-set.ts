import { hash } from 'node:crypto';

/** Numbers of 32 bits kept per identity: 96 bits of its SHA-256 tell identities apart. */
const words = 3;
const segments = 256;
/** A segment grows by half when it is this full, so that no growth needs much memory at once. */
const fullest = 0.85;

/** The identities seen so far, in about 16 bytes each. */
export class IdentitySet {
  readonly #segments = Array.from({ length: segments }, () => new Segment());
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** False when the identity was there already. */
  add(identity: string): boolean {
    const digest = hash('sha256', identity, 'buffer');
    const key = Uint32Array.from({ length: words }, (_, word) => digest.readUInt32LE(4 * word));
    const segment = this.#segments[digest[31] ?? 0];
    if (segment?.add(key) !== true) return false;
    this.#size += 1;
    return true;
  }
}

/** One part of the set: open addressing, linear probing. */
class Segment {
  /** Of an empty slot the first word is 0. */
  #slots = new Uint32Array(16 * words);
  #size = 0;

  add(key: Uint32Array): boolean {
    key[0] = (key[0] ?? 0) | 1;
    if (!insert(this.#slots, key, 0)) return false;
    this.#size += 1;
    if (this.#size * words > this.#slots.length * fullest) this.#grow();
    return true;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(Math.ceil((old.length / words) * 1.5) * words);
    for (let at = 0; at < old.length; at += words) {
      if (old[at] !== 0) insert(this.#slots, old, at);
    }
  }
}

/** Puts the key at `keys[at]` into its slot; false when it is there already. */
function insert(slots: Uint32Array, keys: Uint32Array, at: number): boolean {
  const count = slots.length / words;
  let slot = (keys[at + 1] ?? 0) % count;
  while (slots[words * slot] !== 0) {
    if (isSame(slots, words * slot, keys, at)) return false;
    slot = (slot + 1) % count;
  }
  for (let word = 0; word < words; word += 1) slots[words * slot + word] = keys[at + word] ?? 0;
  return true;
}

function isSame(slots: Uint32Array, slot: number, keys: Uint32Array, at: number): boolean {
  for (let word = 0; word < words; word += 1) {
    if (slots[slot + word] !== keys[at + word]) return false;
  }
  return true;
}

import { hash } from 'node:crypto';

/** Numbers of 32 bits kept per identity: 128 bits of its SHA-256 tell identities apart. */
const words = 4;
const initialSlots = 1 << 12;

/** The identities seen so far, in 16 bytes each at most 60 % of the table full. */
export class IdentitySet {
  #slots = new Uint32Array(initialSlots * words);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** False when the identity was there already. */
  add(identity: string): boolean {
    const digest = hash('sha256', identity, 'buffer');
    const key = Uint32Array.from({ length: words }, (_, word) => digest.readUInt32LE(4 * word));
    key[0] = (key[0] ?? 0) | 1; // an empty slot begins with 0
    if (!insert(this.#slots, key, 0)) return false;
    this.#size += 1;
    if (this.#size * words > this.#slots.length * 0.6) this.#grow();
    return true;
  }

  #grow(): void {
    const larger = new Uint32Array(this.#slots.length * 2);
    for (let at = 0; at < this.#slots.length; at += words) {
      if (this.#slots[at] !== 0) insert(larger, this.#slots, at);
    }
    this.#slots = larger;
  }
}

/** Puts the key at `keys[at]` into its slot; false when it is there already. */
function insert(slots: Uint32Array, keys: Uint32Array, at: number): boolean {
  const mask = slots.length - 1;
  let slot = ((keys[at + 1] ?? 0) * words) & mask;
  while (slots[slot] !== 0) {
    if (isSame(slots, slot, keys, at)) return false;
    slot = (slot + words) & mask;
  }
  for (let word = 0; word < words; word += 1) slots[slot + word] = keys[at + word] ?? 0;
  return true;
}

function isSame(slots: Uint32Array, slot: number, keys: Uint32Array, at: number): boolean {
  for (let word = 0; word < words; word += 1) {
    if (slots[slot + word] !== keys[at + word]) return false;
  }
  return true;
}

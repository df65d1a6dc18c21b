import { sameKey } from './member-name.js';

const fewest = 256;
/** Numbers kept of each key: object, hash, start, end. */
const stride = 4;

/**
 * The keys of all objects of one JSON text, in a hash table that finds a key that its object
 * already has. Emptying it only moves `#base`, below which entries of earlier texts lie.
 */
export class KeyTable {
  /** `stride` numbers for each key, in order of appearance. */
  #keys = new Int32Array(stride * fewest);
  #count = 0;
  #base = 0;
  /** `#base + 1 + index` of a key; anything up to `#base` is a free slot. */
  #slots = new Int32Array(2 * fewest);

  clear(): void {
    this.#base += this.#count;
    this.#count = 0;
    if (this.#base > 0x3fff_ffff) {
      this.#slots.fill(0);
      this.#base = 0;
    }
  }

  /** Adds the key `bytes[start, end)` of the object numbered `object`; false if that has it. */
  add(bytes: Buffer, object: number, hash: number, start: number, end: number): boolean {
    if (stride * this.#count === this.#keys.length) this.#grow();
    const keys = this.#keys;
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = slotOf(object, hash) & mask;
    for (;;) {
      const at = stride * (slots[slot]! - this.#base - 1);
      if (at < 0) break;
      const isSame =
        keys[at + 1] === hash &&
        keys[at] === object &&
        sameKey(bytes, keys[at + 2]!, keys[at + 3]!, bytes, start, end);
      if (isSame) return false;
      slot = (slot + 1) & mask;
    }
    const at = stride * this.#count++;
    slots[slot] = this.#base + this.#count;
    keys[at] = object;
    keys[at + 1] = hash;
    keys[at + 2] = start;
    keys[at + 3] = end;
    return true;
  }

  #grow(): void {
    const keys = new Int32Array(2 * this.#keys.length);
    keys.set(this.#keys);
    this.#keys = keys;
    const slots = new Int32Array(2 * this.#slots.length);
    const mask = slots.length - 1;
    for (let index = 0; index < this.#count; index++) {
      let slot = slotOf(keys[stride * index]!, keys[stride * index + 1]!) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = 1 + index;
    }
    this.#slots = slots;
    this.#base = 0;
  }
}

function slotOf(object: number, hash: number): number {
  const mixed = hash ^ Math.imul(object, 0x9e37_79b1);
  return mixed ^ (mixed >>> 15);
}

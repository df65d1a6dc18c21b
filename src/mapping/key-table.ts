import { sameKey } from './member-name.js';

const smallest = 256;

/**
 * The keys of all objects of one JSON text, in a hash table that finds a key that its object
 * already has. It is emptied for each text by moving `#base`, which older entries lie below.
 */
export class KeyTable {
  /** Objects, hashes and ranges of the keys, in order of appearance. */
  readonly #objects: number[] = [];
  readonly #hashes: number[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #count = 0;
  #base = 0;
  /** `#base + 1 + index` of a key; anything up to `#base` is a free slot. */
  #slots = new Int32Array(4 * smallest);

  clear(): void {
    this.#base += this.#count;
    this.#count = 0;
    if (this.#base > 0x3fff_ffff) this.#resize(this.#slots.length);
  }

  /** Adds the key `bytes[start, end)` of the object numbered `object`; false if that has it. */
  add(bytes: Buffer, object: number, hash: number, start: number, end: number): boolean {
    if (2 * this.#count >= this.#slots.length) this.#resize(4 * this.#slots.length);
    const mask = this.#slots.length - 1;
    let slot = spread(object, hash) & mask;
    for (;;) {
      const index = this.#slots[slot]! - this.#base - 1;
      if (index < 0) break;
      const isSame =
        this.#hashes[index] === hash &&
        this.#objects[index] === object &&
        sameKey(bytes, this.#starts[index]!, this.#ends[index]!, bytes, start, end);
      if (isSame) return false;
      slot = (slot + 1) & mask;
    }
    const index = this.#count++;
    this.#slots[slot] = this.#base + 1 + index;
    this.#objects[index] = object;
    this.#hashes[index] = hash;
    this.#starts[index] = start;
    this.#ends[index] = end;
    return true;
  }

  #resize(length: number): void {
    this.#slots = new Int32Array(length);
    this.#base = 0;
    for (let index = 0; index < this.#count; index++) {
      let slot = spread(this.#objects[index]!, this.#hashes[index]!) & (length - 1);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (length - 1);
      this.#slots[slot] = 1 + index;
    }
  }
}

function spread(object: number, hash: number): number {
  const mixed = hash ^ Math.imul(object, 0x9e37_79b1);
  return mixed ^ (mixed >>> 15);
}

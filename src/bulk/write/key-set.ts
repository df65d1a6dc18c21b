const free = -1;

/**
 * A set of 31-bit keys. Open addressing, linear probing: a key stands in the slot that its low bits
 * name, or behind it, and no free slot lies between. At most half of the slots are taken. A Set of
 * tens of thousands of numbers, most of them short-lived, leaves its old tables behind as garbage.
 */
export class KeySet {
  #slots = new Int32Array(16 * 1024).fill(free);
  #size = 0;

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    this.#reserve(to - from);
    let index = from;
    for (; index < to; index += 1) {
      const at = this.#find(keys[index]!);
      if (this.#slots[at] !== free) break;
      this.#slots[at] = keys[index]!;
    }
    this.#size += index - from;
    return index;
  }

  /** Deletes those of the first `count` keys that are there. */
  deleteAll(keys: Int32Array, count: number): void {
    for (let index = 0; index < count; index += 1) {
      const at = this.#find(keys[index]!);
      if (this.#slots[at] === free) continue;
      this.#close(at);
      this.#size -= 1;
    }
  }

  /** Where the key is, or would be. */
  #find(key: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = key & mask;
    while (slots[at] !== free && slots[at] !== key) at = (at + 1) & mask;
    return at;
  }

  /** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
  #close(start: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = start;
    for (let at = (gap + 1) & mask; slots[at] !== free; at = (at + 1) & mask) {
      const key = slots[at]!;
      if (((at - key) & mask) < ((at - gap) & mask)) continue;
      slots[gap] = key;
      gap = at;
    }
    slots[gap] = free;
  }

  #reserve(more: number): void {
    const before = this.#slots;
    let length = before.length;
    while (2 * (this.#size + more) > length) length *= 2;
    if (length === before.length) return;
    this.#slots = new Int32Array(length).fill(free);
    for (const key of before) if (key !== free) this.#slots[this.#find(key)] = key;
  }
}

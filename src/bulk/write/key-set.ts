/**
 * A set of 31-bit keys in one typed array: a Set of tens of thousands of numbers, most of them
 * short-lived, leaves its old tables behind as garbage. Open addressing, linear probing.
 */
export class KeySet {
  /** A key plus one; 0 is an empty slot. At most an eighth is taken: most keys find theirs at once. */
  #slots = new Uint32Array(8 * 1024);
  #size = 0;

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    while (8 * (this.#size + to - from) > this.#slots.length) this.#grow();
    const slots = this.#slots;
    let index = from;
    for (; index < to; index += 1) {
      const key = keys[index] ?? 0;
      const at = slotOf(slots, key);
      if (slots[at] !== 0) break;
      slots[at] = key + 1;
    }
    this.#size += index - from;
    return index;
  }

  delete(key: number): void {
    if (remove(this.#slots, key)) this.#size -= 1;
  }

  /** Deletes the first `count` keys, all of which are there. */
  deleteAll(keys: Int32Array, count: number): void {
    const slots = this.#slots;
    for (let index = 0; index < count; index += 1) remove(slots, keys[index] ?? 0);
    this.#size -= count;
  }

  #grow(): void {
    const old = this.#slots;
    const slots = new Uint32Array(2 * old.length);
    for (const slot of old) if (slot !== 0) slots[slotOf(slots, slot - 1)] = slot;
    this.#slots = slots;
  }
}

/** Where the key is, or would be. */
function slotOf(slots: Uint32Array, key: number): number {
  const mask = slots.length - 1;
  let at = key & mask;
  for (let slot = slots[at]; slot !== 0 && slot !== key + 1; slot = slots[at]) at = (at + 1) & mask;
  return at;
}

/** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
function remove(slots: Uint32Array, key: number): boolean {
  const mask = slots.length - 1;
  let gap = slotOf(slots, key);
  if (slots[gap] === 0) return false;
  for (let at = (gap + 1) & mask; slots[at] !== 0; at = (at + 1) & mask) {
    const slot = slots[at] ?? 0;
    const home = (slot - 1) & mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    slots[gap] = slot;
    gap = at;
  }
  slots[gap] = 0;
  return true;
}

/** A slot without a key: keys are never negative. */
const free = -1;

/**
 * A set of 31-bit keys in one typed array: a Set of tens of thousands of numbers, most of them
 * short-lived, leaves its old tables behind as garbage. Open addressing, linear probing.
 */
export class KeySet {
  /** Small, so that it stays near the processor: at most half of it is taken. */
  #slots = new Int32Array(8 * 1024).fill(free);
  #size = 0;

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    while (2 * (this.#size + to - from) > this.#slots.length) this.#grow();
    const slots = this.#slots;
    let index = from;
    for (; index < to; index += 1) {
      const key = keys[index] ?? 0;
      const at = slotOf(slots, key);
      if (slots[at] !== free) break;
      slots[at] = key;
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
    const slots = new Int32Array(2 * old.length).fill(free);
    for (const key of old) if (key !== free) slots[slotOf(slots, key)] = key;
    this.#slots = slots;
  }
}

/** Where the key is, or would be. */
function slotOf(slots: Int32Array, key: number): number {
  const mask = slots.length - 1;
  let at = key & mask;
  for (let other = slots[at]; other !== free && other !== key; other = slots[at]) {
    at = (at + 1) & mask;
  }
  return at;
}

/** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
function remove(slots: Int32Array, key: number): boolean {
  const mask = slots.length - 1;
  let gap = slotOf(slots, key);
  if (slots[gap] === free) return false;
  for (let at = (gap + 1) & mask; slots[at] !== free; at = (at + 1) & mask) {
    const other = slots[at] ?? 0;
    if (((at - other) & mask) < ((at - gap) & mask)) continue;
    slots[gap] = other;
    gap = at;
  }
  slots[gap] = free;
  return true;
}

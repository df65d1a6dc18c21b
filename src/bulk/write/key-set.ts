/**
 * A set of 31-bit keys in one typed array: a Set of tens of thousands of numbers, most of them
 * short-lived, leaves its old tables behind as garbage. Open addressing, linear probing.
 */
export class KeySet {
  /** A key plus one; 0 is an empty slot. At most an eighth is taken: most keys find theirs at once. */
  #slots = new Uint32Array(1024);
  #size = 0;

  /** False when the key was there already. */
  add(key: number): boolean {
    const at = this.#slotOf(key);
    if (this.#slots[at] !== 0) return false;
    this.#slots[at] = key + 1;
    this.#size += 1;
    if (8 * this.#size > this.#slots.length) this.#grow();
    return true;
  }

  /** Moves the keys behind the gap forward, so that each is still found from its own slot on. */
  delete(key: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let gap = this.#slotOf(key);
    if (slots[gap] === 0) return;
    this.#size -= 1;
    for (let at = (gap + 1) & mask; slots[at] !== 0; at = (at + 1) & mask) {
      const home = ((slots[at] ?? 0) - 1) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      slots[gap] = slots[at] ?? 0;
      gap = at;
    }
    slots[gap] = 0;
  }

  /** Where the key is, or would be. */
  #slotOf(key: number): number {
    const mask = this.#slots.length - 1;
    let at = key & mask;
    while (this.#slots[at] !== 0 && this.#slots[at] !== key + 1) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    for (const slot of old) if (slot !== 0) this.#slots[this.#slotOf(slot - 1)] = slot;
  }
}

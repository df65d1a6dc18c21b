import { instantiate, type WasmMemory, type WasmNumber } from '../../wasm.js';

/** What `wasm/key-set.ts` exports. */
interface Program {
  readonly memory: WasmMemory;
  readonly most: WasmNumber;
  add(count: number): number;
  remove(count: number): void;
}

/**
 * A set of 31-bit keys. A Set of tens of thousands of numbers, most of them short-lived, leaves its
 * old tables behind as garbage.
 */
export class KeySet {
  readonly #program = instantiate('key-set') as Program;
  readonly #most = this.#program.most.value;
  #passed = new Int32Array(0);

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    for (let index = from; index < to;) {
      const count = this.#pass(keys, index, to);
      const added = this.#program.add(count);
      index += added;
      if (added < count) return index;
    }
    return to;
  }

  /** Deletes those of the first `count` keys that are there. */
  deleteAll(keys: Int32Array, count: number): void {
    for (let index = 0; index < count; index += this.#most) {
      this.#program.remove(this.#pass(keys, index, count));
    }
  }

  /** Gives the program `keys[from, to)`, as many as it takes at once; returns how many. */
  #pass(keys: Int32Array, from: number, to: number): number {
    const count = Math.min(to - from, this.#most);
    const { buffer } = this.#program.memory;
    if (this.#passed.buffer !== buffer) this.#passed = new Int32Array(buffer); // it grew
    this.#passed.set(keys.subarray(from, from + count));
    return count;
  }
}

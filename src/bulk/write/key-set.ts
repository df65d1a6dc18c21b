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
 * old tables behind as garbage, and takes ten times as long.
 */
export class KeySet {
  readonly #program = instantiate('key-set') as Program;
  readonly #most = this.#program.most.value;

  /** Adds `keys[from, to)` up to the first one that is there already; returns its index, or `to`. */
  addRun(keys: Int32Array, from: number, to: number): number {
    for (let index = from; index < to;) {
      const count = this.#pass(keys.subarray(index, to));
      const added = this.#program.add(count);
      index += added;
      if (added < count) return index;
    }
    return to;
  }

  delete(key: number): void {
    this.deleteAll(Int32Array.of(key), 1);
  }

  /** Deletes those of the first `count` keys that are there. */
  deleteAll(keys: Int32Array, count: number): void {
    for (let index = 0; index < count;) {
      const passed = this.#pass(keys.subarray(index, count));
      this.#program.remove(passed);
      index += passed;
    }
  }

  /** Gives the program as many of the keys as it takes at once; returns how many. */
  #pass(keys: Int32Array): number {
    const passed = keys.subarray(0, this.#most);
    new Int32Array(this.#program.memory.buffer).set(passed);
    return passed.length;
  }
}

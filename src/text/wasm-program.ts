import { instantiate } from '../wasm.js';

export { reserve } from '../wasm.js';
export { type WasmMemory } from '../wasm.js';
export { type WasmNumber } from '../wasm.js';

/**
 * Returns the exports of a new instance of the program `wasm/index.ts`, with its own memory. The program
 * is compiled on first use. Throws E-WEBASSEMBLY.
 */
export function instantiateTextProgram(): unknown {
  return instantiate('text');
}

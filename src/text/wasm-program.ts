import { instantiate } from '../wasm.js';

export { reserve } from '../wasm.js';
export { type WasmMemory } from '../wasm.js';
export { type WasmNumber } from '../wasm.js';

/**
 * Another instance of the program `wasm/index.ts`, with a memory of its own: what it exports. The
 * program is compiled at its first use. Throws E-WEBASSEMBLY.
 */
export function instantiateTextProgram(): unknown {
  return instantiate('text');
}

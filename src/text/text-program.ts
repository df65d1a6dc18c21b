import { instantiate, type WasmMemory } from '../wasm.js';

export type { WasmMemory, WasmNumber } from '../wasm.js';

/** What the program calls where a page is no JSON: both throw. */
export interface PageRefusals {
  refuse(at: number): void;
  refuseDepth(): void;
}

const noPages: PageRefusals = { refuse: () => undefined, refuseDepth: () => undefined };
const pageBytes = 65_536;

/**
 * Another instance of the program `wasm/text.ts`, with a memory of its own: what it exports. The
 * program is compiled at its first use. Throws where WebAssembly, or what it needs of it, is missing.
 */
export function openTextProgram(refusals: PageRefusals = noPages): unknown {
  return instantiate('text', { 'page-insides': refusals });
}

/** Makes the memory at least so long. Throws RangeError when there is no more. */
export function reserve(memory: WasmMemory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
}

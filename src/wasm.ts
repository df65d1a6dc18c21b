import { readFileSync } from 'node:fs';
import { optimized } from './engine.js';

/** As much of it as is used here; the types of Node leave it out. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

/** The memory of an instance; every view on its buffer is lost when it grows. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** By pages of `wasmPageBytes`. Throws RangeError when there is no more. */
  grow(pages: number): number;
}

export const wasmPageBytes = 65_536;

const modules = new Map<string, object>();

/**
 * An instance of the program `wasm/<name>.ts`, with a memory of its own: what it exports. It is
 * compiled at its first use. Throws where WebAssembly, or what the program needs of it, is missing.
 */
export function instantiate(name: string, imports: object = {}): unknown {
  let module = modules.get(name);
  if (module === undefined) {
    // The build puts it there; this leads to it from `src` and from `dist`.
    const code = readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url));
    const compiled = optimized(() => new WebAssembly.Module(code));
    modules.set(name, compiled);
    module = compiled;
  }
  return new WebAssembly.Instance(module, { [name]: imports }).exports;
}

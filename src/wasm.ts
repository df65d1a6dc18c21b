import { readFileSync } from 'node:fs';

/** As much of it as is used here; the types of Node leave it out. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

/** The memory of an instance; every view on its buffer is lost when it grows. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** By pages of 64 KB. Throws RangeError when there is no more. */
  grow(pages: number): number;
}

/** A number that a program exports. */
export interface WasmNumber {
  readonly value: number;
}

const modules = new Map<string, object>();

/**
 * An instance of the program `wasm/<name>.ts`, with a memory of its own: what it exports. It is
 * compiled at its first use. Throws where WebAssembly, or what the program needs of it, is missing.
 */
export function instantiate(name: string, imports: object = {}): unknown {
  let module = modules.get(name);
  if (module === undefined) modules.set(name, (module = compile(name)));
  return new WebAssembly.Instance(module, imports).exports;
}

/** The build puts the code there; this leads to it from `src` and from `dist`. */
function compile(name: string): object {
  const code = readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url));
  return new WebAssembly.Module(code);
}

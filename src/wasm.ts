import { readFileSync } from 'node:fs';
import { EngagectlError } from './errors.js';

/** As much of it as is used here; the types of Node leave it out. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (size: { readonly initial: number }) => object;
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

const pageBytes = 65_536;
const modules = new Map<string, object>();

/**
 * An instance of the program `wasm/<name>.ts`, with a memory of its own: what it exports. It is
 * compiled at its first use. Throws E-WEBASSEMBLY where something that the program needs is missing.
 */
export function instantiate(name: string, imports: object = {}): unknown {
  // The build puts the code there; this leads to it from `src` and from `dist`.
  const code = modules.has(name)
    ? undefined
    : readFileSync(new URL(`../dist/${name}.wasm`, import.meta.url));
  try {
    if (code !== undefined) modules.set(name, new WebAssembly.Module(code));
    return new WebAssembly.Instance(modules.get(name)!, imports).exports;
  } catch (cause) {
    throw new EngagectlError(
      'E-WEBASSEMBLY',
      `WebAssembly is not to be had: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Throws E-WEBASSEMBLY where a limit of address space leaves no room for one more memory. */
export function reserveMemory(): void {
  try {
    void new WebAssembly.Memory({ initial: 1 });
  } catch (cause) {
    throw new EngagectlError('E-WEBASSEMBLY', (cause as Error).message, { cause });
  }
}

/** Makes the memory at least so long. Throws E-WEBASSEMBLY when there is no more. */
export function reserve(memory: WasmMemory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing <= 0) return;
  try {
    memory.grow(Math.ceil(missing / pageBytes));
  } catch (cause) {
    throw new EngagectlError('E-WEBASSEMBLY', `there is no memory for ${bytes} bytes`, { cause });
  }
}

import { randomFillSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { EngagectlError } from './errors.js';

/** The part of the API used here, which the types of Node omit. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
  readonly Memory: new (size: { readonly initial: number }) => object;
};

/** Memory of an instance; growing it detaches all views of its buffer. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** Grows by pages of 64 KiB. Throws RangeError if memory is exhausted. */
  grow(pages: number): number;
}

/** A number exported by a program. */
export interface WasmNumber {
  readonly value: number;
}

const pageBytes = 65_536;
let program: object | undefined;
/** Secret of keyed hashes, so that nobody can write names that all meet in a hash table. */
const secret = randomFillSync(new Uint32Array(4));

/**
 * Returns the exports of a new instance of the program `wasm/index.ts`, with its own memory. The
 * program is compiled on first use. Throws E-WEBASSEMBLY if the platform lacks something it needs.
 */
export function instantiateTextProgram(): unknown {
  // The build puts the code there, which `src` and `dist` reach by the same relative path.
  const code = program ? undefined : readFileSync(new URL('../dist/text.wasm', import.meta.url));
  try {
    if (code) program = new WebAssembly.Module(code);
    const { exports } = new WebAssembly.Instance(program!);
    (exports as { setSecret(...words: number[]): void }).setSecret(...secret);
    return exports;
  } catch (cause) {
    throw new EngagectlError(
      'E-WEBASSEMBLY',
      `WebAssembly is unavailable: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** Throws E-WEBASSEMBLY if the address space has no room for another memory. */
export function reserveMemory(): void {
  try {
    void new WebAssembly.Memory({ initial: 1 });
  } catch (cause) {
    throw new EngagectlError('E-WEBASSEMBLY', (cause as Error).message, { cause });
  }
}

/** Grows the memory to at least this many bytes. Throws E-WEBASSEMBLY if memory is exhausted. */
export function reserve(memory: WasmMemory, bytes: number): void {
  const missing = bytes - memory.buffer.byteLength;
  if (missing <= 0) return;
  try {
    memory.grow(Math.ceil(missing / pageBytes));
  } catch (cause) {
    throw new EngagectlError('E-WEBASSEMBLY', `not enough memory for ${bytes} bytes`, { cause });
  }
}

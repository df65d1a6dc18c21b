import { roomFor, type Insides, type PageBytes } from './page-bytes.js';
import { tooDeep, unexpected } from './page-tokens.js';
import {
  openTextProgram,
  reserve,
  type WasmMemory,
  type WasmNumber,
} from '../../text/text-program.js';

/** What `wasm/page-insides.ts` exports. */
interface Exports {
  readonly passInside: Insides['pass'];
  readonly memory: WasmMemory;
  /** Where the page begins in the memory. */
  readonly page: WasmNumber;
}

/** How far behind the last byte `pass` may look. */
const slack = 64;

/** The bytes of a page in the memory of a WebAssembly instance, which goes over insides 64 bytes at a time. */
export class WasmBytes implements PageBytes {
  /** Undefined where it cannot run: a processor without SIMD, or too little memory. */
  static open(): WasmBytes | undefined {
    try {
      return new WasmBytes(open());
    } catch {
      return undefined;
    }
  }

  readonly #code: Exports;
  #bytes: Buffer;

  private constructor(code: Exports) {
    this.#code = code;
    this.insides = { pass: code.passInside };
    this.#bytes = this.#view();
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
  readonly insides: Insides;

  reserve(length: number): void {
    const room = this.#bytes.length;
    if (length <= room) return;
    const { memory, page } = this.#code;
    reserve(memory, page.value + roomFor(length, room) + slack);
    this.#bytes = this.#view(); // the old one has lost its memory
  }

  #view(): Buffer {
    const { memory, page } = this.#code;
    const length = memory.buffer.byteLength - page.value - slack;
    return Buffer.from(memory.buffer, page.value, length);
  }
}

function open(): Exports {
  const imports = {
    refuse: (at: number) => {
      throw unexpected(at);
    },
    refuseDepth: () => {
      throw tooDeep();
    },
  };
  return openTextProgram(imports) as Exports;
}

import { roomFor, tooDeep, unexpected, type PageEvents, type PageTokens } from './page-tokens.js';
import { instantiate, wasmPageBytes, type WasmMemory } from '../../wasm.js';

/** What `wasm/page-tokens.ts` exports. */
interface Exports {
  readonly memory: WasmMemory;
  /** Where the page begins in the memory. */
  readonly page: { readonly value: number };
  restart(): void;
  scan(end: number): void;
  isFinished(): boolean;
}

/** How far behind the last byte `scan` may look. */
const slack = 32;

/** The tokens of a page, 16 bytes at a time, in the memory of a WebAssembly instance. */
export class TokensInWasm implements PageTokens {
  /** Undefined where it cannot run: a processor without SIMD, or too little memory. */
  static open(events: PageEvents): TokensInWasm | undefined {
    try {
      return new TokensInWasm(open(events));
    } catch {
      return undefined;
    }
  }

  readonly #code: Exports;
  #bytes: Buffer;

  private constructor(code: Exports) {
    this.#code = code;
    this.#bytes = this.#view();
  }

  get bytes(): Buffer {
    return this.#bytes;
  }
  get finished(): boolean {
    return this.#code.isFinished();
  }

  restart(): void {
    this.#code.restart();
  }

  reserve(length: number): void {
    const room = this.#bytes.length;
    if (length <= room) return;
    this.#code.memory.grow(Math.ceil((roomFor(length, room) - room) / wasmPageBytes));
    this.#bytes = this.#view(); // the old one has lost its memory
  }

  scan(end: number): void {
    this.#code.scan(end);
  }

  #view(): Buffer {
    const { memory, page } = this.#code;
    const length = memory.buffer.byteLength - page.value - slack;
    return Buffer.from(memory.buffer, page.value, length);
  }
}

function open(events: PageEvents): Exports {
  const imports = {
    key: (start: number, end: number) => events.key(start, end),
    open: (depth: number, byte: number, at: number) => events.open(depth, byte, at),
    close: (depth: number, at: number) => events.close(depth, at),
    refuse: (at: number) => {
      throw unexpected(at);
    },
    refuseDepth: () => {
      throw tooDeep();
    },
  };
  return instantiate('page-tokens', imports) as Exports;
}

import { instantiate, reserve, type WasmMemory, type WasmNumber } from '../wasm.js';
import { readBytes } from './source.js';

/** What `wasm/text-hash.ts` exports. */
interface Program {
  readonly memory: WasmMemory;
  readonly room: WasmNumber;
  readonly roomBytes: WasmNumber;
  begin(): void;
  update(at: number, length: number): void;
  hash(): bigint;
}

/**
 * A hash of 64 bits of a text that comes in parts, wherever it was cut. It tells whether a file
 * was changed, not whether someone forged it. CRC-32 of zlib takes three times as long, and what
 * takes most of it is to bring the text to the processor: so it is looked at first thing, where
 * it was read into. Making one takes longer than reading a small file: it takes texts in turn.
 */
export class TextHash {
  /** To read into: text that lies there need not be copied. */
  readonly buffers: readonly [Buffer, Buffer];
  readonly #program = instantiate('text-hash') as Program;
  readonly #memory: Buffer;

  constructor() {
    const { memory, room, roomBytes } = this.#program;
    const start = room.value + roomBytes.value;
    const middle = start + readBytes;
    const end = middle + readBytes;
    reserve(memory, end);
    this.#memory = Buffer.from(memory.buffer);
    this.buffers = [this.#memory.subarray(start, middle), this.#memory.subarray(middle, end)];
  }

  /** Another text begins. */
  begin(): void {
    this.#program.begin();
  }

  update(text: Buffer): void {
    const program = this.#program;
    if (text.buffer === this.#memory.buffer) return program.update(text.byteOffset, text.length);
    const room = program.room.value;
    const roomBytes = program.roomBytes.value;
    for (let at = 0; at < text.length; at += roomBytes) {
      program.update(room, text.copy(this.#memory, room, at, at + roomBytes));
    }
  }

  /** Of all text so far: 16 hexadecimal digits. */
  hash(): string {
    return BigInt.asUintN(64, this.#program.hash()).toString(16).padStart(16, '0');
  }
}

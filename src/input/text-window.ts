import { TextMemory } from './text-buffer.js';

/** Up to here one more chunk is worth a look at once: it may come from a slow pipe. */
const smallWindow = 64 * 1024;

const nothing = Buffer.alloc(0);

/**
 * The part of a text that was read and not yet used. Bytes once handed out do not change while
 * their memory is held: more text goes behind them, or to another one.
 */
export class TextWindow {
  bytes: Buffer = nothing;
  /** Where `bytes` lie; undefined before there are any. */
  memory: TextMemory | undefined;
  /** Where in the memory they begin. */
  #start = 0;
  readonly #free: TextMemory[] = [];
  /** Nothing follows `bytes`. */
  ended = false;
  /** Bytes given up so far: where in the text `bytes` starts. */
  offset = 0;
  readonly #chunks: AsyncGenerator<Buffer>;
  /** Thrown by the next `grow`, after the bytes that came before it. */
  #failure: unknown;

  constructor(chunks: AsyncGenerator<Buffer>) {
    this.#chunks = chunks;
  }

  /**
   * Reads at least one chunk more, or finds the end. Throws EngagectlError E-FILE-READ.
   * A large window grows by half, since a record that outgrows it is scanned again from its start.
   */
  async grow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const before = this.bytes.length;
    const wanted = before < smallWindow ? 1 : before >> 1;
    try {
      while (this.bytes.length < before + wanted && !this.ended) {
        const { value, done } = await this.#chunks.next();
        if (done) this.ended = true;
        else this.#append(value, before + wanted);
      }
    } catch (failure) {
      if (this.bytes.length === before) throw failure;
      this.#failure = failure;
    }
  }

  /** Copies the chunk, since it is only lent; `wanted` bytes are going to be together. */
  #append(chunk: Buffer, wanted: number): void {
    const length = this.bytes.length + chunk.length;
    if (!this.memory || this.#start + length > this.memory.bytes.length) {
      const before = this.memory;
      const room = Math.max(length, wanted + chunk.length);
      this.memory = TextMemory.holding(this.bytes, room, this.#free);
      this.#start = 0;
      before?.letGo();
    }
    const end = this.#start + length;
    chunk.copy(this.memory.bytes, end - chunk.length);
    this.bytes = this.memory.bytes.subarray(this.#start, end);
  }

  /** Gives up the first `count` bytes. */
  drop(count: number): void {
    if (count === 0) return;
    this.offset += count;
    this.#start += count;
    this.bytes = this.bytes.subarray(count);
  }

  /** Gives up the text before `offset`; false when the text ends earlier. */
  async skipTo(offset: number): Promise<boolean> {
    while (this.offset < offset) {
      this.drop(Math.min(this.bytes.length, offset - this.offset));
      if (this.offset === offset) break;
      if (this.ended) return false;
      await this.grow();
    }
    return true;
  }
}

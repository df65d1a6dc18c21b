import { crc32 } from 'node:zlib';

/** Up to here one more chunk is worth a look at once: it may come from a slow pipe. */
const smallWindow = 64 * 1024;

const nothing = Buffer.alloc(0);

/**
 * The part of a text that was read and not yet used. Bytes once handed out never change:
 * more text makes a new buffer.
 */
export class TextWindow {
  bytes: Buffer = nothing;
  /** Nothing follows `bytes`. */
  ended = false;
  /** Bytes given up so far: where in the text `bytes` starts. */
  offset = 0;
  /** CRC-32 of them; 0 when nobody wants to know. */
  crc = 0;
  lastByte = 0;
  readonly #checksum: boolean;
  readonly #chunks: AsyncGenerator<Buffer>;
  /** Thrown by the next `grow`, after the bytes that came before it. */
  #failure: unknown;

  constructor(chunks: AsyncGenerator<Buffer>, { checksum = false } = {}) {
    this.#chunks = chunks;
    this.#checksum = checksum;
  }

  /**
   * Reads at least one chunk more, or finds the end. Throws EngagectlError E-FILE-READ.
   * Doubles a large window, since a record that outgrows it is scanned again from its start.
   */
  async grow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const parts = [this.bytes];
    const wanted = this.bytes.length < smallWindow ? 1 : this.bytes.length;
    try {
      for (let read = 0; read < wanted && !this.ended;) {
        const { value, done } = await this.#chunks.next();
        if (done) this.ended = true;
        else {
          parts.push(value);
          read += value.length;
        }
      }
    } catch (failure) {
      if (parts.length === 1) throw failure;
      this.#failure = failure;
    }
    const filled = parts.filter((part) => part.length > 0);
    this.bytes = filled.length === 1 ? filled[0]! : Buffer.concat(filled);
  }

  /** Gives up the first `count` bytes. */
  drop(count: number): void {
    if (count === 0) return;
    if (this.#checksum) this.crc = crc32(this.bytes.subarray(0, count), this.crc);
    this.lastByte = this.bytes[count - 1]!;
    this.offset += count;
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

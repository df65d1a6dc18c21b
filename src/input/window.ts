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
  readonly #chunks: AsyncGenerator<Buffer>;
  /** Thrown by the next `grow`, after the bytes that came before it. */
  #failure: unknown;

  constructor(chunks: AsyncGenerator<Buffer>) {
    this.#chunks = chunks;
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
    this.bytes = this.bytes.subarray(count);
  }
}

import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d, undefined]);

/** Bytes at the beginning that are told apart by a strong digest, too. */
export const headBytes = 4096;

/** A text that goes by, and what it was so far. */
export class DigestedText {
  /** Bytes. */
  length = 0;
  #sum = 0;
  #lastByte: number | undefined;
  #ended = false;
  #head: Buffer = Buffer.alloc(0);

  /** CRC-32 in hexadecimal: it tells whether a file was changed, not whether someone forged it. */
  get hash(): string {
    return this.#sum.toString(16).padStart(8, '0');
  }

  /** SHA-256 of the first `headBytes`, or of all where there are fewer; cut to 16 digits. */
  get head(): string {
    return createHash('sha256').update(this.#head).digest('hex').slice(0, 16);
  }

  /** It ended, and what follows one day would belong to its last line. */
  get endsInLine(): boolean {
    return this.#ended && !lineEnds.has(this.#lastByte);
  }

  add(text: Buffer): void {
    if (this.length < headBytes) {
      const more = text.subarray(0, headBytes - this.length);
      this.#head = Buffer.concat([this.#head, more]); // a copy: the text is only lent
    }
    this.#sum = crc32(text, this.#sum);
    this.length += text.length;
    this.#lastByte = text.at(-1) ?? this.#lastByte;
  }

  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.add(chunk);
      yield chunk;
    }
    this.#ended = true;
  }
}

import { crc32 } from 'node:zlib';

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d, undefined]);

/** A text that goes by, and what it was so far. */
export class DigestedText {
  /** Bytes. */
  length = 0;
  #sum = 0;
  #lastByte: number | undefined;
  #ended = false;

  /** CRC-32 in hexadecimal: it tells whether a file was changed, not whether someone forged it. */
  get hash(): string {
    return this.#sum.toString(16).padStart(8, '0');
  }

  /** It ended, and what follows one day would belong to its last line. */
  get endsInLine(): boolean {
    return this.#ended && !lineEnds.has(this.#lastByte);
  }

  add(text: Buffer): void {
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

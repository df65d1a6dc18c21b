import type { TextHash } from './text-hash.js';

const lineEnds: ReadonlySet<number | undefined> = new Set([0x0a, 0x0d, undefined]);

/** A text that is passed on, and what has gone by of it. */
export class DigestedText {
  /** Bytes. */
  length = 0;
  readonly #hash: TextHash;
  #lastByte: number | undefined;
  #ended = false;

  /** `hash` is for this text alone until it was read to its end. */
  constructor(hash: TextHash) {
    hash.begin();
    this.#hash = hash;
  }

  /** What its file is best read into. */
  get buffers(): readonly [Buffer, Buffer] {
    return this.#hash.buffers;
  }

  /** See TextHash. */
  get hash(): string {
    return this.#hash.hash();
  }

  /** It ended, and what follows one day would belong to its last line. */
  get endsInLine(): boolean {
    return this.#ended && !lineEnds.has(this.#lastByte);
  }

  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk);
      this.length += chunk.length;
      this.#lastByte = chunk.at(-1) ?? this.#lastByte;
      yield chunk;
    }
    this.#ended = true;
  }
}

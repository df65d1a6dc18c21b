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
  /** What went by, as long as it may be asked for. */
  #kept: Buffer[] | undefined;
  /** A place ahead, and what the text before it was when it went by. */
  #place: { readonly offset: number; hash: string | undefined } | undefined;

  /** `keeps`: until `hashAt` is asked for. */
  constructor({ keeps = false }: { readonly keeps?: boolean } = {}) {
    this.#kept = keeps ? [] : undefined;
  }

  /** What the first `offset` bytes are, once they have gone by; to be asked for once. */
  hashAt(offset: number): () => string | undefined {
    const before = new DigestedText();
    for (const text of this.#kept ?? []) before.add(text.subarray(0, offset - before.length));
    this.#kept = undefined;
    const hash = before.length === offset ? before.hash : undefined;
    const place = { offset, hash };
    this.#place = place;
    return () => place.hash;
  }

  /** It will not be asked for any more. */
  release(): void {
    this.#kept = undefined;
  }

  /** SHA-256 as in `head`, of the first bytes, as if there were no more. */
  headOf(bytes: number): string {
    return digestOf(this.#head.subarray(0, bytes));
  }

  /** CRC-32 in hexadecimal: it tells whether a file was changed, not whether someone forged it. */
  get hash(): string {
    return hexOf(this.#sum);
  }

  /** SHA-256 of the first `headBytes`, or of all where there are fewer; cut to 16 digits. */
  get head(): string {
    return digestOf(this.#head);
  }

  /** It ended, and what follows one day would belong to its last line. */
  get endsInLine(): boolean {
    return this.#ended && !lineEnds.has(this.#lastByte);
  }

  add(text: Buffer): void {
    if (text.length === 0) return; // of nothing, crc32 forgets what came before
    if (this.length < headBytes) {
      const more = text.subarray(0, headBytes - this.length);
      this.#head = Buffer.concat([this.#head, more]); // a copy: the text is only lent
    }
    const left = (this.#place?.offset ?? 0) - this.length;
    if (this.#place && left > 0 && left <= text.length) {
      this.#place.hash = hexOf(crc32(text.subarray(0, left), this.#sum));
    }
    this.#kept?.push(Buffer.from(text));
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

const digestOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest().toString('hex', 0, 8);

const hexOf = (sum: number): string => sum.toString(16).padStart(8, '0');

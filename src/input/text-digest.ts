import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { EngagectlError } from '../errors.js';
import type { TextDigest } from './row-block.js';

/** Bytes at the start that also get a strong digest. */
export const headBytes = 4096;

/** Computes digests of a text, chunk by chunk. */
export class TextHasher {
  /** Bytes. */
  length = 0;
  #sum = 0;
  /** The text up to its last line end. */
  #lines = { length: 0, sum: 0 };
  #head: Buffer = Buffer.alloc(0);
  /** Text so far, until `hashAt` or `release` is called. */
  #kept: Buffer[] | undefined;
  /** Offset requested with `hashAt`, and the hash of the text before it. */
  #place: { readonly offset: number; hash: string | undefined } | undefined;

  /** `keeps`: keep the text until `hashAt` or `release` is called. */
  constructor({ keeps = false }: { readonly keeps?: boolean } = {}) {
    this.#kept = keeps ? [] : undefined;
  }

  /** Returns a function that returns the hash of the first `offset` bytes once they were added. Can be called once. */
  hashAt(offset: number): () => string | undefined {
    const before = new TextHasher();
    for (const text of this.#kept ?? []) before.add(text.subarray(0, offset - before.length));
    this.#kept = undefined;
    const hash = before.length === offset ? before.hash : undefined;
    const place = { offset, hash };
    this.#place = place;
    return () => place.hash;
  }

  /** Frees the text kept for `hashAt`. */
  release(): void {
    this.#kept = undefined;
  }

  /** Returns the digest `head` of the first `bytes` bytes only. */
  headOf(bytes: number): string {
    return digestOf(this.#head.subarray(0, bytes));
  }

  /** Returns the digest `hash` of the first `bytes` bytes, which are in the head. */
  hashOf(bytes: number): string {
    return hexOf(crc32(this.#head.subarray(0, bytes)));
  }

  /** CRC-32 in hexadecimal: detects changes, but not forgery. */
  get hash(): string {
    return hexOf(this.#sum);
  }

  /** SHA-256 of the first `headBytes` bytes, or of all if there are fewer; the first 16 digits. */
  get head(): string {
    return digestOf(this.#head);
  }

  /** Length and hash of the text up to its last line end, because the rest may be incomplete and change. */
  get lines(): { readonly length: number; readonly hash: string } {
    const { length, sum } = this.#lines;
    return { length, hash: hexOf(sum) };
  }

  /** Returns what `add` would lead to. */
  followedBy(text: Buffer): Pick<TextHasher, 'length' | 'hash' | 'head'> {
    const before = this.#head;
    return {
      length: this.length + text.length,
      hash: hexOf(crc32(text, this.#sum)),
      get head() {
        return digestOf(Buffer.concat([before, text]).subarray(0, headBytes));
      },
    };
  }

  add(text: Buffer): void {
    if (text.length === 0) return; // crc32 of an empty buffer would reset the sum
    if (this.length < headBytes) {
      const more = text.subarray(0, headBytes - this.length);
      this.#head = Buffer.concat([this.#head, more]); // a copy, because the buffer is reused
    }
    const left = (this.#place?.offset ?? 0) - this.length;
    if (this.#place && left > 0 && left <= text.length) {
      this.#place.hash = hexOf(crc32(text.subarray(0, left), this.#sum));
    }
    this.#kept?.push(Buffer.from(text));
    const lines = text.lastIndexOf(0x0a) + 1;
    if (lines > 0) {
      this.#sum = crc32(text.subarray(0, lines), this.#sum);
      this.#lines = { length: this.length + lines, sum: this.#sum };
    }
    if (lines < text.length) this.#sum = crc32(text.subarray(lines), this.#sum);
    this.length += text.length;
  }

  async *pass(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.add(chunk);
      yield chunk;
    }
  }
}

const digestOf = (bytes: Buffer): string =>
  createHash('sha256').update(bytes).digest().toString('hex', 0, 8);

const hexOf = (sum: number): string => sum.toString(16).padStart(8, '0');

/** Numbers per input: length of its text, and the position after its last record. */
const numbersEach = 4;
/** Bytes per input: flags, hash, and digest of the head. */
const bytesEach = 13;
const flags = { known: 1, endsInLine: 2, ended: 4 } as const;

/** Digests by input, stored as numbers because there may be many thousands. */
export class DigestTable {
  #numbers = new Float64Array(0);
  #bytes = Buffer.alloc(0);
  readonly #states = new Map<number, string>();

  /** Reserves room for `inputs` digests. */
  constructor(inputs = 0) {
    this.#makeRoom(inputs);
  }

  /** Sets or replaces the digest of an input. */
  set({ input, offset, hash, endsInLine, ended }: TextDigest): void {
    this.#makeRoom(input + 1);
    const { end, head } = ended ?? {};
    const known = flags.known | (endsInLine ? flags.endsInLine : 0) | (ended ? flags.ended : 0);
    this.#numbers.set(
      [offset, end?.offset ?? 0, end?.line ?? 0, end?.ordinal ?? 0],
      input * numbersEach,
    );
    this.#bytes[input * bytesEach] = known;
    this.#bytes.write(hash + (head ?? ''), input * bytesEach + 1, 'hex');
    if (end?.state === undefined) this.#states.delete(input);
    else this.#states.set(input, end.state);
  }

  /** Adds the digests of inputs that have none yet. */
  addMissing(others: Iterable<TextDigest>): void {
    for (const digest of others) if (!this.get(digest.input)) this.set(digest);
  }

  get(input: number): TextDigest | undefined {
    const at = input * bytesEach;
    const known = this.#bytes[at] ?? 0;
    if (known === 0) return undefined;
    const [offset = 0, endOffset = 0, line = 0, ordinal = 0] = this.#numbers.subarray(
      input * numbersEach,
    );
    const hash = this.#bytes.toString('hex', at + 1, at + 5);
    const endsInLine = (known & flags.endsInLine) > 0;
    if ((known & flags.ended) === 0) return { input, offset, hash, endsInLine };
    const state = this.#states.get(input);
    const end = { input, offset: endOffset, line, ordinal, ...(state !== undefined && { state }) };
    const head = this.#bytes.toString('hex', at + 5, at + bytesEach);
    return { input, offset, hash, endsInLine, ended: { end, head } };
  }

  /** Yields all digests in the order of the inputs. */
  *[Symbol.iterator](): Generator<TextDigest> {
    for (let input = 0; input * bytesEach < this.#bytes.length; input += 1) {
      const digest = this.get(input);
      if (digest) yield digest;
    }
  }

  #makeRoom(inputs: number): void {
    if (this.#bytes.length >= inputs * bytesEach) return;
    const room = Math.max(inputs, Math.ceil((1.5 * this.#bytes.length) / bytesEach));
    const [numbers, bytes] = [this.#numbers, this.#bytes];
    this.#numbers = new Float64Array(room * numbersEach);
    this.#numbers.set(numbers);
    this.#bytes = Buffer.alloc(room * bytesEach);
    bytes.copy(this.#bytes);
  }
}

/** Returns the error for an input that changed since an earlier part of the run read it. */
export const inputChangedError = (name: string, why: string): EngagectlError =>
  new EngagectlError('E-INPUT-CHANGED', `${name} has changed since the run started`, {
    file: name,
    why,
    fix: 'restore the file and rerun with --resume, or start from scratch with --fresh',
    resumes: true,
  });

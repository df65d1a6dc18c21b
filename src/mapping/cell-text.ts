import { JsonWriter } from './json-writer.js';
import { sameBytes } from './same-bytes.js';

const quote = 0x22;
const backslash = 0x5c;

/** What a JSON escape's letter stands for. */
const escapes = new Map([
  [0x22, 0x22],
  [0x5c, 0x5c],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/**
 * The content of a CSV cell or JSON string as plain UTF-8: `bytes[start, end)`, a view on the
 * input where nothing had to be unquoted. One value is used again for every cell.
 */
export class CellText {
  bytes: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;
  /** Set when a JSON string escaped half a surrogate pair, which UTF-8 cannot hold. */
  broken = false;
  readonly #unquoted = new JsonWriter();

  /** A cell's content; a negative end says that it holds doubled quotes (input/rows.ts). */
  ofCell(source: Buffer, start: number, end: number): this {
    return end < 0 ? this.#undouble(source, start, ~end) : this.#view(source, start, end);
  }

  /** A JSON string's content: what stands between its quotes. */
  ofJson(source: Buffer, start: number, end: number): this {
    for (let at = start; at < end; at++) {
      if (source[at] === backslash) return this.#unescape(source, start, end);
    }
    return this.#view(source, start, end);
  }

  get isEmpty(): boolean {
    return this.start === this.end;
  }

  is(text: Buffer): boolean {
    return sameBytes(this.bytes, this.start, this.end, text);
  }

  toString(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  #view(source: Buffer, start: number, end: number): this {
    this.bytes = source;
    this.start = start;
    this.end = end;
    this.broken = false;
    return this;
  }

  #undouble(source: Buffer, start: number, end: number): this {
    const text = this.#unquoted;
    text.length = 0;
    text.reserve(end - start);
    for (let from = start; from < end; from++) {
      const byte = source[from]!;
      text.bytes[text.length++] = byte;
      if (byte === quote) from++;
    }
    return this.#view(text.bytes, 0, text.length);
  }

  #unescape(source: Buffer, start: number, end: number): this {
    const text = this.#unquoted;
    text.length = 0;
    text.reserve(end - start); // an escape is never shorter than what it stands for
    let broken = false;
    for (let from = start; from < end; from++) {
      const byte = source[from]!;
      const plain = byte === backslash ? escapes.get(source[++from]!) : byte;
      if (plain !== undefined) {
        text.bytes[text.length++] = plain;
        continue;
      }
      const code = codePointAt(source, from, end);
      broken ||= isSurrogate(code);
      text.length = writeCodePoint(text.bytes, text.length, code);
      from += code > 0xffff ? 10 : 4;
    }
    this.#view(text.bytes, 0, text.length);
    this.broken = broken;
    return this;
  }
}

const isSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdfff;

/** The code point of `uXXXX`, or of the surrogate pair `uXXXX\\uXXXX`, from `at` on. */
function codePointAt(source: Buffer, at: number, end: number): number {
  const high = hexAt(source, at + 1);
  const isPair = high >= 0xd800 && high <= 0xdbff && at + 10 < end && source[at + 5] === backslash;
  if (!isPair || source[at + 6] !== source[at]) return high;
  const low = hexAt(source, at + 7);
  return low >= 0xdc00 && low <= 0xdfff ? 0x1_0000 + ((high & 0x3ff) << 10) + (low & 0x3ff) : high;
}

const hexAt = (source: Buffer, at: number): number =>
  Number.parseInt(source.toString('latin1', at, at + 4), 16);

/** UTF-8, and the same scheme for half a surrogate pair, so that different halves stay different. */
function writeCodePoint(bytes: Buffer, at: number, code: number): number {
  if (code < 0x80) {
    bytes[at++] = code;
    return at;
  }
  if (code < 0x800) bytes[at++] = 0xc0 | (code >> 6);
  else {
    if (code > 0xffff) {
      bytes[at++] = 0xf0 | (code >> 18);
      bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
    } else bytes[at++] = 0xe0 | (code >> 12);
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
  }
  bytes[at++] = 0x80 | (code & 0x3f);
  return at;
}

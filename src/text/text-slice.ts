const quote = 0x22;
const nothing: Buffer = Buffer.alloc(0);

/**
 * The content of a CSV cell or JSON string as plain UTF-8: `bytes[start, end)`, borrowed. The instance
 * is reused for each cell.
 */
export class TextSlice {
  bytes = nothing;
  start = 0;
  end = 0;
  /** Set if a JSON string contained an escaped half of a surrogate pair, which UTF-8 cannot represent. */
  broken = false;
  #undoubled = nothing;

  of(bytes: Buffer, start: number, end: number, broken = false): this {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.broken = broken;
    return this;
  }

  /** Sets the content of a cell; a negative end means doubled quotes (src/input/row-block.ts). */
  ofCell(source: Buffer, start: number, end: number): this {
    return end < 0 ? this.#undouble(source, start, ~end) : this.of(source, start, end);
  }

  get isEmpty(): boolean {
    return this.start === this.end;
  }

  is(text: Buffer): boolean {
    return equalBytes(this.bytes, this.start, this.end, text);
  }

  toString(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  #undouble(source: Buffer, start: number, end: number): this {
    if (this.#undoubled.length < end - start) this.#undoubled = Buffer.alloc(2 * (end - start));
    let length = 0;
    for (let from = start; from < end; from++) {
      const byte = source[from]!;
      this.#undoubled[length++] = byte;
      if (byte === quote) from++;
    }
    return this.of(this.#undoubled, 0, length);
  }
}

/** Whether `bytes[start, end)` equals `other`. */
export function equalBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  other: Uint8Array,
): boolean {
  if (end - start !== other.length) return false;
  for (let at = 0; at < other.length; at++) if (bytes[start + at] !== other[at]) return false;
  return true;
}

/** Returns a value for messages, quoted and truncated. */
export function quoteValue(text: TextSlice | string): string {
  const value = text.toString();
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}

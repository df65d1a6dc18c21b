/** Below this many bytes a loop beats a native copy, which costs about 100 ns to call. */
const shortCopy = 64;

const quote = 0x22;
const backslash = 0x5c;
const hexDigits = Buffer.from('0123456789abcdef');
/** The letter after the backslash of a control character that has a short escape, else 0. */
const shortEscapes = new Uint8Array(0x20);
for (const [code, letter] of [
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
] as const) {
  shortEscapes[code] = letter.charCodeAt(0);
}

/** A growing stretch of bytes to which JSON is written. */
export class JsonWriter {
  bytes = Buffer.allocUnsafeSlow(4096);
  length = 0;

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** Copies bytes as they are. */
  raw(source: Buffer, start = 0, end = source.length): void {
    this.reserve(end - start);
    const { bytes } = this;
    let to = this.length;
    if (end - start > shortCopy) {
      source.copy(bytes, to, start, end);
      to += end - start;
    } else {
      for (let from = start; from < end; from++) bytes[to++] = source[from]!;
    }
    this.length = to;
  }

  /** Writes ASCII text as it is. */
  ascii(text: string): void {
    this.reserve(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Copies UTF-8 text as the content of a JSON string: escaped, without the quotes around it. */
  escaped(source: Uint8Array, start: number, end: number): void {
    this.reserve(6 * (end - start));
    const { bytes } = this;
    let to = this.length;
    for (let from = start; from < end; from++) {
      const byte = source[from]!;
      if (byte < 0x20) {
        to = writeControl(bytes, to, byte);
      } else {
        if (byte === quote || byte === backslash) bytes[to++] = backslash;
        bytes[to++] = byte;
      }
    }
    this.length = to;
  }

  /** The same for a CSV cell; a negative end says that it holds doubled quotes (input/rows.ts). */
  cell(source: Uint8Array, start: number, end: number): void {
    if (end < 0) this.#undoubled(source, start, ~end);
    else this.escaped(source, start, end);
  }

  #undoubled(source: Uint8Array, start: number, end: number): void {
    this.reserve(6 * (end - start));
    const { bytes } = this;
    let to = this.length;
    for (let from = start; from < end; from++) {
      const byte = source[from]!;
      if (byte < 0x20) {
        to = writeControl(bytes, to, byte);
      } else {
        if (byte === quote) from++;
        if (byte === quote || byte === backslash) bytes[to++] = backslash;
        bytes[to++] = byte;
      }
    }
    this.length = to;
  }
}

function writeControl(bytes: Uint8Array, to: number, byte: number): number {
  bytes[to++] = backslash;
  const short = shortEscapes[byte]!;
  if (short !== 0) {
    bytes[to++] = short;
    return to;
  }
  bytes[to++] = 0x75; // u
  bytes[to++] = 0x30;
  bytes[to++] = 0x30;
  bytes[to++] = hexDigits[byte >> 4]!;
  bytes[to++] = hexDigits[byte & 15]!;
  return to;
}

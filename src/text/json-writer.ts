/** Up to this many bytes, a loop is faster than a native copy. */
const shortCopy = 128;
const fewestBytes = 4096;

const quote = 0x22;
const backslash = 0x5c;
const minus = 0x2d;
const digitZero = 0x30;

/** A growing buffer to which JSON is written. */
export class JsonWriter {
  bytes: Buffer = Buffer.alloc(0);
  length = 0;
  #string = { text: '', json: Buffer.from('""') };
  readonly #grow: (length: number) => Buffer;

  /** `grow` enlarges the memory to a length and returns it with the content kept. */
  constructor(grow?: (length: number) => Buffer) {
    this.#grow = grow ?? ((length) => this.#copied(length));
  }

  /** Reserves `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.bytes.length)
      this.bytes = this.#grow(Math.max(needed, 2 * this.bytes.length));
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** Copies bytes. */
  raw(source: Uint8Array, start = 0, end = source.length): void {
    this.reserve(end - start);
    if (end - start > shortCopy) {
      this.bytes.set(source.subarray(start, end), this.length);
      this.length += end - start;
      return;
    }
    const { bytes } = this;
    let to = this.length;
    for (let from = start; from < end; from++) bytes[to++] = source[from]!;
    this.length = to;
  }

  /** Writes ASCII text unescaped. */
  ascii(text: string): void {
    this.reserve(text.length);
    this.length += this.bytes.write(text, this.length, 'latin1');
  }

  /** Writes a safe integer. */
  integer(value: number): void {
    if (value < 0) this.byte(minus);
    let rest = Math.abs(value);
    let digits = 1;
    for (let power = 10; power <= rest; power *= 10) digits += 1;
    this.reserve(digits);
    const { bytes } = this;
    this.length += digits;
    let at = this.length;
    for (; rest > 0x7fff_ffff; rest = Math.floor(rest / 10)) bytes[--at] = digitZero + (rest % 10);
    // 32-bit arithmetic is faster
    let low = rest | 0;
    do {
      const next = (low / 10) | 0;
      bytes[--at] = digitZero + low - 10 * next;
      low = next;
    } while (low > 0);
  }

  /** Copies UTF-8 text as the content of a JSON string: escaped, without quotes. */
  escaped(source: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at++) {
      const byte = source[at]!;
      if (byte >= 0x20 && byte !== quote && byte !== backslash) continue;
      const json = JSON.stringify(source.toString('utf8', start, end));
      return this.raw(Buffer.from(json.slice(1, -1)));
    }
    this.raw(source, start, end);
  }

  /** Writes text as a JSON string; repeating the previous text is fast. */
  string(text: string): void {
    if (text !== this.#string.text)
      this.#string = { text, json: Buffer.from(JSON.stringify(text)) };
    this.raw(this.#string.json);
  }

  #copied(length: number): Buffer {
    const grown = Buffer.allocUnsafeSlow(Math.max(length, fewestBytes));
    this.bytes.copy(grown, 0, 0, this.length);
    return grown;
  }
}

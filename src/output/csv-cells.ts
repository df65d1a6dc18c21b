import { isFormula } from './csv-formulas.js';
import { skipBare, skipString, skipValue } from './json-skip.js';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;
const carriageReturn = 0x0d;
const mayOpenFormula = new Uint8Array(256);
for (const byte of Buffer.from('=@+-')) mayOpenFormula[byte] = 1;

/** Turns JSON values into the text of CSV cells, one behind the other, in a buffer of its own. */
export class CsvCells {
  bytes = Buffer.allocUnsafe(65_536);
  /** Where the last cell begins and ends. */
  start = 0;
  end = 0;
  /** Cells so far that a spreadsheet would run. */
  formulas = 0;
  readonly #escapeFormulas: boolean;

  constructor({ escapeFormulas }: { readonly escapeFormulas: boolean }) {
    this.#escapeFormulas = escapeFormulas;
  }

  /** Starts over, with room for the cells of a record: quoting may double it, and adds quotes. */
  reset(recordBytes: number): void {
    this.start = 0;
    this.end = 0;
    const needed = 3 * recordBytes + 16;
    if (this.bytes.length < needed) this.bytes = Buffer.allocUnsafe(2 * needed);
  }

  /** Adds the value at `at`, and returns where it ends. Objects and arrays stay JSON. */
  add(value: Buffer, at: number): number {
    this.start = this.end;
    const first = value[at]!;
    if (first === quote) return this.#addString(value, at);
    if (first === 0x7b || first === 0x5b) return this.#addJson(value, at);
    const valueEnd = skipBare(value, at);
    if (first === 0x6e) return valueEnd; // null
    let to = this.start;
    for (let from = at; from < valueEnd; from += 1) this.bytes[to++] = value[from]!;
    this.end = to;
    return valueEnd;
  }

  /** Copies the string's bytes; only one with an escape, or perhaps a formula, is decoded. */
  #addString(value: Buffer, opening: number): number {
    const { bytes } = this;
    let hasComma = false;
    let to = this.start + 1;
    let at = opening + 1;
    let byte = value[at]!;
    if (mayOpenFormula[byte] === 1) return this.#addDecoded(value, opening);
    while (byte !== quote) {
      if (byte === backslash) return this.#addDecoded(value, opening);
      if (byte === comma) hasComma = true;
      bytes[to++] = byte;
      at += 1;
      byte = value[at]!;
    }
    this.#close(to, hasComma);
    return at + 1;
  }

  #addDecoded(value: Buffer, opening: number): number {
    const valueEnd = skipString(value, opening);
    const text = this.checked(JSON.parse(value.toString('utf8', opening, valueEnd)) as string);
    this.end = this.start + this.bytes.write(quoted(text), this.start);
    return valueEnd;
  }

  #addJson(value: Buffer, opening: number): number {
    const { bytes } = this;
    const valueEnd = skipValue(value, opening);
    let isSpecial = false;
    let to = this.start + 1;
    for (let at = opening; at < valueEnd; at += 1) {
      const byte = value[at]!;
      if (byte === newline || byte === carriageReturn) continue; // between tokens, as in NDJSON
      if (byte === quote) bytes[to++] = quote;
      if (byte === quote || byte === comma) isSpecial = true;
      bytes[to++] = byte;
    }
    this.#close(to, isSpecial);
    return valueEnd;
  }

  /** Counts a formula, and makes it harmless where that is wanted. */
  checked(text: string): string {
    if (!isFormula(text)) return text;
    this.formulas += 1;
    return this.#escapeFormulas ? `'${text}` : text;
  }

  /** Ends a cell whose text begins one byte behind `start`: there is room for quotes. */
  #close(textEnd: number, isQuoted: boolean): void {
    if (isQuoted) {
      this.bytes[this.start] = quote;
      this.bytes[textEnd] = quote;
      this.end = textEnd + 1;
    } else {
      this.start += 1;
      this.end = textEnd;
    }
  }
}

/** RFC 4180, 2.6 and 2.7. */
const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

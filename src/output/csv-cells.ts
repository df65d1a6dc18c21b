import { isFormula } from './csv-formulas.js';
import { skipBare, skipString, skipValue } from './json-skip.js';

const quote = 0x22;
const plain = 0;
/** Of a string's bytes: 0 may be copied as they are; quotes end it; the others need a closer look. */
const kinds = new Uint8Array(256);
for (const byte of Buffer.from('\\,')) kinds[byte] = 2;
kinds[quote] = 1;
const mayOpenFormula = new Uint8Array(256);
for (const byte of Buffer.from('=@+-')) mayOpenFormula[byte] = 1;

/** Turns JSON values into the text of CSV cells, one behind the other, in a buffer of its own. */
export class CsvCells {
  bytes = Buffer.allocUnsafe(65_536);
  length = 0;
  /** Cells so far that a spreadsheet would run. */
  formulas = 0;
  readonly #escapeFormulas: boolean;

  constructor({ escapeFormulas }: { readonly escapeFormulas: boolean }) {
    this.#escapeFormulas = escapeFormulas;
  }

  /** Starts over, with room for the cells of a record: quoting may double it, and adds quotes. */
  reset(recordBytes: number): void {
    this.length = 0;
    const needed = 3 * recordBytes + 16;
    if (this.bytes.length < needed) this.bytes = Buffer.allocUnsafe(2 * needed);
  }

  /** Adds the value at `at`, and returns where it ends. Objects and arrays stay JSON. */
  add(value: Buffer, at: number): number {
    const first = value[at]!;
    if (first === quote) return this.#addString(value, at);
    if (first === 0x7b || first === 0x5b) return this.#addJson(value, at);
    const end = skipBare(value, at);
    if (first !== 0x6e) this.length += value.copy(this.bytes, this.length, at, end); // not null
    return end;
  }

  #addString(value: Buffer, start: number): number {
    const { bytes } = this;
    let to = this.length;
    let at = start + 1;
    let byte = value[at]!;
    if (mayOpenFormula[byte] === 0) {
      while (kinds[byte] === plain) {
        bytes[to] = byte;
        to += 1;
        at += 1;
        byte = value[at]!;
      }
      if (byte === quote) {
        this.length = to;
        return at + 1;
      }
    }
    const end = skipString(value, start);
    this.#addText(JSON.parse(value.toString('utf8', start, end)) as string);
    return end;
  }

  #addText(text: string): void {
    this.length += this.bytes.write(quoted(this.checked(text)), this.length);
  }

  /** Counts a formula, and makes it harmless where that is wanted. */
  checked(text: string): string {
    if (!isFormula(text)) return text;
    this.formulas += 1;
    return this.#escapeFormulas ? `'${text}` : text;
  }

  #addJson(value: Buffer, start: number): number {
    const end = skipValue(value, start);
    this.length += this.bytes.write(quoted(value.toString('utf8', start, end)), this.length);
    return end;
  }
}

/** RFC 4180, 2.6 and 2.7. */
const quoted = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

import type { CellScanner } from './cell-scanner.js';
import { BEYOND, CR, LF } from './line-ends.js';

const QUOTE = 34;
const BACKSLASH = 92;

/** What a byte means to the scan of a cell: nothing, perhaps its end, or that it is not plain. */
const PLAIN = 0;
const STOP = 1;
const ESCAPED = 2;

/** Returned in place of a position: the record breaks the rules of quoting. */
export const FAULT = -2;

/**
 * Finds the cells of CSV records in a single pass over their bytes:
 *
 *     record   = cell *(delimiter cell) (LF / CR / CRLF / end of text)
 *     cell     = plain / quoted
 *     plain    = *(any byte but QUOTE, LF, CR and the delimiter)
 *     quoted   = QUOTE *(any byte but QUOTE / QUOTE QUOTE) QUOTE
 *
 * which is RFC 4180 with any delimiter of one byte, or none.
 */
export class CsvScanner implements CellScanner {
  readonly cells: Int32Array;
  count = 0;
  holdsLines = false;
  faultAt = 0;
  fault = '';
  readonly #columns: number;
  /** -1, which no byte is, when there is none. */
  readonly #delimiter: number;
  /** What each byte means in an unquoted cell, and in a quoted one. */
  readonly #unquoted = new Uint8Array(256).fill(ESCAPED, 0, 0x20);
  readonly #quoted = new Uint8Array(256).fill(ESCAPED, 0, 0x20);
  /** Whether the quoted cell scanned last can stand in a JSON string as it is. */
  #isPlain = true;

  constructor({ columns, records, delimiter }: CsvScannerOptions) {
    this.cells = new Int32Array(2 * columns * records);
    this.#columns = columns;
    this.#delimiter = delimiter[0] ?? -1;
    this.#unquoted[BACKSLASH] = this.#quoted[BACKSLASH] = ESCAPED;
    for (const byte of [QUOTE, LF, CR, ...delimiter]) this.#unquoted[byte] = STOP;
    this.#quoted[QUOTE] = STOP;
  }

  scan(text: Buffer, start: number, to: number, last: boolean): number {
    const cells = this.cells;
    const classes = this.#unquoted;
    const delimiter = this.#delimiter;
    const length = text.length;
    const room = to + 2 * this.#columns;
    let at = to;
    let p = start;
    this.holdsLines = false;
    for (;;) {
      // reading behind the end would make V8 compile a slower loop
      const quoted = p < length && text[p] === QUOTE;
      let from = p;
      let isPlain = true;
      if (quoted) {
        from = p + 1;
        p = this.#closingQuote(text, from, last);
        if (p < 0) return p;
        isPlain = this.#isPlain;
      } else {
        for (;;) {
          while (p < length && classes[text[p]!] === PLAIN) p++;
          if (p === length || classes[text[p]!] === STOP) break;
          isPlain = false;
          p++;
        }
      }
      if (at < room) {
        cells[at] = from;
        cells[at + 1] = isPlain ? p : ~p;
      }
      at += 2;
      if (quoted) p++;
      const byte = p < length ? text[p]! : LF;
      if (byte === delimiter) {
        p++;
      } else if (byte === LF || byte === CR) {
        this.count = (at - to) / 2;
        return p;
      } else {
        return this.#broken(p, quoted ? 'text after a closing quote' : 'quote in an unquoted cell');
      }
    }
  }

  /** Position of the quote that closes the cell whose content starts at `from`. */
  #closingQuote(text: Buffer, from: number, last: boolean): number {
    const classes = this.#quoted;
    const length = text.length;
    let isPlain = true;
    let p = from;
    for (;;) {
      while (p < length && classes[text[p]!] === PLAIN) p++;
      if (p === length) return last ? this.#broken(from - 1, 'quote that is never closed') : BEYOND;
      const byte = text[p]!;
      if (byte === QUOTE) {
        if (p + 1 === length || text[p + 1] !== QUOTE) break;
        p++;
      } else if (byte === LF || byte === CR) {
        this.holdsLines = true;
      }
      isPlain = false;
      p++;
    }
    this.#isPlain = isPlain;
    return p;
  }

  #broken(at: number, fault: string): number {
    this.faultAt = at;
    this.fault = fault;
    return FAULT;
  }
}

export interface CsvScannerOptions {
  /** Cells of a record whose bounds are kept. */
  readonly columns: number;
  /** Records for which `cells` has room. */
  readonly records: number;
  /** One byte; none when each line is one cell. */
  readonly delimiter: Buffer;
}

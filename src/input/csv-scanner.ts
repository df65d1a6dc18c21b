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
 * Finds the cells of one CSV record in a single pass over its bytes:
 *
 *     record   = cell *(delimiter cell) (LF / CR / CRLF / end of text)
 *     cell     = plain / quoted
 *     plain    = *(any byte but QUOTE, LF, CR and those of the delimiter)
 *     quoted   = QUOTE *(any byte but QUOTE / QUOTE QUOTE) QUOTE
 *
 * which is RFC 4180 with any delimiter. The outcome of the last scan stands in the fields, since
 * a result object per record would cost more than the scan.
 */
export class CsvScanner {
  /** Cell bounds as in Cells, written from the index given to `scan` on. */
  readonly cells: Int32Array;
  /** Cells of the last record; of those beyond `columns` no bounds are kept. */
  count = 0;
  /** Whether a quoted cell of the last record held a line end. */
  holdsLines = false;
  /** Where and how the last record broke the rules, after FAULT. */
  faultAt = 0;
  fault = '';
  readonly #columns: number;
  readonly #delimiter: Buffer;
  /** First byte of the delimiter; -1, which no byte is, when there is none. */
  readonly #delimiterStart: number;
  /** What each byte means in an unquoted cell, and in a quoted one. */
  readonly #unquoted = new Uint8Array(256).fill(ESCAPED, 0, 0x20);
  readonly #quoted = new Uint8Array(256).fill(ESCAPED, 0, 0x20);
  /** Whether the quoted cell scanned last can stand in a JSON string as it is. */
  #isPlain = true;

  constructor({ columns, records, delimiter }: CsvScannerOptions) {
    this.cells = new Int32Array(2 * columns * records);
    this.#columns = columns;
    this.#delimiter = delimiter;
    this.#delimiterStart = delimiter[0] ?? -1;
    this.#unquoted[BACKSLASH] = this.#quoted[BACKSLASH] = ESCAPED;
    for (const byte of [QUOTE, LF, CR, ...delimiter.subarray(0, 1)]) this.#unquoted[byte] = STOP;
    this.#quoted[QUOTE] = STOP;
  }

  /**
   * Scans the record at `start`; its bounds go to `cells` from index `to` on. Returns the
   * position of its line end (or of the end of the text), BEYOND or FAULT.
   */
  scan(text: Buffer, start: number, to: number, last: boolean): number {
    const cells = this.cells;
    const classes = this.#unquoted;
    const delimiterStart = this.#delimiterStart;
    const delimiterBytes = this.#delimiter.length;
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
          if (p === length || this.#endsCell(text, p)) break;
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
      if (byte === delimiterStart && (delimiterBytes === 1 || this.#delimits(text, p))) {
        p += delimiterBytes;
      } else if (byte === LF || byte === CR) {
        this.count = (at - to) / 2;
        return p;
      } else if (!last && length - p < delimiterBytes) {
        return BEYOND; // perhaps the first bytes of a delimiter
      } else {
        return this.#broken(p, quoted ? 'text after a closing quote' : 'quote in an unquoted cell');
      }
    }
  }

  /** Whether the byte ends an unquoted cell: a longer delimiter has to be there as a whole. */
  #endsCell(text: Buffer, at: number): boolean {
    const byte = text[at]!;
    if (this.#unquoted[byte] !== STOP) return false;
    return (
      byte !== this.#delimiterStart || this.#delimiter.length === 1 || this.#delimits(text, at)
    );
  }

  #delimits(text: Buffer, at: number): boolean {
    return text.subarray(at, at + this.#delimiter.length).equals(this.#delimiter);
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
  /** UTF-8 bytes of the delimiter; none when each line is one cell. */
  readonly delimiter: Buffer;
}

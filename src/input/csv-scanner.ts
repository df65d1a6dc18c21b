import { BEYOND, CR, LF } from './line-ends.js';

const QUOTE = 34;

/** Returned in place of a position: the record breaks the rules of quoting. */
export const FAULT = -2;

/** No byte has this value: for text without delimiters. */
export const noDelimiter = -1;

/**
 * Finds the cells of one CSV record (RFC 4180 on bytes) in a single pass. The outcome of the
 * last scan stands in the fields, since a result object per record would cost more than the scan.
 */
export class CsvScanner {
  /** Cell bounds as in Cells, written from the index given to `scan` on. */
  readonly cells: Int32Array;
  /** Cells of the last record; of those beyond `columns` no bounds are kept. */
  count = 0;
  /** Whether a quoted cell of the last record held a control character such as a line end. */
  mayHoldLines = false;
  /** Where and how the last record broke the rules, after FAULT. */
  faultAt = 0;
  fault = '';
  readonly #columns: number;
  readonly #delimiter: number;
  /** 1 for every byte that ends an unquoted cell. */
  readonly #stops = new Uint8Array(256);
  #doubled = false;

  constructor({ columns, records, delimiter }: CsvScannerOptions) {
    this.cells = new Int32Array(2 * columns * records);
    this.#columns = columns;
    this.#delimiter = delimiter;
    for (const byte of [QUOTE, LF, CR]) this.#stops[byte] = 1;
    if (delimiter !== noDelimiter) this.#stops[delimiter] = 1;
  }

  /**
   * Scans the record at `start`; its bounds go to `cells` from index `to` on. Returns the
   * position of its line end (or of the end of the text), BEYOND or FAULT.
   */
  scan(text: Buffer, start: number, to: number, last: boolean): number {
    const cells = this.cells;
    const stops = this.#stops;
    const columns = this.#columns;
    const length = text.length;
    let count = 0;
    let p = start;
    this.mayHoldLines = false;
    for (;;) {
      const quoted = text[p] === QUOTE;
      let from = p;
      let end: number;
      if (quoted) {
        from = p + 1;
        p = this.#closingQuote(text, from, last);
        if (p < 0) return p;
        end = this.#doubled ? ~p : p;
        p++;
      } else {
        while (p < length && stops[text[p]!] === 0) p++;
        end = p;
      }
      if (p === length && !last) return BEYOND;
      if (count < columns) {
        cells[to + 2 * count] = from;
        cells[to + 2 * count + 1] = end;
      }
      count++;
      const byte = text[p];
      if (byte === this.#delimiter) {
        p++;
      } else if (p === length || byte === LF || byte === CR) {
        this.count = count;
        return p;
      } else {
        return this.#broken(p, quoted ? 'text after a closing quote' : 'quote in an unquoted cell');
      }
    }
  }

  /** Position of the quote that closes the cell whose content starts at `from`. */
  #closingQuote(text: Buffer, from: number, last: boolean): number {
    const length = text.length;
    this.#doubled = false;
    let p = from;
    for (;;) {
      for (; p < length; p++) {
        const byte = text[p]!;
        if (byte === QUOTE) break;
        if (byte < 14) this.mayHoldLines = true;
      }
      if (p === length) return last ? this.#broken(from - 1, 'quote that is never closed') : BEYOND;
      if (text[p + 1] !== QUOTE) return p;
      this.#doubled = true;
      p += 2;
    }
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
  /** One byte, or `noDelimiter`. */
  readonly delimiter: number;
}

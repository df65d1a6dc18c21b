import { BEYOND, CR, LF } from './line-ends.js';

const QUOTE = 34;

/** Returned in place of a position: the record breaks the rules of quoting. */
export const FAULT = -2;

/** For text without delimiters: each line is one cell. */
export const noDelimiter = Buffer.alloc(0);

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
  readonly #delimiter: Buffer;
  /** First byte of the delimiter; -1, which no byte is, when there is none. */
  readonly #delimiterStart: number;
  /** 1 for every byte that ends an unquoted cell. */
  readonly #stops = new Uint8Array(256);
  #doubled = false;

  constructor({ columns, records, delimiter }: CsvScannerOptions) {
    this.cells = new Int32Array(2 * columns * records);
    this.#columns = columns;
    this.#delimiter = delimiter;
    this.#delimiterStart = delimiter[0] ?? -1;
    for (const byte of [QUOTE, LF, CR, ...delimiter.subarray(0, 1)]) this.#stops[byte] = 1;
  }

  /**
   * Scans the record at `start`; its bounds go to `cells` from index `to` on. Returns the
   * position of its line end (or of the end of the text), BEYOND or FAULT.
   */
  scan(text: Buffer, start: number, to: number, last: boolean): number {
    const cells = this.cells;
    const stops = this.#stops;
    const columns = this.#columns;
    const delimiterStart = this.#delimiterStart;
    const severalBytes = this.#delimiter.length > 1;
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
        if (severalBytes) p = this.#pastFalseDelimiters(text, p);
        end = p;
      }
      if (count < columns) {
        cells[to + 2 * count] = from;
        cells[to + 2 * count + 1] = end;
      }
      count++;
      const byte = text[p];
      if (byte === delimiterStart && (!severalBytes || this.#delimits(text, p))) {
        p += this.#delimiter.length;
      } else if (p === length || byte === LF || byte === CR) {
        this.count = count;
        return p;
      } else if (!last && length - p < this.#delimiter.length) {
        return BEYOND; // perhaps the first bytes of a delimiter
      } else {
        return this.#broken(p, quoted ? 'text after a closing quote' : 'quote in an unquoted cell');
      }
    }
  }

  /** Goes on to the end of an unquoted cell that holds the first byte of the delimiter. */
  #pastFalseDelimiters(text: Buffer, from: number): number {
    const stops = this.#stops;
    let p = from;
    while (text[p] === this.#delimiterStart && !this.#delimits(text, p)) {
      p++;
      while (p < text.length && stops[text[p]!] === 0) p++;
    }
    return p;
  }

  #delimits(text: Buffer, at: number): boolean {
    return text.subarray(at, at + this.#delimiter.length).equals(this.#delimiter);
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
  /** UTF-8 bytes of the delimiter, or `noDelimiter`. */
  readonly delimiter: Buffer;
}

import { FAULT, mostCells, mostRecords, type CellScanner } from './cell-scanner.js';
import type { Dialect } from './dialect.js';
import { afterLineEnd, BEYOND, countLineEnds, CR, endOfLine, LF } from './line-ends.js';
import { markerAt } from './marker.js';

const quotationMark = 0x22;
const backslash = 0x5c;

/**
 * Finds the cells of CSV records in dialects outside RFC 4180:
 *
 *     record   = cell *(delimiter cell) end / comment *(any byte but LF, CR) end
 *     end      = LF / CR / CRLF / end of text
 *     cell     = plain / quoted
 *     plain    = *(any byte but LF, CR and those of delimiter and quote)
 *     quoted   = quote *(any byte but quote / escape any byte) quote
 *
 * where the escape of a quote may be the quote itself; then it escapes nothing else. Does what
 * CsvScanner does for the standard, which is several times as fast. A comment is a record of no cells.
 */
export class DialectScanner implements CellScanner {
  readonly bounds = new Int32Array(2 * mostRecords);
  readonly lines = new Uint32Array(mostRecords);
  readonly cells = new Int32Array(2 * mostCells);
  count = 0;
  at = 0;
  line = 0;
  width = 0;
  fault = '';
  faultAt = 0;
  #text: Buffer = Buffer.alloc(0);
  #last = false;
  #columns = 0;
  /** Records and faults that `cut` may still find. */
  #room = 0;
  readonly #dialect: Dialect;
  readonly #doubles: boolean;
  /** 1 for bytes that begin a marker or end a line, or cannot stand in a JSON string as they are. */
  readonly #notable = new Uint8Array(256).fill(1, 0, 0x20);
  #isPlain = true;
  /** Whether a quoted cell of the last record held a line end. */
  #holdsLines = false;

  constructor(dialect: Dialect) {
    const { delimiter, quote, escape } = dialect;
    this.#dialect = dialect;
    this.#doubles = escape.equals(quote);
    this.#notable[quotationMark] = this.#notable[backslash] = 1;
    for (const [first] of [delimiter, quote, escape]) {
      if (first !== undefined) this.#notable[first] = 1;
    }
  }

  begin(text: Buffer, columns: number, last: boolean): void {
    this.#text = text;
    this.#columns = columns;
    this.#last = last;
    this.#room = Math.min(mostRecords, Math.floor(mostCells / columns));
    this.count = 0;
  }

  cut(start: number, line: number): number {
    const text = this.#text;
    this.at = start;
    this.line = line;
    for (; this.at < text.length && this.#room > 0; this.line++) {
      const end = this.scan(this.at);
      const next = end < 0 ? end : afterLineEnd(text, end, this.#last);
      if (next === BEYOND) break;
      const isBlank = end === this.at || this.width === 0;
      if (next === FAULT || (!isBlank && this.width !== this.#columns)) {
        this.#room--;
        return end;
      }
      if (!isBlank) this.#addRecord(end);
      if (this.#holdsLines) this.line += countLineEnds(text, this.at, end);
      this.at = next;
    }
    return BEYOND;
  }

  #addRecord(end: number): void {
    this.bounds[2 * this.count] = this.at;
    this.bounds[2 * this.count + 1] = end;
    this.lines[this.count++] = this.line;
    this.#room--;
  }

  scan(start: number): number {
    const text = this.#text;
    const last = this.#last;
    const { delimiter, quote, comment } = this.#dialect;
    this.width = 0;
    this.#holdsLines = false;
    const remark = markerAt(text, start, comment, last);
    if (remark === BEYOND) return BEYOND;
    if (remark > 0) return ofLine(text, start, last);
    for (let p = start; ;) {
      const opening = markerAt(text, p, quote, last);
      if (opening === BEYOND) return BEYOND;
      const from = p + opening;
      const end =
        opening > 0 ? this.#quotedEnd(text, from, last) : this.#plainEnd(text, from, last);
      if (end < 0) return end;
      this.#addCell(from, end);
      p = end + opening; // the closing quote is as long as the opening one
      const next = markerAt(text, p, delimiter, last);
      if (next === BEYOND) return BEYOND;
      if (next === 0 && endsRecord(text, p)) return p;
      if (next === 0) return this.#broken(p, 'text after a closing quote');
      p += next;
    }
  }

  #addCell(from: number, end: number): void {
    if (this.width < this.#columns) {
      const at = 2 * (this.#columns * this.count + this.width);
      this.cells[at] = from;
      this.cells[at + 1] = this.#isPlain ? end : ~end;
    }
    this.width++;
  }

  /** Where the unquoted cell ends: at a delimiter or the record's end. */
  #plainEnd(text: Buffer, from: number, last: boolean): number {
    const { delimiter, quote } = this.#dialect;
    this.#isPlain = true;
    for (let p = from; ; p++) {
      while (p < text.length && this.#notable[text[p]!] === 0) p++;
      if (endsRecord(text, p)) return p;
      const next = markerAt(text, p, delimiter, last);
      if (next !== 0) return next > 0 ? p : BEYOND;
      const stray = markerAt(text, p, quote, last);
      if (stray === BEYOND) return BEYOND;
      if (stray > 0) return this.#broken(p, 'quote in an unquoted cell');
      this.#isPlain = false;
    }
  }

  /** Where the quote stands that closes the cell whose content starts at `from`. */
  #quotedEnd(text: Buffer, from: number, last: boolean): number {
    const { quote } = this.#dialect;
    this.#isPlain = true;
    for (let p = from; ; p++) {
      while (p < text.length && this.#notable[text[p]!] === 0) p++;
      if (p >= text.length) {
        return last ? this.#broken(from - quote.length, 'quote that is never closed') : BEYOND;
      }
      const escape = this.#escapeAt(text, p, last);
      const closing = escape === 0 ? markerAt(text, p, quote, last) : 0;
      if (escape === BEYOND || closing === BEYOND) return BEYOND;
      if (closing > 0) return p;
      p += escape;
      const byte = text[p];
      if (byte === LF || byte === CR) this.#holdsLines = true;
      this.#isPlain = false;
    }
  }

  /** Length of the escape at `p`, 0 when there is none; a quote escapes only a quote. */
  #escapeAt(text: Buffer, p: number, last: boolean): number {
    const { quote, escape } = this.#dialect;
    const length = markerAt(text, p, escape, last);
    if (length <= 0) return length;
    if (!this.#doubles) return p + length < text.length ? length : last ? 0 : BEYOND;
    const second = markerAt(text, p + length, quote, last);
    return second > 0 ? 2 * length - 1 : second;
  }

  #broken(at: number, fault: string): number {
    this.faultAt = at;
    this.fault = fault;
    return FAULT;
  }
}

const endsRecord = (text: Buffer, at: number): boolean =>
  at >= text.length || text[at] === LF || text[at] === CR;

function ofLine(text: Buffer, start: number, last: boolean): number {
  const end = endOfLine(text, start);
  return end === text.length && !last ? BEYOND : end;
}

import type { CsvDialect } from '../../../src/text/csv-scanner.js';

// The scanner of CSV byte by byte, as the one in WebAssembly is described: what the one finds, the other has to find.

export const FAULT = -2;
export const mostRecords = 4096;
const mostCells = 65_536;

const quotationMark = 0x22;
const backslash = 0x5c;

/** Takes one record after the other; of the records found the tables are as in RowBlock. */
export class SlowScanner {
  readonly bounds = new Int32Array(2 * mostRecords);
  readonly lines = new Uint32Array(mostRecords);
  readonly cells = new Int32Array(2 * mostCells);
  count = 0;
  at = 0;
  line = 0;
  width = 0;
  failure = '';
  failureAt = 0;
  #text: Buffer = Buffer.alloc(0);
  #last = false;
  #columns = 0;
  /** Records and parseErrors that `cut` may still find. */
  #room = 0;
  readonly #dialect: CsvDialect;
  readonly #doubles: boolean;
  /** 1 for bytes that begin a marker or end a line, or cannot stand in a JSON string as they are. */
  readonly #notable = new Uint8Array(256).fill(1, 0, 0x20);
  #isPlain = true;
  /** Whether a quoted cell of the last record held a line end. */
  #holdsLines = false;

  constructor(dialect: CsvDialect) {
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

  /** Returns the end of an unquoted cell: a delimiter or the record's end. */
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

  /** Returns the position of the closing quote of the cell whose content starts at `from`. */
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

  #broken(at: number, failure: string): number {
    this.failureAt = at;
    this.failure = failure;
    return FAULT;
  }
}

const endsRecord = (text: Buffer, at: number): boolean =>
  at >= text.length || text[at] === LF || text[at] === CR;

function ofLine(text: Buffer, start: number, last: boolean): number {
  const end = endOfLine(text, start);
  return end === text.length && !last ? BEYOND : end;
}

const LF = 10;
const CR = 13;

/** Returned in place of a position: the answer lies beyond the text at hand. */
export const BEYOND = -1;

/**
 * Position after the line end at `position`, or BEYOND. At a CR that ends the text only the
 * next byte tells CR from CRLF.
 */
export function afterLineEnd(text: Buffer, position: number, last: boolean): number {
  if (position === text.length) return last ? position : BEYOND;
  if (text[position] !== CR) return position + 1;
  if (position + 1 === text.length) return last ? position + 1 : BEYOND;
  return text[position + 1] === LF ? position + 2 : position + 1;
}

/** Position where the physical line after the one at `from` starts, or BEYOND. */
export function nextLine(text: Buffer, from: number, last: boolean): number {
  return afterLineEnd(text, endOfLine(text, from), last);
}

/** Position of the first LF or CR from `from` on, else the length of the text. */
function endOfLine(text: Buffer, from: number): number {
  const lf = text.indexOf(LF, from);
  const line = lf === -1 ? text : text.subarray(0, lf);
  const cr = line.indexOf(CR, from);
  return cr === -1 ? line.length : cr;
}

/** Line ends (LF, CRLF, CR) in `text[from, to)`. */
export function countLineEnds(text: Buffer, from: number, to: number): number {
  let count = 0;
  for (let p = from; p < to; p++) {
    const byte = text[p];
    if (byte === LF || (byte === CR && text[p + 1] !== LF)) count++;
  }
  return count;
}

/**
 * Length of the marker if it stands at `at`, else 0; BEYOND when the text ends within it. An empty
 * marker stands nowhere.
 */
function markerAt(text: Buffer, at: number, marker: Buffer, last: boolean): number {
  const { length } = marker;
  for (let i = 0; i < length; i++) {
    if (at + i === text.length) return last ? 0 : BEYOND;
    if (text[at + i] !== marker[i]) return 0;
  }
  return length;
}

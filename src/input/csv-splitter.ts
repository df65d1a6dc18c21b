import { rejectTextBytes } from '../contract/file-formats.js';
import {
  BEYOND,
  CsvScanner,
  longestMarker,
  openQuote,
  standardCell,
  strayQuote,
  type CsvProgram,
  type CsvParseError,
  type CsvDialect,
} from '../text/csv-scanner.js';
import {
  CR,
  LF,
  endOfLine,
  rawExcerpt,
  skipLine,
  type HoldBack,
  type SplitRecords,
  type RecordSplitter,
  type Skip,
  type UnclosedQuote,
} from './record-splitter.js';
import { incompleteBytes } from './encoding-detection.js';
import type { RowParseError } from './row-block.js';

/** Bytes that are read in another form without need; see `#bytesAhead`. */
const mostAhead = 16 * 1024 * 1024;
/** Bytes scanned at once; most windows are smaller. */
const usualBytes = 512 * 1024;

interface CsvSplitterOptions {
  /** Resume on the next line after a quote that is never closed. */
  readonly recovers: boolean;
  /** The user has said how quotes are escaped. */
  readonly isEscapeKnown: boolean;
  readonly maxRecordBytes: number;
}

/** Shared by all blocks without errors. */
const none: readonly RowParseError[] = [];

/**
 * Splits CSV, TSV and bare lists (CSV of one column without a delimiter). LF, CRLF and CR end a
 * line, also inside quotes; blank lines and comments are skipped. After a quoting error it resumes on the line
 * after the error, so that the content of a quoted cell never becomes a record. A quote that is never closed ends
 * the input, unless `recovers` is set: then it resumes on the next line. The input also ends before a record that would end
 * elsewhere if quotes were escaped with backslashes or stood next to blanks, or its quoting error were text: its lines may
 * be inside of a cell.
 */
export class CsvSplitter implements RecordSplitter {
  readonly header: readonly string[];
  readonly program: CsvProgram;
  readonly markers: CsvDialect;
  readonly state = undefined;
  readonly #scanner: CsvScanner;
  readonly #recovers: boolean;
  readonly #isEscapeKnown: boolean;
  readonly #maxRecordBytes: number;
  /** Bytes that were split, and bytes that were read in another form, which some texts would make many times as many. */
  #bytesUsed = 0;
  #bytesAhead = 0;
  /** Rest of the record being skipped: cells, or only the line of an error. */
  #skipping: 'cells' | 'line' | undefined;

  constructor(
    header: readonly string[],
    program: CsvProgram,
    markers: CsvDialect,
    { recovers, isEscapeKnown, maxRecordBytes }: CsvSplitterOptions,
  ) {
    this.header = header;
    this.program = program;
    this.markers = markers;
    this.#recovers = recovers;
    this.#isEscapeKnown = isEscapeKnown;
    this.#maxRecordBytes = maxRecordBytes;
    this.#scanner = new CsvScanner(program, markers, { recovers });
  }

  /** Splits most windows at once, and long ones in parts, because the scanner copies its text each time. */
  cut(text: Buffer, line: number, last: boolean, holdBack?: HoldBack): SplitRecords {
    for (let size = usualBytes; ; size *= 2) {
      const isWhole = text.length <= size;
      const cut = this.#cut(text, { size, line, last, holdBack });
      this.#bytesUsed += cut.used;
      if (cut.used > 0 || cut.unclosed || isWhole) return cut;
    }
  }

  #cut(whole: Buffer, { size, line, last: isEnd, holdBack }: Part): SplitRecords {
    const text = whole.subarray(0, size);
    const last = isEnd && whole.length <= size;
    this.#scanner.begin(text, this.header.length, last);
    const { parseErrors: found, ...records } = this.#scanner.cut(line);
    const end = found.at(-1);
    const unclosed = end?.what === openQuote && !this.#recovers ? placeOf(end, text) : undefined;
    const rejected = unclosed ? found.slice(0, -1) : found;
    const parseErrors =
      rejected.length === 0
        ? none
        : rejected.map((failure) => this.#parseErrorOf(failure, text, last));
    const cut = { ...records, parseErrors, unclosed };
    const long = this.#recovers ? undefined : this.#longQuote(cut, text);
    const closed = long ? { ...cutBefore(long, cut), unclosed: long.place } : cut;
    const checked = this.#beforeOtherDialect(closed, whole, { failures: rejected, last: isEnd });
    const mayEndEarly = last && !checked.unclosed && cut.used === text.length;
    const kept = holdBack && mayEndEarly ? withoutIncomplete(checked, text, holdBack) : checked;
    return unescapeCells(text, kept, this.markers);
  }

  /**
   * Ends a cut before the first record that ends elsewhere in another dialect. The rest stays in the text if more of it
   * must be read to know.
   */
  #beforeOtherDialect(
    cut: SplitRecords,
    whole: Buffer,
    { failures, last }: { readonly failures: readonly CsvParseError[]; readonly last: boolean },
  ): SplitRecords {
    if (this.markers.quote.length === 0) return cut;
    const query = { ...this.markers, failures, hasKnownEscape: this.#isEscapeKnown };
    for (const doubt of doubtfulRecords(whole, cut, query)) {
      const { at, record, line, quoteAt, dialect } = doubt;
      const found = this.#readOtherwise(doubt, whole, last);
      if (found === 'same') continue;
      const before = { ...cutBefore({ record, at }, cut), line, unclosed: undefined };
      if (found === 'unread') return before;
      const lineEnds = lineEndsIn(whole, at, quoteAt);
      const place = placeOf({ line, lineEnds, where: quoteAt }, whole);
      return { ...before, unclosed: { ...place, dialect } };
    }
    return cut;
  }

  /** Whether a record is another one in the forms of a dialect; `unread` if more text must be read to know. */
  #readOtherwise(
    doubt: DoubtfulRecord,
    whole: Buffer,
    isLast: boolean,
  ): 'same' | 'other' | 'unread' {
    const { at, end, isRejected, dialect, quoteAt } = doubt;
    const { delimiter, quote } = this.markers;
    if (dialect === 'blank' && isOddOnLine(whole, quote, quoteAt)) return 'other';
    const text = whole.subarray(0, at + this.#maxRecordBytes);
    const isWhole = text.length === whole.length;
    const last = isLast && isWhole;
    for (const form of dialect === 'backslash' ? backslashForms : this.#errorForms(doubt)) {
      const read = readRecord(text, at, { delimiter, quote, ...form }, { end, last });
      this.#bytesAhead += read.at - at;
      if (this.#bytesAhead > mostAhead + 16 * this.#bytesUsed) return 'other'; // in doubt
      if (read.ends === 'beyond' && isWhole && !isLast) return 'unread';
      const isOther =
        read.ends === 'later' ||
        (read.ends === 'here' &&
          read.at < end &&
          (isRejected || read.width === this.header.length));
      if (isOther) return 'other';
    }
    return 'same';
  }

  /** How quotes may be escaped in a record with a quoting error. */
  #errorForms({ hasBlanks }: DoubtfulRecord): readonly CellForm[] {
    const { quote, escape } = this.markers;
    const doubles = escape.equals(quote);
    const own = { escapes: 'none', doubles } as const;
    const known = escape[0] === backslash ? backslashForms.filter((form) => !form.doubles) : [own];
    const all = this.#isEscapeKnown ? known : [own, ...backslashForms];
    return hasBlanks ? [...all, ...all.map((form) => ({ ...form, keepsBlanks: true }))] : all;
  }

  /** Skips a cell of several lines as a whole, because its lines would look like records. */
  skip(text: Buffer, line: number, last: boolean): Skip {
    const { comment } = this.markers;
    const isComment = comment.length > 0 && text.indexOf(comment) === 0;
    this.#skipping ??= isComment ? 'line' : 'cells';
    const skip =
      this.#skipping === 'line' ? skipLine(text, line, last) : this.#skipCells(text, line, last);
    if (skip.done) this.#skipping = undefined;
    return skip;
  }

  /** Skips cells; `text` starts with a cell. */
  #skipCells(text: Buffer, line: number, last: boolean): Skip {
    this.#scanner.begin(text, this.header.length, last);
    const { next, lineEnds, lastCell, failure } = this.#scanner.scan(0, { isRest: true });
    if (failure) return this.#skipParseError({ ...failure, line, lineEnds }, text, last);
    if (next !== BEYOND) return { used: next, line: line + lineEnds + 1, done: true };
    const { quote } = this.markers;
    const isQuoted = quote.length > 0 && isMarkerAt(text, quote, lastCell);
    if (isQuoted && text.length - lastCell > this.#maxRecordBytes + 2)
      return this.#skipParseError(
        { what: openQuote, where: lastCell, line, lineEnds, limit: this.#maxRecordBytes },
        text,
        last,
      );
    // An unquoted cell may end with the start of a delimiter, which must stay in the window.
    const used = isQuoted ? lastCell : Math.max(lastCell, text.length - 2 * longestMarker);
    return { used, line: line + lineEnds, done: false };
  }

  #skipParseError(
    failure: Omit<CsvParseError, 'at'> & { readonly limit?: number },
    text: Buffer,
    last: boolean,
  ): Skip {
    const { what, where, line, lineEnds, limit } = failure;
    if (what === openQuote && !this.#recovers)
      return { used: 0, line, done: true, unclosed: { ...placeOf(failure, text), limit } };
    this.#skipping = 'line';
    const skip = skipLine(text.subarray(where), line + lineEnds, last);
    return { ...skip, used: skip.used + where };
  }

  /** Finds a quoted cell that is longer than a record may be. */
  #longQuote({ bounds, cells, lines, count }: SplitRecords, text: Buffer) {
    if (text.length <= this.#maxRecordBytes) return undefined;
    for (let record = 0; record < count; record += 1) {
      const at = bounds[2 * record]!;
      if (bounds[2 * record + 1]! - at <= this.#maxRecordBytes) continue;
      for (let cell = 0; cell < this.header.length; cell += 1) {
        const [from, end] = cells!.subarray(2 * (record * this.header.length + cell));
        const where = from! - this.markers.quote.length;
        const bytes = (end! < 0 ? ~end! : end!) - from!;
        if (bytes <= this.#maxRecordBytes || where < at) continue;
        if (!isMarkerAt(text, this.markers.quote, where)) continue;
        const lineEnds = lineEndsIn(text, at, where);
        const place = placeOf({ line: lines[record]!, lineEnds, where }, text);
        return { record, at, place: { ...place, limit: this.#maxRecordBytes } };
      }
    }
    return undefined;
  }

  #parseErrorOf(
    { at, line, what, where, lineEnds }: CsvParseError,
    text: Buffer,
    last: boolean,
  ): RowParseError {
    if (typeof what === 'number') {
      const cells = what === 1 ? '1 cell' : `${what} cells`;
      const isCut = last && where === text.length && what < this.header.length;
      const hint = isCut ? '; the last line has no line end, so the file may be cut off' : '';
      const error = `${cells}, but the header has ${this.header.length}${hint}`;
      return { at, line, error, raw: rawExcerpt(text.subarray(at, where)) };
    }
    const raw = rawExcerpt(text.subarray(at, endOfLine(text, where)));
    const lastLine = line + lineEnds;
    if (lastLine > line) {
      const error = `${what}, on line ${lastLine}: lines ${line} to ${lastLine} are one rejected record`;
      return { at, line, error, raw };
    }
    return { at, line, column: where - at + 1, error: what, raw };
  }
}

interface Part {
  /** Bytes of the text that are split. */
  readonly size: number;
  readonly line: number;
  readonly last: boolean;
  readonly holdBack: HoldBack | undefined;
}

/** How a program may escape quotes. */
interface CellForm {
  /** What a backslash makes literal: the next character, also outside of quotes; or a `quote` that it stands in front of. */
  readonly escapes: 'everywhere' | 'within quotes' | 'quote' | 'none';
  /** A quote may be doubled within quotes, too. */
  readonly doubles: boolean;
  /** Blanks belong to their cells: a quote behind them is text. */
  readonly keepsBlanks?: boolean;
}

const backslashForms: readonly CellForm[] = (
  ['everywhere', 'within quotes', 'quote'] as const
).flatMap((escapes) => [false, true].map((doubles) => ({ escapes, doubles })));

/** A record that may end elsewhere in another dialect. */
interface DoubtfulRecord {
  readonly at: number;
  /** Number of records before it, and its first line. */
  readonly record: number;
  readonly line: number;
  /** End of the record, or of the line of its error. */
  readonly end: number;
  readonly isRejected: boolean;
  readonly dialect: NonNullable<UnclosedQuote['dialect']>;
  /** The quote that shows it. */
  readonly quoteAt: number;
  /** Whether blanks are in front of a quoted cell. */
  readonly hasBlanks?: boolean;
}

const backslash = 0x5c;

interface DoubtQuery extends Pick<CsvDialect, 'delimiter' | 'quote'> {
  readonly failures: readonly CsvParseError[];
  readonly hasKnownEscape: boolean;
}

/** Finds records with a quoting error, and unless the user has said how quotes are escaped, with a quote after a backslash. */
function doubtfulRecords(text: Buffer, cut: SplitRecords, query: DoubtQuery): DoubtfulRecord[] {
  const { failures, quote, hasKnownEscape } = query;
  const found: DoubtfulRecord[] = [];
  const used = text.subarray(0, cut.used);
  const addRejected = ({ at, line, where }: CsvParseError, about: DoubtSign): void => {
    const end = endOfLine(used, where);
    found.push({ at, line, end, record: recordsBefore(cut, at), isRejected: true, ...about });
  };
  for (const failure of failures) {
    const { what, where } = failure;
    if (typeof what === 'number' || what === openQuote) continue;
    const opening = openingQuotes(text, failure, query);
    if (opening.length === 0) continue; // none of its cells can have several lines
    const blank = opening.filter(({ start, quoteAt }) => start < quoteAt);
    const isBlank = what === strayQuote && blank.some(({ quoteAt }) => quoteAt === where);
    const dialect = isBlank ? 'blank' : 'error';
    addRejected(failure, { quoteAt: where, dialect, hasBlanks: blank.length > 0 });
  }
  if (hasKnownEscape) return found;
  let [record, failed] = [0, 0];
  for (let slash = used.indexOf(backslash); slash >= 0; slash = used.indexOf(backslash, slash)) {
    const first = slash;
    while (text[slash] === backslash) slash += 1;
    if (!isMarkerAt(text, quote, slash)) continue;
    while (record < cut.count && cut.bounds[2 * record]! <= first) record += 1;
    while (failed < failures.length && failures[failed]!.at <= first) failed += 1;
    const failure = failures[failed - 1];
    const start = record === 0 ? -1 : cut.bounds[2 * record - 2]!;
    const at = Math.max(failure?.at ?? -1, start);
    if (at < 0) continue; // above the first record
    if (found.at(-1)?.at === at && found.at(-1)?.dialect === 'backslash') continue;
    const about: DoubtSign = { quoteAt: slash, dialect: 'backslash' };
    if (failure?.at === at) addRejected(failure, about);
    else {
      const [line, end] = [cut.lines[record - 1]!, cut.bounds[2 * record - 1]!];
      found.push({ at, line, end, record: record - 1, isRejected: false, ...about });
    }
  }
  return found.toSorted((a, b) => a.at - b.at);
}

type DoubtSign = Pick<DoubtfulRecord, 'quoteAt' | 'dialect' | 'hasBlanks'>;

/** Finds the quotes that start a cell of a row with an error, up to its last line, and where blanks in front of them start. */
function openingQuotes(text: Buffer, { at, where }: CsvParseError, query: DoubtQuery) {
  const { delimiter, quote } = query;
  const found: { start: number; quoteAt: number }[] = [];
  const row = text.subarray(0, endOfLine(text, where));
  for (let quoteAt = at; (quoteAt = row.indexOf(quote, quoteAt)) >= 0; quoteAt += quote.length) {
    const start = beforeBlanks(text, at, quoteAt, delimiter);
    if (start === at || isMarkerAt(text, delimiter, start - delimiter.length))
      found.push({ start, quoteAt });
  }
  return found;
}

/** Blanks that may be in front of a quoted cell, also ones that nobody sees, and the `=` of a spreadsheet. */
const blanks = [' ', '\t', '\u00A0', '\u200B', '\uFEFF', '='].map((blank) => Buffer.from(blank));

/** Returns the position before the blanks that end at `end`. */
function beforeBlanks(text: Buffer, start: number, end: number, delimiter: Buffer): number {
  for (let at = end; ;) {
    const blank = blanks.find(
      (one) =>
        at - one.length >= start &&
        !one.equals(delimiter) &&
        isMarkerAt(text, one, at - one.length),
    );
    if (!blank) return at;
    at -= blank.length;
  }
}

/** Whether a cell may be open at the end of a line: it has an odd number of quotes, with or without those behind backslashes. */
function isOddOnLine(text: Buffer, quote: Buffer, from: number): boolean {
  const line = text.subarray(from, endOfLine(text, from));
  let [all, unescaped] = [0, 0];
  for (let at = line.indexOf(quote); at >= 0; at = line.indexOf(quote, at + quote.length)) {
    all += 1;
    if (line[at - 1] !== backslash) unescaped += 1;
  }
  return all % 2 === 1 || unescaped % 2 === 1;
}

const isMarkerAt = (text: Buffer, marker: Buffer, at: number): boolean =>
  text[at] === marker[0] &&
  (marker.length === 1 || text.subarray(at, at + marker.length).equals(marker));

/** Returns the number of records that begin before a position. */
function recordsBefore({ bounds, count }: SplitRecords, at: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bounds[2 * middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Reads the record at a position in another form. It `ends` at the end of a line (`here`), with a quoted cell that is
 * closed after `end` (`later`), `beyond` the text, or is `invalid`. Quotes in other cells are text.
 */
function readRecord(
  text: Buffer,
  start: number,
  {
    delimiter,
    quote,
    escapes,
    doubles,
    keepsBlanks,
  }: CellForm & Pick<CsvDialect, 'delimiter' | 'quote'>,
  { end, last }: { readonly end: number; readonly last: boolean },
): { at: number; width: number; ends: 'here' | 'later' | 'beyond' | 'invalid' } {
  const isEnd = (at: number): boolean => isLineEnd(text[at]) || isDelimiterAt(at);
  const isDelimiterAt = (at: number): boolean =>
    delimiter.length > 0 && isMarkerAt(text, delimiter, at);
  const isBlank = (at: number): boolean =>
    !keepsBlanks && (text[at] === space || text[at] === tab) && !isDelimiterAt(at);
  let at = start;
  for (let width = 1; ; width += 1) {
    while (isBlank(at)) at += 1;
    if (isMarkerAt(text, quote, at)) {
      at = closingQuote(text, at + quote.length, { quote, escapes, doubles });
      if (at < 0) return { at: text.length, width, ends: 'beyond' };
      const isLate = at > end;
      at += quote.length;
      while (isBlank(at)) at += 1;
      if (at >= text.length && !last) return { at, width, ends: 'beyond' };
      if (at < text.length && !isEnd(at)) return { at, width, ends: 'invalid' };
      if (isLate) return { at, width, ends: 'later' };
    }
    while (at < text.length && !isEnd(at))
      at += escapes === 'everywhere' && text[at] === backslash ? 2 : 1;
    if (at >= text.length) return { at: text.length, width, ends: 'beyond' };
    if (!isDelimiterAt(at)) return { at, width, ends: 'here' };
    at += delimiter.length;
  }
}

/** Returns the position of the quote that closes a cell, or -1. */
function closingQuote(
  text: Buffer,
  from: number,
  { quote, escapes, doubles }: CellForm & Pick<CsvDialect, 'quote'>,
): number {
  for (let at = text.indexOf(quote, from); at >= 0;) {
    let slashes = 0;
    while (at - slashes > from && text[at - slashes - 1] === backslash) slashes += 1;
    if (isEscaped(slashes, escapes)) at = text.indexOf(quote, at + quote.length);
    else if (doubles && isMarkerAt(text, quote, at + quote.length))
      at = text.indexOf(quote, at + 2 * quote.length);
    else return at;
  }
  return -1;
}

/** Whether a quote behind so many backslashes is text. */
const isEscaped = (slashes: number, escapes: CellForm['escapes']): boolean =>
  escapes === 'quote' ? slashes > 0 : escapes !== 'none' && slashes % 2 === 1;

const space = 0x20;
const tab = 0x09;
const isLineEnd = (byte: number | undefined): boolean => byte === LF || byte === CR;

/**
 * Leaves the last row in a text that ends without a line end if it is incomplete: an invalid row, one that
 * ends within a character, or with `unterminated` every row, since its last cell may be cut off.
 */
function withoutIncomplete(cut: SplitRecords, text: Buffer, holdBack: HoldBack): SplitRecords {
  const { count, bounds } = cut;
  const failure = cut.parseErrors.at(-1);
  const recordAt = count > 0 ? bounds[2 * count - 2]! : -1;
  if (failure && failure.at > recordAt) {
    const { at, line, raw, error: incomplete } = failure;
    const isLast = at + raw.length === text.length || raw.length === rejectTextBytes;
    if (isLast)
      return { ...cut, used: at, line, parseErrors: cut.parseErrors.slice(0, -1), incomplete };
  }
  const endsInCharacter = incompleteBytes(text) > 0;
  if (holdBack !== 'unterminated' && !endsInCharacter) return cut;
  const incomplete = endsInCharacter
    ? 'the last line has no line end and ends in the middle of a character'
    : 'the last line has no line end, so its last cell may be cut off';
  const isRecord = count > 0 && bounds[2 * count - 1] === text.length;
  const kept = isRecord ? cutBefore({ record: count - 1, at: recordAt }, cut) : cut;
  return { ...kept, incomplete };
}

/** Returns the part of a cut before one of its records. */
const cutBefore = (
  { record, at }: { readonly record: number; readonly at: number },
  cut: SplitRecords,
): SplitRecords => ({
  ...cut,
  used: at,
  line: cut.lines[record]!,
  count: record,
  bounds: cut.bounds.subarray(0, 2 * record),
  lines: cut.lines.subarray(0, record),
  cells: cut.cells?.subarray(0, (cut.cells.length / cut.count) * record),
  parseErrors: cut.parseErrors.filter((failure) => failure.at < at),
});

const lineEndsIn = (text: Buffer, from: number, to: number): number =>
  text.toString('latin1', from, to).match(/\r\n|\r|\n/g)?.length ?? 0;

/** Returns line and column of a quoting error. */
const placeOf = (
  { line, lineEnds, where }: Pick<CsvParseError, 'line' | 'lineEnds' | 'where'>,
  text: Buffer,
): UnclosedQuote => {
  const lineStart = Math.max(text.lastIndexOf('\n', where), text.lastIndexOf('\r', where)) + 1;
  return { line: line + lineEnds, column: where - lineStart + 1 };
};

/**
 * Converts cells to RFC 4180 quoting: if a cell contains an escape or a quotation mark, appends its
 * converted content to the text and points its bounds there.
 */
function unescapeCells(text: Buffer, cut: SplitRecords, markers: CsvDialect): SplitRecords {
  if (markers.quote.equals(quotationMarkBytes) && markers.escape.equals(quotationMarkBytes))
    return cut;
  const cells = cut.cells?.slice() ?? new Int32Array(0);
  const behind: Buffer[] = [];
  let length = cut.used;
  for (let at = 0; at < cells.length; at += 2) {
    const end = cells[at + 1]!;
    if (end >= 0) continue;
    const content = standardCell(text, { from: cells[at]!, end: ~end }, markers);
    behind.push(content);
    cells[at] = length;
    length += content.length;
    cells[at + 1] = ~length;
  }
  return behind.length === 0 ? cut : { ...cut, cells, behind: Buffer.concat(behind) };
}

const quotationMarkBytes = Buffer.from('"');

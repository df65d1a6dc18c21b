import { endOfLine, CR, LF, type SplitRecords, type UnclosedQuote } from './record-splitter.js';
import { isBlank } from '../text/cell-cleaning.js';
import {
  isMarkerAt,
  longestMarker,
  openQuote,
  strayQuote,
  type CsvDialect,
  type CsvParseError,
} from '../text/csv-scanner.js';

/** Bytes that are read in another form without need; see `#bytesAhead`. */
const mostAhead = 16 * 1024 * 1024;

/** What is known of a table beforehand. */
export interface KnownDialect {
  /** Number of its columns. */
  readonly width: number;
  /** The user has said whether cells are in quotes … */
  readonly isQuoteKnown: boolean;
  /** … and how quotes within cells are escaped. */
  readonly isEscapeKnown: boolean;
  /** It is a list because of its first line only, so that it may be a table with any delimiter below a title. */
  readonly mayBeTable: boolean;
  readonly maxRecordBytes: number;
}

/** A record that ends elsewhere in another dialect. Undefined as dialect if more text must be read to know. */
export interface OtherRecord extends Pick<DoubtfulRecord, 'at' | 'record' | 'line' | 'quoteAt'> {
  readonly dialect: UnclosedQuote['dialect'];
}

/**
 * Looks for records of a CSV that another program may have meant otherwise: with quotes escaped by backslashes, next to
 * blanks, or as text. What is read as records may then be inside of a cell, or the other way round.
 */
export class DialectCheck {
  readonly #markers: CsvDialect;
  readonly #known: KnownDialect;
  /** Bytes that were split, and bytes that were read in another form, which some texts would make many times as many. */
  #bytesUsed = 0;
  #bytesAhead = 0;

  constructor(markers: CsvDialect, known: KnownDialect) {
    this.#markers = markers;
    this.#known = known;
  }

  /** Returns the first record of a cut that ends elsewhere in another dialect. */
  findOther(
    cut: SplitRecords,
    whole: Buffer,
    { failures, last }: { readonly failures: readonly CsvParseError[]; readonly last: boolean },
  ): OtherRecord | undefined {
    let readAt = -1;
    for (const doubt of this.#doubts(cut, whole, failures)) {
      if (doubt.at === readAt && doubt.dialect === 'backslash') continue; // its error was read so, too
      const found = this.#readOtherwise(doubt, whole, last);
      if (doubt.dialect !== 'cells') readAt = doubt.at;
      if (found === 'same') continue;
      this.#bytesUsed += doubt.at;
      return found === 'unread' ? { ...doubt, dialect: undefined } : doubt;
    }
    this.#bytesUsed += cut.used;
    return undefined;
  }

  #doubts(cut: SplitRecords, whole: Buffer, failures: readonly CsvParseError[]): DoubtfulRecord[] {
    const { isQuoteKnown, isEscapeKnown, mayBeTable, width } = this.#known;
    if (this.#markers.quote.length === 0) return [];
    const query = { ...this.#markers, failures };
    const isTsv = this.#markers.delimiter.equals(tabDelimiter);
    const found = [
      ...(mayBeTable ? tableQuotes(whole, cut, query) : []),
      ...misplacedQuotes(whole, cut, query),
      ...(isEscapeKnown ? [] : escapedQuotes(whole, cut, query)),
      ...(isTsv && !isQuoteKnown ? rowsInCells(whole, cut, { ...this.#markers, width }) : []),
    ];
    return found.toSorted((a, b) => a.at - b.at);
  }

  /** Whether a record is another one in the forms of a dialect; `unread` if more text must be read to know. */
  #readOtherwise(
    doubt: DoubtfulRecord,
    whole: Buffer,
    isLast: boolean,
  ): 'same' | 'other' | 'unread' {
    const { at, end, isRejected, dialect, quoteAt } = doubt;
    const { delimiter, quote } = this.#markers;
    if (dialect === 'unquoted' || dialect === 'table') return 'other';
    if (dialect === 'blank' && isOddOnLine(whole, quote, quoteAt)) return 'other';
    const isLong = end - at > this.#known.maxRecordBytes;
    if (isLong && doubt.opening) return dialect === 'cells' ? 'same' : 'other'; // as in SkippedQuotes
    const most = whole.subarray(0, at + this.#known.maxRecordBytes);
    const isWhole = most.length === whole.length;
    const last = isLast && isWhole;
    const text = last ? most : withoutMarkerStart(most, [quote, delimiter]);
    let isPlain = false;
    for (const form of this.#formsOf(doubt)) {
      if (isPlain && form.escapes !== 'none') continue; // reads the same
      const marked = { ...form, delimiter, quote, mayBeTable: this.#known.mayBeTable };
      const cells = readOpenings(text, doubt, marked, last);
      this.#bytesAhead += Math.max(0, cells.at - end); // those before are read at most twice
      const read =
        dialect === 'cells'
          ? ({ at, width: 0, ends: 'invalid' } as const) // the record was read in this form
          : readRecord(text, at, marked, { end, last });
      this.#bytesAhead += read.at - at;
      if (this.#bytesAhead > mostAhead + 16 * this.#bytesUsed) return 'other'; // in doubt
      const isOpen = read.ends === 'beyond' || cells.ends === 'beyond';
      if (isOpen && isWhole && !isLast) return 'unread';
      const isShort = read.ends === 'here' && read.at < end;
      const isOther =
        read.ends === 'later' ||
        cells.ends === 'later' ||
        (cells.ends === 'beyond' && !isWhole) || // too long to tell
        // A program that doubles no quotes writes no other text so, even in a row with a wrong number of cells.
        (isShort && (isRejected || !form.doubles || read.width === this.#known.width));
      if (isOther) return 'other';
      if (form.escapes === 'none')
        isPlain =
          form.doubles && !text.subarray(at, Math.max(read.at, cells.at)).includes(backslash);
    }
    return 'same';
  }

  /** How quotes may be escaped in a record. */
  #formsOf({ dialect, hasBlanks }: DoubtfulRecord): readonly CellForm[] {
    if (dialect === 'backslash') return backslashForms;
    const { quote, escape } = this.#markers;
    const doubles = escape.equals(quote);
    const own = { escapes: 'none', doubles } as const;
    const known = escape[0] === backslash ? backslashForms.filter((form) => !form.doubles) : [own];
    if (dialect === 'cells')
      return known.filter(({ escapes }) => escapes === 'none' || escapes === 'within quotes');
    const all = this.#known.isEscapeKnown ? known : [own, ...backslashForms];
    return hasBlanks ? [...all, ...all.map((form) => ({ ...form, keepsBlanks: true }))] : all;
  }
}

/** How a program may escape quotes. */
interface CellForm {
  /** Where a backslash makes the next character text: `everywhere`, or only `within quotes`; with `quote`, only a quote. */
  readonly escapes: 'everywhere' | 'within quotes' | 'quote' | 'none';
  /** A quote may be doubled within quotes, too. */
  readonly doubles: boolean;
  /** Blanks belong to their cells: a quote behind them is text. */
  readonly keepsBlanks?: boolean;
  /** Any character but a letter or digit may be a delimiter behind a quoted cell. */
  readonly mayBeTable?: boolean;
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
  /** Positions of quotes that may start a cell, if the record has an error. */
  readonly opening?: readonly number[];
}

const backslash = 0x5c;

interface DoubtQuery extends Pick<CsvDialect, 'delimiter' | 'quote' | 'escape'> {
  readonly failures: readonly CsvParseError[];
}

/** Finds records with an error, of which a later cell may have several lines. */
function misplacedQuotes(text: Buffer, cut: SplitRecords, query: DoubtQuery): DoubtfulRecord[] {
  const found: DoubtfulRecord[] = [];
  for (const failure of query.failures) {
    const { what, where } = failure;
    if (what === openQuote) continue;
    const { opening, someBehindBlanks, isBehindBlanks } = openingQuotes(text, failure, query);
    if (opening.length === 0) continue; // none of its cells can have several lines
    const doubtful = { ...rejectedRecord(text, cut, failure), opening };
    if (typeof what === 'number') {
      found.push({ ...doubtful, quoteAt: opening[0]!, dialect: 'cells' });
      continue;
    }
    const dialect = what === strayQuote && isBehindBlanks ? 'blank' : 'error';
    found.push({ ...doubtful, quoteAt: where, dialect, hasBlanks: someBehindBlanks });
  }
  return found;
}

/** Finds records of a list with a quote that starts a cell of several lines, if the list is a table. */
function tableQuotes(text: Buffer, cut: SplitRecords, query: DoubtQuery): DoubtfulRecord[] {
  return query.failures.flatMap((failure) => {
    if (failure.what === openQuote) return [];
    const line = text.subarray(0, endOfLine(text, failure.where));
    const quoteAt = openAtEnd(line, failure.where, query);
    if (quoteAt === undefined) return [];
    return [{ ...rejectedRecord(text, cut, failure), quoteAt, dialect: 'table' as const }];
  });
}

/** Returns the first quote that may start a cell, if the cell is open at the end of the line: see `isOddOnLine`. */
function openAtEnd(
  line: Buffer,
  from: number,
  { quote, escape }: Pick<CsvDialect, 'quote' | 'escape'>,
): number | undefined {
  const slash = escape.equals(quote) ? backslash : escape.at(-1);
  const quotes: number[] = [];
  for (let at = line.indexOf(quote, from); at >= 0; at = line.indexOf(quote, at + quote.length))
    quotes.push(at);
  let [all, unescaped] = [0, 0];
  let found: number | undefined;
  for (const at of quotes.toReversed()) {
    all += 1;
    if (line[at - 1] !== slash) unescaped += 1;
    const isOpen = all % 2 === 1 || unescaped % 2 === 1;
    if (isOpen && mayFollowDelimiter(line, at, quote)) found = at;
  }
  return found;
}

/** Whether the character in front of a quote may be a delimiter: it is no letter or digit, and no full stop or bracket that closes. */
function mayFollowDelimiter(text: Buffer, at: number, quote: Buffer): boolean {
  if (isMarkerAt(text, quote, at - quote.length)) return false;
  const before = text.toString('utf8', Math.max(0, at - 4), at);
  return !/[\p{L}\p{M}\p{N}\p{Pe}\p{Pf}.]$/u.test(before);
}

const startsWord = (text: Buffer, at: number): boolean =>
  /^[\p{L}\p{M}\p{N}]/u.test(text.toString('utf8', at, at + 4));

/** Finds records with a quote after a backslash. */
function escapedQuotes(text: Buffer, cut: SplitRecords, query: DoubtQuery): DoubtfulRecord[] {
  const { failures, quote } = query;
  const found: DoubtfulRecord[] = [];
  const used = text.subarray(0, cut.used);
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
    if (found.at(-1)?.at === at) continue;
    const doubtful =
      failure?.at === at
        ? rejectedRecord(text, cut, failure)
        : { ...recordOf(cut, record - 1), isRejected: false };
    found.push({ ...doubtful, quoteAt: slash, dialect: 'backslash' });
  }
  return found;
}

/**
 * Finds records of several lines that TSV without quotes would read as rows: a quoted cell of theirs holds tabs, or there is
 * only one column.
 */
function rowsInCells(
  text: Buffer,
  cut: SplitRecords,
  { quote, width }: Pick<CsvDialect, 'quote'> & { readonly width: number },
): DoubtfulRecord[] {
  const { lines, count } = cut;
  const found: DoubtfulRecord[] = [];
  for (let record = 0; record < count; record += 1) {
    const next = lines[record]! + 1;
    if (record + 1 < count && lines[record + 1] === next) continue;
    const place = recordOf(cut, record);
    const row = text.subarray(place.at, place.end);
    if (!row.includes(LF) && !row.includes(CR)) continue;
    const tabs = row.reduce((count, byte) => count + Number(byte === tab), 0);
    if (width > 1 && tabs < width) continue; // each of them is between two cells
    const quoteAt = text.indexOf(quote, place.at);
    found.push({ ...place, isRejected: false, dialect: 'unquoted', quoteAt });
  }
  return found;
}

const recordOf = ({ bounds, lines }: SplitRecords, record: number) => ({
  record,
  at: bounds[2 * record]!,
  end: bounds[2 * record + 1]!,
  line: lines[record]!,
});

function rejectedRecord(text: Buffer, cut: SplitRecords, { at, line, where }: CsvParseError) {
  const end = endOfLine(text.subarray(0, cut.used), where);
  return { at, line, end, record: recordsBefore(cut, at), isRejected: true };
}

/** Finds quotes that start a cell of a row with an error, up to its last line: all, whether some are behind blanks, and that of the error. */
function openingQuotes(
  text: Buffer,
  { at, where }: Pick<CsvParseError, 'at' | 'where'>,
  markers: Markers,
) {
  const found = { opening: [] as number[], someBehindBlanks: false, isBehindBlanks: false };
  const row = text.subarray(0, endOfLine(text, where));
  for (const { quoteAt, start } of cellQuotes(row, at, markers)) {
    found.opening.push(quoteAt);
    if (start < quoteAt) found.someBehindBlanks = true;
    if (start < quoteAt && quoteAt === where) found.isBehindBlanks = true;
  }
  return found;
}

/** Yields quotes that start a cell, and where the blanks in front of each start. `from` is the start of a cell. */
function* cellQuotes(
  text: Buffer,
  from: number,
  { delimiter, quote }: Markers,
): Generator<{ readonly quoteAt: number; readonly start: number }> {
  for (let quoteAt = from; (quoteAt = text.indexOf(quote, quoteAt)) >= 0; quoteAt += quote.length) {
    const start = beforeBlanks(text, from, quoteAt, { delimiter, quote });
    const isFirst = start === from || isLineEnd(text[start - 1]); // a misread cell may have taken the line end
    if (isFirst || isMarkerAt(text, delimiter, start - delimiter.length)) yield { quoteAt, start };
  }
}

/**
 * The quotes of a record that is skipped in parts, because it is too long. If a cell of it may start with a quote, and it has a
 * quoting error, nothing shows where it ends.
 */
export class SkippedQuotes {
  readonly #markers: CsvDialect;
  /** End of the part before: a delimiter and blanks in front of a quote. */
  #before = Buffer.alloc(0);
  /** Whether a quote so far may start a cell. */
  openCell = false;

  constructor(markers: CsvDialect) {
    this.#markers = markers;
  }

  /** Returns the dialect in which an error of the record is none. `text` starts with a cell. */
  dialectOf(text: Buffer, { what, where }: Pick<CsvParseError, 'what' | 'where'>) {
    const { isBehindBlanks } = openingQuotes(text, { at: 0, where }, this.#markers);
    return what === strayQuote && isBehindBlanks ? 'blank' : 'error';
  }

  add(part: Buffer): void {
    if (this.openCell || this.#markers.quote.length === 0) return;
    const text = Buffer.concat([this.#before, part]);
    const seen = Math.max(0, this.#before.length - this.#markers.quote.length + 1);
    for (const { quoteAt } of cellQuotes(text, 0, this.#markers))
      if (quoteAt >= seen) this.openCell = true;
    this.#before = Buffer.from(text.subarray(-2 * longestMarker)); // a copy, to free the rest
  }
}

/**
 * Returns the position before the blanks that end at `end`, but for those of a delimiter such as `, `. Characters that nobody
 * sees and the `=` of a spreadsheet count as blanks, and line ends do not.
 */
function beforeBlanks(text: Buffer, start: number, end: number, markers: Markers): number {
  const { delimiter, quote } = markers;
  for (let at = end; ;) {
    const isBehindMarker =
      isMarkerAt(text, delimiter, at - delimiter.length) ||
      isMarkerAt(text, quote, at - quote.length); // such as `=`, which counts as a blank
    let from = at - 1;
    while (isContinuation(text[from]) && at - from < 4) from -= 1;
    if (from < start) return start; // of the part, which may begin within a character
    if (isBehindMarker || !isBlankAt(text, from, at)) return at;
    at = from;
  }
}

/** Whether a character that may be in front of a quoted cell stands there. */
function isBlankAt(text: Buffer, from: number, end: number): boolean {
  const byte = text[from]!;
  if (byte > space && byte < 0x7f) return byte === equalsSign;
  return !isLineEnd(byte) && isBlank(text.toString('utf8', from, end));
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

type Markers = Pick<CsvDialect, 'delimiter' | 'quote'>;
interface Limits {
  /** End of the record as it was read. */
  readonly end: number;
  /** The input ends with the text. */
  readonly last: boolean;
}

/**
 * Reads the record at a position in another form. It `ends` at the end of a line (`here`), with a quoted cell that is
 * closed after `end` (`later`), `beyond` the text, or is `invalid`. Quotes in other cells are text.
 */
function readRecord(
  text: Buffer,
  start: number,
  form: CellForm & Markers,
  limits: Limits,
): { at: number; width: number; ends: 'here' | 'later' | 'beyond' | 'invalid' } {
  const { delimiter, quote, escapes } = form;
  let at = start;
  for (let width = 1; ; width += 1) {
    at = afterBlanks(text, at, form);
    if (isMarkerAt(text, quote, at)) {
      const cell = readQuotedCell(text, at, form, limits);
      if (cell.ends !== 'here') return { at: cell.at, width, ends: cell.ends };
      ({ at } = cell);
    }
    while (at < text.length && !isCellEnd(text, delimiter, at))
      at += escapes === 'everywhere' && text[at] === backslash ? 2 : 1;
    if (at >= text.length) return { at: text.length, width, ends: 'beyond' };
    if (isLineEnd(text[at])) return { at, width, ends: 'here' };
    at += delimiter.length;
  }
}

/**
 * Reads the quoted cells of a record with an error, each as if everything in front of it were text: a program that quotes
 * only cells with delimiters or line ends writes other quotes as they are, also at the start of a cell. It `ends` like the
 * first cell that is closed later, else `beyond` the text if any cell does; `at` is how far it was read.
 */
function readOpenings(
  text: Buffer,
  { opening = [], end }: DoubtfulRecord,
  form: CellForm & Markers,
  last: boolean,
): { at: number; ends: 'here' | 'later' | 'beyond' } {
  const all = { at: 0, ends: 'here' as 'here' | 'beyond' };
  for (const quoteAt of opening) {
    const { at, ends } = readQuotedCell(text, quoteAt, form, { end, last });
    all.at = Math.max(all.at, at);
    if (ends === 'later') return { ...all, ends };
    if (ends === 'beyond') all.ends = ends;
  }
  return all;
}

/** Reads a quoted cell, and the blanks behind it; it `ends` like a record. */
function readQuotedCell(
  text: Buffer,
  quoteAt: number,
  form: CellForm & Markers,
  { end, last }: Limits,
): { at: number; ends: 'here' | 'later' | 'beyond' | 'invalid' } {
  const { delimiter, quote } = form;
  const closeAt = closingQuote(text, quoteAt + quote.length, form);
  if (closeAt < 0) return { at: text.length, ends: 'beyond' };
  const at = afterBlanks(text, closeAt + quote.length, form);
  const isCut = at + delimiter.length > text.length && !isLineEnd(text[at]);
  if (isCut && !last) return { at, ends: 'beyond' };
  const isEnd =
    isCellEnd(text, delimiter, at) ||
    (form.mayBeTable && !startsWord(text, closeAt + quote.length));
  if (at < text.length && !isEnd) return { at, ends: 'invalid' };
  return { at, ends: closeAt > end ? 'later' : 'here' };
}

function afterBlanks(text: Buffer, from: number, form: CellForm & Markers): number {
  for (let at = from; ;) {
    let end = at + 1;
    while (isContinuation(text[end]) && end - at < 4) end += 1;
    const isSkipped = !form.keepsBlanks && !isMarkerAt(text, form.delimiter, at);
    if (!isSkipped || at >= text.length || text[at] === equalsSign || !isBlankAt(text, at, end))
      return at;
    at = end;
  }
}

/** Leaves out bytes at the end with which a marker may begin: it would not be recognized. */
function withoutMarkerStart(text: Buffer, markers: readonly Buffer[]): Buffer {
  for (const marker of markers) {
    for (let length = marker.length - 1; length > 0; length -= 1) {
      const rest = text.length - length;
      if (rest >= 0 && text.subarray(rest).equals(marker.subarray(0, length)))
        return text.subarray(0, rest);
    }
  }
  return text;
}

/** Returns the position of the quote that closes a cell, or -1. Goes byte by byte: most cells are too short for a search. */
function closingQuote(
  text: Buffer,
  from: number,
  { quote, escapes, doubles }: CellForm & Pick<CsvDialect, 'quote'>,
): number {
  for (let at = from; at < text.length; at += 1) {
    const byte = text[at];
    if (byte === backslash && escapes !== 'none') {
      if (isMarkerAt(text, quote, at + 1)) at += quote.length;
      else if (escapes !== 'quote') at += 1;
    } else if (byte === quote[0] && isMarkerAt(text, quote, at)) {
      if (!doubles || !isMarkerAt(text, quote, at + quote.length)) return at;
      at += 2 * quote.length - 1;
    }
  }
  return -1;
}

const space = 0x20;
const equalsSign = 0x3d;
const tab = 0x09;
const tabDelimiter = Buffer.of(tab);
const isCellEnd = (text: Buffer, delimiter: Buffer, at: number): boolean =>
  isLineEnd(text[at]) || isMarkerAt(text, delimiter, at);
/** Whether a byte continues a character of UTF-8. */
const isContinuation = (byte: number | undefined): boolean =>
  byte !== undefined && byte >> 6 === 0b10;
const isLineEnd = (byte: number | undefined): boolean => byte === LF || byte === CR;

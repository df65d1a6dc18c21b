import { linesInOne, rejectTextBytes } from '../contract/file-formats.js';
import {
  BEYOND,
  CsvScanner,
  isMarkerAt,
  longestMarker,
  openQuote,
  standardCells,
  type CsvProgram,
  type CsvParseError,
  type CsvDialect,
} from '../text/csv-scanner.js';
import {
  endOfLine,
  rawExcerpt,
  skipLine,
  type HoldBack,
  type SplitRecords,
  type RecordSplitter,
  type Skip,
  type UnclosedQuote,
} from './record-splitter.js';
import {
  DialectCheck,
  SkippedQuotes,
  type KnownDialect,
  type OtherRecord,
} from './dialect-check.js';
import { incompleteBytes } from './encoding.js';
import type { RowParseError } from './row-block.js';

/** Bytes scanned at once; most windows are smaller. */
const usualBytes = 512 * 1024;

interface CsvSplitterOptions extends Omit<KnownDialect, 'width'> {
  /** Resume on the next line after a quote that is never closed. */
  readonly recovers: boolean;
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
  readonly #maxRecordBytes: number;
  readonly #mayBeTable: boolean;
  readonly #check: DialectCheck;
  #skipped: SkippedRecord | undefined;

  constructor(
    header: readonly string[],
    program: CsvProgram,
    markers: CsvDialect,
    { recovers, ...known }: CsvSplitterOptions,
  ) {
    this.header = header;
    this.program = program;
    this.markers = markers;
    this.#recovers = recovers;
    this.#maxRecordBytes = known.maxRecordBytes;
    this.#mayBeTable = known.mayBeTable;
    this.#check = new DialectCheck(markers, { ...known, width: header.length });
    this.#scanner = new CsvScanner(program, markers, { recovers });
  }

  /** Splits most windows at once, and long ones in parts, because the scanner copies its text each time. */
  cut(text: Buffer, line: number, last: boolean, holdBack?: HoldBack): SplitRecords {
    for (let size = usualBytes; ; size *= 2) {
      const isWhole = text.length <= size;
      const cut = this.#cut(text, { size, line, last, holdBack });
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
    const failures = rejected.filter(({ at }) => at < closed.used); // not those behind a long quote
    const other = this.#check.findOther(closed, whole, { failures, last: isEnd });
    const checked = other ? beforeOther(other, closed, whole) : closed;
    const mayEndEarly = last && !checked.unclosed && cut.used === text.length;
    const kept = holdBack && mayEndEarly ? withoutIncomplete(checked, text, holdBack) : checked;
    return { ...kept, ...standardCells(text.subarray(0, kept.used), kept.cells, this.markers) };
  }

  /** Skips a cell of several lines as a whole, because its lines would look like records. */
  skip(text: Buffer, line: number, last: boolean): Skip {
    const { comment } = this.markers;
    const isComment = comment.length > 0 && text.indexOf(comment) === 0;
    const record = (this.#skipped ??= {
      rest: isComment ? 'line' : 'cells',
      quotes: new SkippedQuotes(this.markers),
      columns: 0,
    });
    const skip =
      record.rest === 'line'
        ? skipLine(text, line, last)
        : this.#skipCells(record, { text, line, last });
    const skipped = text.subarray(0, skip.used);
    record.quotes.add(skipped);
    const lineStart = startOfLine(skipped, skipped.length);
    record.columns = skipped.length - lineStart + (lineStart > 0 ? 0 : record.columns);
    const unclosed = record.quotes.openCell || this.#mayBeTable ? record.error : undefined;
    if (skip.done) this.#skipped = undefined;
    return unclosed ? { ...skip, unclosed } : skip;
  }

  /** Skips cells; `text` starts with a cell. */
  #skipCells(record: SkippedRecord, { text, line, last }: SkippedPart): Skip {
    this.#scanner.begin(text, this.header.length, last);
    const { next, lineEnds, lastCell, failure } = this.#scanner.scan(0, { isRest: true });
    if (failure)
      return this.#skipParseError(record, { ...failure, line, lineEnds }, { text, last });
    if (next !== BEYOND) return { used: next, line: line + lineEnds + 1, done: true };
    const { quote } = this.markers;
    const isQuoted = quote.length > 0 && isMarkerAt(text, quote, lastCell);
    if (isQuoted && text.length - lastCell > this.#maxRecordBytes + 2)
      return this.#skipParseError(
        record,
        { what: openQuote, where: lastCell, line, lineEnds, limit: this.#maxRecordBytes },
        { text, last },
      );
    // An unquoted cell may end with the start of a delimiter, which must stay in the window.
    const used = isQuoted ? lastCell : Math.max(lastCell, text.length - 2 * longestMarker);
    return { used, line: line + lineEnds, done: false };
  }

  #skipParseError(
    record: SkippedRecord,
    failure: Omit<CsvParseError, 'at'> & { readonly limit?: number },
    { text, last }: Pick<SkippedPart, 'text' | 'last'>,
  ): Skip {
    const { what, where, line, lineEnds, limit } = failure;
    const place = placeOf(failure, text);
    if (startOfLine(text, where) === 0) place.column += record.columns;
    if (what === openQuote && !this.#recovers)
      return { used: 0, line, done: true, unclosed: { ...place, limit } };
    if (what !== openQuote)
      record.error = {
        ...place,
        dialect: this.#mayBeTable ? 'table' : record.quotes.dialectOf(text, failure),
      };
    record.rest = 'line';
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
      const error = `${what}, on line ${lastLine}: lines ${line} to ${lastLine} ${linesInOne}`;
      return { at, line, error, raw };
    }
    return { at, line, column: where - at + 1, error: what, raw };
  }
}

/** A record that is skipped in parts, because it is too long. */
interface SkippedRecord {
  /** What is left of it: cells, or only the line of an error. */
  rest: 'cells' | 'line';
  readonly quotes: SkippedQuotes;
  /** Its quoting error. */
  error?: UnclosedQuote;
  /** Bytes of its current line in the parts before. */
  columns: number;
}

interface SkippedPart {
  readonly text: Buffer;
  readonly line: number;
  readonly last: boolean;
}

interface Part {
  /** Bytes of the text that are split. */
  readonly size: number;
  readonly line: number;
  readonly last: boolean;
  readonly holdBack: HoldBack | undefined;
}

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

/** Ends a cut before a record. The record stays in the text if more of it must be read. */
function beforeOther(other: OtherRecord, cut: SplitRecords, text: Buffer): SplitRecords {
  const { at, line, quoteAt, dialect } = other;
  const before = { ...cutBefore(other, cut), line, unclosed: undefined };
  if (dialect === undefined) return before;
  const lineEnds = lineEndsIn(text, at, quoteAt);
  return { ...before, unclosed: { ...placeOf({ line, lineEnds, where: quoteAt }, text), dialect } };
}

const lineEndsIn = (text: Buffer, from: number, to: number): number =>
  text.toString('latin1', from, to).match(/\r\n|\r|\n/g)?.length ?? 0;

/** Returns line and column of a quoting error. */
const placeOf = (
  { line, lineEnds, where }: Pick<CsvParseError, 'line' | 'lineEnds' | 'where'>,
  text: Buffer,
) => ({ line: line + lineEnds, column: where - startOfLine(text, where) + 1 });

const startOfLine = (text: Buffer, at: number): number =>
  Math.max(text.lastIndexOf('\n', at), text.lastIndexOf('\r', at)) + 1;

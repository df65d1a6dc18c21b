import { rejectColumns, rejectTextBytes } from '../contract/file-formats.js';
import { isUtf8 } from 'node:buffer';
import { EngagectlError, groupDigits } from '../errors.js';
import { Breaks } from '../event-loop.js';
import { columnName } from './csv-header.js';
import type { CsvProgram, CsvDialect } from '../text/csv-scanner.js';
import { cleanRows, type RowParseError, type Position, type RowBlock } from './row-block.js';
import type { CellCleaning } from '../text/cell-cleaning.js';
import type { TextBuffer } from './text-buffer.js';

/** Complete records of a text, in the arrays of a RowBlock, which are valid until the next cut. */
export interface SplitRecords {
  /** Bytes consumed from the start of the text: records, errors, blank lines. */
  readonly used: number;
  /** Physical line after these bytes. */
  readonly line: number;
  readonly count: number;
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  /** Cell bounds as in Cells; undefined for JSON texts. */
  readonly cells: Int32Array | undefined;
  /** Converted contents of cells, to which bounds beyond `used` refer. */
  readonly behind?: Buffer;
  readonly parseErrors: readonly RowParseError[];
  /** Set if reading cannot continue after `used` bytes. */
  readonly unclosed?: UnclosedQuote | undefined;
  /** Set if a JSON value goes on behind the line after these bytes: the number of that line. */
  readonly spread?: number | undefined;
  /** Set if the text ends in the middle of a record, which stays in the text: the reason. */
  readonly incomplete?: string | undefined;
}

/** Position of a quote that makes the rest of the text one cell, or with which the text may have another dialect. */
export interface UnclosedQuote {
  readonly line: number;
  readonly column: number;
  /** Bytes after which reading stopped, if it did not reach the end of the input. */
  readonly limit?: number | undefined;
  /** If the quote is closed here: the dialect in which its cell would go on. */
  readonly dialect?: keyof typeof otherDialects;
}

/** Dialects that a table may have although most of it can be read without. */
const otherDialects: Readonly<
  Record<
    'backslash' | 'blank' | 'cells' | 'error' | 'table' | 'unquoted',
    { readonly what: string; readonly why?: string; readonly fix: string }
  >
> = {
  backslash: {
    what: 'may be escaped with a backslash',
    fix: `if it is, add --escape '\\'; if quotes within cells are doubled, add --escape '"'`,
  },
  blank: {
    what: 'follows a blank, and may start a cell of several lines',
    fix: "if a blank follows each delimiter, add it, like --delimiter ', '; otherwise remove it",
  },
  cells: {
    what: 'may be text: the row has another number of cells than the header, and one of them may have several lines',
    fix: 'correct that line: double the quotes within a cell, and quote each cell that has one',
  },
  error: {
    what: 'is an error, and a cell behind it may have several lines',
    fix: 'correct that line: double the quotes within a cell, quote each cell that has one, and write no blanks between quotes and delimiters',
  },
  table: {
    what: 'may start a cell of several lines, if the input is a table',
    fix: 'if it is a table, add --input-format csv; if each line is one value, add --input-format list',
  },
  unquoted: {
    what: 'may be text, and not start a cell of several lines with tabs',
    why: 'the lines up to the next quote would be one cell, and no records; nothing from there on was sent',
    fix: `if no cell of the file is in quotes, as in TSV of MySQL or Google Sheets, add --quote ''; otherwise add --quote '"'`,
  },
};
const rowsOfCell =
  'what is inside of a cell then would become records of its own; nothing from there on was sent';

/** Result of skipping the rest of an overlong record; `done` when its end was reached. */
export interface Skip {
  readonly used: number;
  readonly line: number;
  readonly done: boolean;
  readonly unclosed?: UnclosedQuote | undefined;
  /** Message for the record, if it is not just too long. */
  readonly error?: string;
}

/** Splits the text of one input into records, independent of its source. */
export interface RecordSplitter {
  /** Column names; undefined when records are JSON texts. */
  readonly header: readonly string[] | undefined;
  /** CSV dialect; undefined for JSON. */
  readonly markers?: CsvDialect;
  /** CSV scanner program; undefined for JSON. */
  readonly program?: CsvProgram;
  /** State from which another splitter can continue; see Position. */
  readonly state: string | undefined;
  /**
   * Returns the records that end in `text`, which starts between two records on physical line
   * `line`. `last`: nothing follows. `used` is 0 if the first record ends beyond the text.
   * `holdBack` is set if nothing follows and no line end is at the end: leaves an incomplete last record in the text.
   */
  cut(text: Buffer, line: number, last: boolean, holdBack?: HoldBack): SplitRecords;
  /**
   * Skips a record that is too long, first from its start, then from where it stopped,
   * so that its bytes need not stay in memory. Bytes beyond `used` are passed again. A quoted cell is skipped as a
   * whole, unless it is longer than a record may be.
   */
  skip(text: Buffer, line: number, last: boolean): Skip;
}

/**
 * Which last record without a line end may be incomplete: one that cannot be parsed, or any row of a
 * table, whose last cell may be cut off.
 */
export type HoldBack = 'unparsable' | 'unterminated';

/** Cost of a record besides its bytes, in units of Breaks. */
const recordUnits = 64;

/** Returns the first 64 KiB of an invalid record. */
export const rawExcerpt = (record: Buffer): Buffer => record.subarray(0, rejectTextBytes);

/** The text of one input after its header. */
export interface SplitInput {
  readonly source: string;
  readonly window: TextBuffer;
  readonly cutter: RecordSplitter;
  /** Position of the start of the window. */
  readonly start: Position;
  readonly maxRecordBytes: number;
  /** Which incomplete last record is held back; default: none. */
  readonly holdBack?: HoldBack | undefined;
  /** Whether rows in which all cells are empty are skipped. */
  readonly skipsEmptyRows?: boolean | undefined;
  /** How cells are cleaned, if they are. */
  readonly cleaning?: CellCleaning | undefined;
}

/**
 * Splits one input into blocks of at most some hundred KB (one record may have `maxRecordBytes`).
 * An invalid record becomes a parse error of its block; an incomplete one at the end is held back by the last block.
 * Throws what the source throws, E-CSV-QUOTE at a quote that is never closed, and E-FORMAT at a JSON value of several lines.
 */
export async function* splitBlocks(input: SplitInput): AsyncGenerator<RowBlock> {
  const { window, cutter, maxRecordBytes } = input;
  let { line, ordinal } = input.start;
  const breaks = new Breaks();
  let emptyRows = 0;
  const toBlock = (bytes: Buffer, cut: SplitRecords): RowBlock => {
    const first = ordinal;
    ordinal += cut.count + cut.parseErrors.length;
    const block = blockOf(input, bytes, { cut, first, line, ordinal });
    if (emptyRows === 0) return block;
    const counted = { ...block, emptyRows };
    emptyRows = 0;
    return counted;
  };
  for (;;) {
    const text = window.bytes;
    const holdBack = window.endsInLine ? input.holdBack : undefined;
    const all = cutter.cut(text, line, window.ended, holdBack);
    const cut = input.skipsEmptyRows ? withoutEmptyRows(all, cutter) : all;
    emptyRows += all.count - cut.count + all.parseErrors.length - cut.parseErrors.length;
    window.drop(cut.used);
    // A last line without a line end goes on, if text is appended.
    const isLineOpen = window.endsInLine && window.bytes.length === 0 && cut.used > 0;
    line = isLineOpen && cutter.state === undefined ? cut.line - 1 : cut.line;
    if (cut.count > 0 || cut.parseErrors.length > 0) {
      const bytes = text.subarray(0, cut.used);
      const records = rejectHeaders(bytes, cut, cutter);
      yield toBlock(bytes, checkRecords(bytes, records, maxRecordBytes));
      const units = cut.used + recordUnits * (cut.count + cut.parseErrors.length);
      if (breaks.areDue(units)) await breaks.take();
    }
    if (cut.unclosed) throw unclosedQuote(input.source, cut.unclosed);
    if (cut.spread !== undefined) throw spreadValue(input.source, cut.spread);
    if (cut.used > 0) continue;
    // A line end of up to two bytes is not part of the record.
    if (text.length > maxRecordBytes + 2) {
      const tooLong = overlongError(text, line, maxRecordBytes);
      const skipped = await skipRecord(input, line);
      ({ line } = skipped);
      const parseErrors = [{ ...tooLong, error: skipped.error ?? tooLong.error }];
      yield toBlock(text.subarray(0, 0), { ...noRecords, parseErrors });
    } else if (window.ended) {
      const { incomplete: error } = cut;
      const heldBack = error && { at: 0, line, error, raw: Buffer.from(rawExcerpt(text)) };
      if (heldBack) yield { ...toBlock(text.subarray(0, 0), noRecords), heldBack };
      else if (emptyRows > 0) yield toBlock(text.subarray(0, 0), noRecords);
      return;
    } else {
      await window.grow();
    }
  }
}

/** Drops rows in which all cells are empty, such as the last rows of a spreadsheet. */
function withoutEmptyRows(cut: SplitRecords, { header, markers }: RecordSplitter): SplitRecords {
  const { cells, count, parseErrors } = cut;
  if (!cells || !header || !markers || markers.delimiter.length === 0) return cut;
  const width = 2 * header.length;
  const isEmpty = (record: number): boolean => {
    for (let at = width * record; at < width * (record + 1); at += 2) {
      if (cells[at] !== cells[at + 1]) return false;
    }
    return true;
  };
  const isBlank = ({ raw }: RowParseError): boolean =>
    raw.length > 0 &&
    raw.length < rejectTextBytes && // else there may be more behind it
    raw.toString('latin1').replaceAll(markers.delimiter.toString('latin1'), '').trim() === '';
  const filled = parseErrors.some(isBlank)
    ? parseErrors.filter((parseError) => !isBlank(parseError))
    : parseErrors;
  let hasEmpty = false;
  for (let record = 0; record < count && !hasEmpty; record += 1) {
    hasEmpty = cells[width * record] === cells[width * record + 1] && isEmpty(record);
  }
  if (!hasEmpty) return filled === parseErrors ? cut : { ...cut, parseErrors: filled };
  const kept = Array.from({ length: count }, (_, record) => record).filter((one) => !isEmpty(one));
  return { ...pick(cut, kept), parseErrors: filled };
}

/** Turns rows that repeat the header into parse errors: somebody joined files with their headers. */
function rejectHeaders(
  text: Buffer,
  cut: SplitRecords,
  { header, markers }: RecordSplitter,
): SplitRecords {
  const { cells, count } = cut;
  if (!cells || !header || markers?.delimiter.length === 0) return cut; // a list may contain any value
  const width = 2 * header.length;
  const firstBytes = Buffer.byteLength(header[0]!);
  const repeats = (record: number): boolean => {
    const start = width * record;
    const from = cells[start]! + (text[cells[start]!] === 0xef ? 3 : 0); // each file may have a byte order mark
    if (cells[start + 1] !== from + firstBytes) return false;
    return header.every((name, column) => {
      const at = start + 2 * column;
      const cell = columnName(text.toString('utf8', cells[at], cells[at + 1]));
      return cell === name || rejectColumns.includes(name); // a rejects file says there what is wrong
    });
  };
  let first = 0;
  while (first < count && !repeats(first)) first += 1;
  if (first === count) return cut;
  return rejectRecords(text, cut, (record, line, index) =>
    repeats(index) ? { line, error: repeatedHeader, raw: rawExcerpt(record) } : undefined,
  );
}

const repeatedHeader = 'the row repeats the header, as in files that were joined: remove it';

/** Drops the rest of a record; returns the line after it, and what else is wrong with it. */
async function skipRecord(input: SplitInput, from: number): Promise<Pick<Skip, 'line' | 'error'>> {
  const { source, window, cutter } = input;
  let line = from;
  for (;;) {
    const skip = cutter.skip(window.bytes, line, window.ended);
    if (skip.unclosed) throw unclosedQuote(source, skip.unclosed);
    line = skip.line;
    window.drop(skip.used);
    if (skip.done || window.ended) return skip;
    await window.grow();
  }
}

/** Nothing after the quote may become a record, because it may be free text of a cell. */
function unclosedQuote(
  file: string,
  { line, column, limit, dialect }: UnclosedQuote,
): EngagectlError {
  if (dialect !== undefined) {
    const { what, why = rowsOfCell, fix } = otherDialects[dialect];
    return new EngagectlError('E-CSV-QUOTE', `${file}: the quote on line ${line} ${what}`, {
      file,
      line,
      column,
      why,
      fix,
    });
  }
  const ending =
    limit === undefined ? 'never closed' : `not closed within ${groupDigits(limit)} bytes`;
  const longer = limit === undefined ? '' : '; for longer cells, raise --max-record-bytes';
  return new EngagectlError('E-CSV-QUOTE', `${file}: the quote on line ${line} is ${ending}`, {
    file,
    line,
    column,
    why: 'everything after it would be one cell, so nothing after it was sent',
    fix: `close the quote, or double it if it is part of the text${longer}; if no cell is in quotes, add --quote ''; or use --recover-quotes (not for events and demerges) to reject the line and resume on the next one`,
  });
}

/** The lines of a value may be values themselves, such as a string of a list, which would become an identity. */
const spreadValue = (file: string, line: number): EngagectlError =>
  new EngagectlError('E-FORMAT', `${file}: on line ${line} begins a JSON value of several lines`, {
    file,
    line,
    column: 1,
    why: 'NDJSON has one record per line, and what is inside of a value must not become a record; nothing from there on was sent',
    fix: 'write each record on a line of its own (jq -c .); for one JSON array, add --input-format json',
  });

const noRecords: SplitRecords = {
  used: 0,
  line: 0,
  count: 0,
  bounds: new Int32Array(0),
  lines: new Uint32Array(0),
  cells: new Int32Array(0),
  parseErrors: [],
};

/** Returns a block that retains the memory of the text once for each of its records and errors. */
function blockOf(
  { source, window, cutter, start, cleaning }: SplitInput,
  bytes: Buffer,
  {
    cut,
    first,
    line,
    ordinal,
  }: { cut: SplitRecords; first: number; line: number; ordinal: number },
): RowBlock {
  const { count, parseErrors, behind } = cut;
  const { header, markers, program, state } = cutter;
  const { bounds, lines, cells: cellBounds } = window.memory!.keep(cut);
  const memory = window.memory!.retain(count + parseErrors.length);
  if (program && cellBounds && program.cells === cut.cells) program.cells = cellBounds;
  const place = { input: start.input, offset: window.offset, line, ordinal };
  const end = state === undefined ? place : { ...place, state };
  const text = behind ? Buffer.concat([bytes, behind]) : bytes;
  const table = header && cellBounds && { header, markers, program };
  const cells = table && { ...table, bounds: cellBounds };
  const block = {
    source,
    bytes: text,
    memory,
    count,
    bounds,
    lines,
    cells,
    first,
    end,
    parseErrors,
  };
  return cleanRows(block, cleaning);
}

function overlongError(text: Buffer, line: number, maxRecordBytes: number): RowParseError {
  // A copy, so that the error does not keep the whole window in memory.
  return { at: 0, line, error: overlong(maxRecordBytes), raw: Buffer.from(rawExcerpt(text)) };
}

/**
 * Turns records that are too long or not UTF-8 into parse errors. Checks the bytes of a whole cut
 * at once, and only one that fails record by record.
 */
function checkRecords(text: Buffer, cut: SplitRecords, maxRecordBytes: number): SplitRecords {
  if (longest(cut) <= maxRecordBytes && isUtf8(text)) return cut;
  return rejectRecords(text, cut, (record, line) => parseErrorOf(record, line, maxRecordBytes));
}

/** Turns the records for which `errorOf` returns an error into parse errors, among those that the cut has. */
function rejectRecords(
  text: Buffer,
  cut: SplitRecords,
  errorOf: (record: Buffer, line: number, index: number) => Omit<RowParseError, 'at'> | undefined,
): SplitRecords {
  const parseErrors: RowParseError[] = [...cut.parseErrors];
  const kept: number[] = [];
  for (let i = 0; i < cut.count; i++) {
    const at = cut.bounds[2 * i]!;
    const record = text.subarray(at, cut.bounds[2 * i + 1]);
    const parseError = errorOf(record, cut.lines[i]!, i);
    if (parseError) parseErrors.push({ ...parseError, at });
    else kept.push(i);
  }
  parseErrors.sort((a, b) => a.at - b.at);
  return { ...pick(cut, kept), parseErrors };
}

export const overlong = (maxRecordBytes: number): string =>
  `longer than ${maxRecordBytes} bytes (--max-record-bytes)`;

function longest({ bounds, count }: SplitRecords): number {
  let longest = 0;
  for (let i = 0; i < count; i++) {
    longest = Math.max(longest, bounds[2 * i + 1]! - bounds[2 * i]!);
  }
  return longest;
}

function parseErrorOf(
  record: Buffer,
  line: number,
  maxRecordBytes: number,
): Omit<RowParseError, 'at'> | undefined {
  const raw = rawExcerpt(record);
  if (record.length > maxRecordBytes) return { line, error: overlong(maxRecordBytes), raw };
  if (isUtf8(record)) return undefined;
  const error = 'not valid UTF-8; if the file has another encoding, set it with --encoding';
  const at = firstInvalid(record);
  const below = record.subarray(0, at).some((byte) => byte === LF || byte === CR);
  return below ? { line, error, raw } : { line, column: at + 1, error, raw };
}

/** Returns the index of the first byte that is not UTF-8, where decoding and encoding changes the text. */
function firstInvalid(record: Buffer): number {
  const replaced = Buffer.from(record.toString());
  return record.findIndex((byte, i) => byte !== replaced[i]);
}

/** Returns the records at the given indexes. */
function pick(cut: SplitRecords, kept: readonly number[]): SplitRecords {
  const perRecord = cut.cells && cut.count > 0 ? cut.cells.length / cut.count : 0;
  const of = (numbers: Int32Array, size: number) =>
    Int32Array.from(kept.flatMap((i) => [...numbers.subarray(i * size, (i + 1) * size)]));
  return {
    ...cut,
    count: kept.length,
    bounds: of(cut.bounds, 2),
    lines: Uint32Array.from(kept, (i) => cut.lines[i]!),
    cells: cut.cells && of(cut.cells, perRecord),
  };
}

export const LF = 10;
export const CR = 13;

/** Returns the position of the first LF or CR from `from` on, or the length of the text. */
export function endOfLine(text: Buffer, from: number): number {
  const lf = text.indexOf(LF, from);
  const line = lf === -1 ? text : text.subarray(0, lf);
  const cr = line.indexOf(CR, from);
  return cr === -1 ? line.length : cr;
}

/** Skips the rest of a physical line, which ends with LF, CRLF or CR. */
export function skipLine(text: Buffer, line: number, last: boolean): Skip {
  const end = endOfLine(text, 0);
  // A CR at the end of the text stays, because it may be the start of CRLF.
  const isOpen = end === text.length || (text[end] === CR && end + 1 === text.length);
  if (isOpen && !last) return { used: end, line, done: false };
  const used = text[end] === CR && text[end + 1] === LF ? end + 2 : end + 1;
  return { used: Math.min(used, text.length), line: line + 1, done: true };
}

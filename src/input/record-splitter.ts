import { isUtf8 } from 'node:buffer';
import { EngagectlError } from '../errors.js';
import { Breaks } from '../event-loop.js';
import type { CsvProgram, CsvDialect } from '../text/csv-scanner.js';
import type { RowParseError, Position, RowBlock } from './row-block.js';
import type { TextBuffer } from './text-buffer.js';

/** Whole records found in a stretch of text, in the arrays of a RowBlock, which are only lent until the next cut. */
export interface SplitRecords {
  /** Bytes from the start of the text that are settled: records, faults, blank lines. */
  readonly used: number;
  /** Physical line on which the text goes on after them. */
  readonly line: number;
  readonly count: number;
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  /** Cell bounds as in Cells; undefined for JSON texts. */
  readonly cells: Int32Array | undefined;
  /** Contents of cells that do not stand in the text as RowBlock wants them: bounds beyond `used`. */
  readonly behind?: Buffer;
  readonly faults: readonly RowParseError[];
  /** Where the text cannot be read on, `used` bytes behind its start. */
  readonly unclosed?: UnclosedQuote | undefined;
}

/** A quote with which the rest of the text would be one cell. */
export interface UnclosedQuote {
  readonly line: number;
  readonly column: number;
}

/** How far the rest of an overlong record was passed over; `done` when its end was reached. */
export interface Skip {
  readonly used: number;
  readonly line: number;
  readonly done: boolean;
  readonly unclosed?: UnclosedQuote | undefined;
}

/** Cuts the text of one input into records; knows nothing of where the text comes from. */
export interface RecordSplitter {
  /** Column names; undefined when records are JSON texts. */
  readonly header: readonly string[] | undefined;
  /** Between and around the cells, where there are any. */
  readonly markers?: CsvDialect;
  /** Which finds the cells, where there are any. */
  readonly program?: CsvProgram;
  /** What another cutter has to know to go on where this one is; see Position. */
  readonly state: string | undefined;
  /**
   * Cuts the records that end in `text`, which starts between two records on physical line
   * `line`. `last`: nothing follows. `used` 0 says that the first record ends beyond the text.
   */
  cut(text: Buffer, line: number, last: boolean): SplitRecords;
  /**
   * Passes over a record that is too long, first from its start, then from where it left off,
   * so that its bytes need not be held. Bytes beyond `used` are given again. A quoted cell is passed over as a
   * whole: where more than a record's bytes are left, its quote is not closed.
   */
  skip(text: Buffer, line: number, last: boolean): Skip;
}

/** Work on a record besides that on its bytes; see Breaks. */
const recordUnits = 64;

/** Most of a faulty record that is kept. */
const rawBytes = 64 * 1024;

/** The first 64 KiB of a faulty record. */
export const rawExcerpt = (record: Buffer): Buffer => record.subarray(0, rawBytes);

/** The text of one input after its header. */
export interface SplitInput {
  readonly source: string;
  readonly window: TextBuffer;
  readonly cutter: RecordSplitter;
  /** Where the window starts. */
  readonly start: Position;
  readonly maxRecordBytes: number;
}

/**
 * Cuts one input into blocks of at most some hundred KB (one record may be `maxRecordBytes`).
 * Whatever is wrong with a record becomes a fault. Throws what the source throws, and E-CSV-QUOTE at a quote
 * that is never closed.
 */
export async function* splitBlocks(input: SplitInput): AsyncGenerator<RowBlock> {
  const { window, cutter, maxRecordBytes } = input;
  let { line, ordinal } = input.start;
  const breaks = new Breaks();
  const toBlock = (bytes: Buffer, cut: SplitRecords): RowBlock => {
    const first = ordinal;
    ordinal += cut.count + cut.faults.length;
    return blockOf(input, bytes, { cut, first, line, ordinal });
  };
  for (;;) {
    const text = window.bytes;
    const cut = cutter.cut(text, line, window.ended);
    line = cut.line;
    window.drop(cut.used);
    if (cut.count > 0 || cut.faults.length > 0) {
      const bytes = text.subarray(0, cut.used);
      yield toBlock(bytes, checkRecords(bytes, cut, maxRecordBytes));
      const units = cut.used + recordUnits * (cut.count + cut.faults.length);
      if (breaks.areDue(units)) await breaks.take();
    }
    if (cut.unclosed) throw unclosedQuote(input.source, cut.unclosed);
    if (cut.used > 0) continue;
    // A line end may take two more bytes, and is not part of the record.
    if (text.length > maxRecordBytes + 2) {
      const fault = overlongFault(text, line, maxRecordBytes);
      line = await skipRecord(input, line);
      yield toBlock(text.subarray(0, 0), { ...noRecords, faults: [fault] });
    } else if (window.ended) {
      return;
    } else {
      await window.grow();
    }
  }
}

/** Drops bytes until the record is passed; returns the line on which the text goes on. */
async function skipRecord(input: SplitInput, from: number): Promise<number> {
  const { source, window, cutter } = input;
  let line = from;
  for (;;) {
    const skip = cutter.skip(window.bytes, line, window.ended);
    if (skip.unclosed) throw unclosedQuote(source, skip.unclosed);
    line = skip.line;
    window.drop(skip.used);
    if (skip.done || window.ended) return line;
    await window.grow();
  }
}

/** Nothing behind it may become a record: it could be free text of a cell. */
const unclosedQuote = (file: string, { line, column }: UnclosedQuote): EngagectlError =>
  new EngagectlError('E-CSV-QUOTE', `${file}: the quote on line ${line} is never closed`, {
    file,
    line,
    column,
    why: 'everything behind it would be one cell, so no record was made of it',
    fix: 'close the quote, or double it if it is a part of the text; --recover-quotes (not for events and demerges) rejects the line and resumes on the next one',
  });

const noRecords: SplitRecords = {
  used: 0,
  line: 0,
  count: 0,
  bounds: new Int32Array(0),
  lines: new Uint32Array(0),
  cells: new Int32Array(0),
  faults: [],
};

/** The block holds the memory of the text once for each of its records and faults. */
function blockOf(
  { source, window, cutter, start }: SplitInput,
  bytes: Buffer,
  {
    cut,
    first,
    line,
    ordinal,
  }: { cut: SplitRecords; first: number; line: number; ordinal: number },
): RowBlock {
  const { count, faults, behind } = cut;
  const { header, markers, program, state } = cutter;
  const { bounds, lines, cells: cellBounds } = window.memory!.keep(cut);
  const memory = window.memory!.hold(count + faults.length);
  const cells = header && cellBounds && { header, markers, program, bounds: cellBounds };
  if (cells && program && program.cells === cut.cells) program.cells = cells.bounds;
  const place = { input: start.input, offset: window.offset, line, ordinal };
  const end = state === undefined ? place : { ...place, state };
  const text = behind ? Buffer.concat([bytes, behind]) : bytes;
  return { source, bytes: text, memory, count, bounds, lines, cells, first, end, faults };
}

function overlongFault(text: Buffer, line: number, maxRecordBytes: number): RowParseError {
  // A copy, so that the fault does not keep the whole window.
  return { at: 0, line, error: overlong(maxRecordBytes), raw: Buffer.from(rawExcerpt(text)) };
}

/**
 * Turns records that are too long or not UTF-8 into faults. The bytes of a whole cut are
 * checked at once; only a cut that fails is looked at record by record.
 */
export function checkRecords(
  text: Buffer,
  cut: SplitRecords,
  maxRecordBytes: number,
): SplitRecords {
  if (longest(cut) <= maxRecordBytes && isUtf8(text)) return cut;
  const faults: RowParseError[] = [...cut.faults];
  const kept: number[] = [];
  for (let i = 0; i < cut.count; i++) {
    const record = text.subarray(cut.bounds[2 * i], cut.bounds[2 * i + 1]);
    const fault = faultOf(record, cut.lines[i]!, maxRecordBytes);
    if (fault) faults.push({ ...fault, at: cut.bounds[2 * i]! });
    else kept.push(i);
  }
  faults.sort((a, b) => a.at - b.at);
  return { ...pick(cut, kept), faults };
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

function faultOf(
  record: Buffer,
  line: number,
  maxRecordBytes: number,
): Omit<RowParseError, 'at'> | undefined {
  const raw = rawExcerpt(record);
  if (record.length > maxRecordBytes) return { line, error: overlong(maxRecordBytes), raw };
  if (isUtf8(record)) return undefined;
  const error = 'not valid UTF-8; if the file has another encoding, name it with --encoding';
  const at = firstInvalid(record);
  const below = record.subarray(0, at).some((byte) => byte === LF || byte === CR);
  return below ? { line, error, raw } : { line, column: at + 1, error, raw };
}

/** Index of the first byte that is not UTF-8: where decoding and encoding changes the text. */
function firstInvalid(record: Buffer): number {
  const replaced = Buffer.from(record.toString());
  return record.findIndex((byte, i) => byte !== replaced[i]);
}

/** The records at the given indexes. */
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

/** Position of the first LF or CR from `from` on, else the length of the text. */
export function endOfLine(text: Buffer, from: number): number {
  const lf = text.indexOf(LF, from);
  const line = lf === -1 ? text : text.subarray(0, lf);
  const cr = line.indexOf(CR, from);
  return cr === -1 ? line.length : cr;
}

/** Passes over the rest of a physical line, which ends with LF, CRLF or CR. */
export function skipLine(text: Buffer, line: number, last: boolean): Skip {
  const end = endOfLine(text, 0);
  // At a CR that ends the text only the next byte tells CR from CRLF: it stays.
  const isOpen = end === text.length || (text[end] === CR && end + 1 === text.length);
  if (isOpen && !last) return { used: end, line, done: false };
  const used = text[end] === CR && text[end + 1] === LF ? end + 2 : end + 1;
  return { used: Math.min(used, text.length), line: line + 1, done: true };
}

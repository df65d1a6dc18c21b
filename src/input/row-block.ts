import type { CsvProgram, CsvDialect } from '../text/csv-scanner.js';
import type { BufferPool } from './text-buffer.js';
import { cleanCells, type CellCleaning } from '../text/cell-cleaning.js';

/** A position between two records, from which another process can resume reading. */
export interface Position {
  /** Index of the input among those that were opened. */
  readonly input: number;
  /** Bytes of decoded UTF-8 text before it. */
  readonly offset: number;
  /** Physical line of the position, 1-based. */
  readonly line: number;
  /** Records of all inputs before it, unreadable ones included. */
  readonly ordinal: number;
  /** State of the splitter, if its format has one. */
  readonly state?: string;
}

/** Digest of the text of an input up to some position. */
export interface TextDigest {
  readonly input: number;
  /** Bytes of decoded UTF-8 text that the digest covers. */
  readonly offset: number;
  /** CRC-32 of these bytes; see TextHasher. */
  readonly hash: string;
  /** Whether the input ended there without a line end, and its last line was read as a record. */
  readonly endsInLine: boolean;
  /** Set once the input was read to its end. */
  readonly ended?: EndOfText;
}

/** Further facts about a text that was read to its end. */
interface EndOfText {
  /** Position after the last record, from which appended text is read. */
  readonly end: Position;
  /** SHA-256 of its first bytes; see TextHasher. */
  readonly head: string;
}

/**
 * A part of the input, split into records that are still bytes; passed from input to mapping.
 * A block does not change until `memory` was released for each of its records.
 */
export interface RowBlock {
  /** The file as the user named it; `stdin` for standard input. */
  readonly source: string;
  /** Decoded UTF-8 text. */
  readonly bytes: Buffer;
  /**
   * Memory of the bytes and cells, retained once for each record and error: whoever commits the outcome
   * of a record releases it.
   */
  readonly memory?: Pick<BufferPool, 'release'> | undefined;
  readonly count: number;
  /** Bounds of the records: record i is `bytes[bounds[2i], bounds[2i+1])`, without its line end. */
  readonly bounds: Int32Array;
  /** Physical line on which record i starts, 1-based. */
  readonly lines: Uint32Array;
  /** Cells of CSV, TSV and lists; undefined if each record is a JSON text. */
  readonly cells: Cells | undefined;
  /** Cleaning that was applied to the cells, and that is applied to the strings of JSON rows when they are mapped. */
  readonly cleaning?: CellCleaning | undefined;
  /** Rows before the end of the block that were skipped because all their cells are empty. */
  readonly emptyRows?: number;
  /** Ordinal of the block's first record, unreadable ones included; the run's first is 0. */
  readonly first: number;
  /** Start of the next block. */
  readonly end: Position;
  /** Records that could not be read, in order; each is one outcome (stage `parse`). */
  readonly parseErrors: readonly RowParseError[];
  /** The last record of an input that ends in the middle of it; it is not among the parseErrors and has no ordinal. */
  readonly heldBack?: RowParseError;
}

export interface Cells {
  /** Scanner program that found the cells, and whose memory may still contain them. */
  readonly program?: CsvProgram | undefined;
  /** Column names, in order; a list has one. */
  readonly header: readonly string[];
  /** CSV dialect. */
  readonly markers?: CsvDialect | undefined;
  /**
   * Bounds of the cells: cell c of record i has its content at `bytes[start, end)`, quotes stripped, with
   * start = bounds[2 * (i * header.length + c)] and end the number after it.
   * A negative end is ~end and marks content that may contain a doubled quote,
   * a backslash or a control character, and therefore needs escaping in JSON.
   */
  readonly bounds: Int32Array;
  /** The bounds before cleaning, if the cells were cleaned. */
  readonly uncleaned?: Int32Array | undefined;
}

/** A record that could not be read. */
export interface RowParseError {
  /** Offset in the block's bytes at which the record starts. */
  readonly at: number;
  /** Physical line on which it starts, 1-based. */
  readonly line: number;
  /** Byte within the line at which the error is, 1-based, if known. */
  readonly column?: number;
  readonly error: string;
  /** The bytes of the record, at most 64 KiB. */
  readonly raw: Buffer;
}

/** Returns a block with its cells cleaned in another way; undefined: as they were found. */
export function cleanRows(block: RowBlock, cleaning: CellCleaning | undefined): RowBlock {
  const { bytes, cells } = block;
  if (!cells) return { ...block, cleaning };
  const { uncleaned = cells.bounds, ...found } = cells;
  const bounds = cleaning ? cleanCells(bytes, uncleaned, cleaning) : uncleaned;
  return { ...block, cleaning, cells: { ...found, bounds, ...(cleaning && { uncleaned }) } };
}

/** Yields the first `count` records, unreadable ones included, in the order of their lines. */
export async function* limitRecords(
  blocks: AsyncIterable<RowBlock>,
  count: number,
): AsyncGenerator<RowBlock> {
  let left = count;
  if (left <= 0) return;
  for await (const block of blocks) {
    const records = block.count + block.parseErrors.length;
    yield records <= left ? block : cut(block, left);
    left -= Math.min(records, left);
    if (left <= 0) return;
  }
}

function cut(block: RowBlock, left: number): RowBlock {
  const lines = [
    ...block.lines.subarray(0, block.count),
    ...block.parseErrors.map(({ line }) => line),
  ];
  const last = lines.toSorted((a, b) => a - b)[left - 1] ?? 0;
  const parseErrors = block.parseErrors.filter(({ line }) => line <= last);
  return { ...block, parseErrors, count: left - parseErrors.length };
}

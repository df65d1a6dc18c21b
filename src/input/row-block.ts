import type { CsvProgram, CsvDialect } from '../text/csv-scanner.js';
import type { BufferPool } from './text-buffer.js';

/** A place between two records of the input, from which reading can go on in another process. */
export interface Position {
  /** Index of the input among those that were opened. */
  readonly input: number;
  /** Bytes of decoded UTF-8 text before it. */
  readonly offset: number;
  /** Physical line on which the text goes on, 1-based. */
  readonly line: number;
  /** Records of all inputs before it, unreadable ones included. */
  readonly ordinal: number;
  /** What the cutter of the format has to know besides, if anything. */
  readonly state?: string;
}

/** What the text of an input was, up to some point, when it was read. */
export interface TextDigest {
  readonly input: number;
  /** Bytes of decoded UTF-8 text it stands for. */
  readonly offset: number;
  /** Of all of them; see DigestedText. */
  readonly hash: string;
  /** Nothing followed, not even the end of its last line. */
  readonly endsInLine: boolean;
  /** Once the input was read to its end. */
  readonly ended?: EndOfText;
}

/** What more is known of a text that was read to its end. */
interface EndOfText {
  /** Behind its last record: where reading goes on when there is more. */
  readonly end: Position;
  /** Of its first bytes; see DigestedText. */
  readonly head: string;
}

/**
 * A stretch of input cut into records that are still bytes; what travels from input to mapping.
 * Whoever holds a record may keep its block: it does not change before all of `memory` is let go.
 */
export interface RowBlock {
  /** The file as the user named it; `stdin` for standard input. */
  readonly source: string;
  /** Decoded UTF-8 text. */
  readonly bytes: Buffer;
  /**
   * Where the bytes and cells lie, held once for each record and fault: who accounts for a record
   * lets go of it once its outcome is written down.
   */
  readonly memory?: Pick<BufferPool, 'letGo'> | undefined;
  readonly count: number;
  /** Record i is `bytes[bounds[2i], bounds[2i+1])`, without its line end. */
  readonly bounds: Int32Array;
  /** Physical line on which record i starts, 1-based. */
  readonly lines: Uint32Array;
  /** Columns of CSV, TSV and lists; undefined when each record is a JSON text. */
  readonly cells: Cells | undefined;
  /** Ordinal of the block's first record, unreadable ones counted; 0 is the run's first. */
  readonly first: number;
  /** Where the next block begins. */
  readonly end: Position;
  /** Records in this stretch that could not be read, in order: each is one outcome (stage `parse`). */
  readonly faults: readonly RowParseError[];
}

export interface Cells {
  /** In which they were found, if they were, and may still be with their text. */
  readonly program?: CsvProgram | undefined;
  /** Column names, in order; a list has the one name it was opened with. */
  readonly header: readonly string[];
  /** What stands between and around the cells. */
  readonly markers?: CsvDialect | undefined;
  /**
   * Cell c of record i has its content at `bytes[start, end)`, quotes stripped, with
   * start = bounds[2 * (i * header.length + c)] and end the number after it.
   * A negative end is ~end and says that the content is not plain: it may hold a doubled quote,
   * a backslash or a control character, and cannot stand in a JSON string as it is.
   */
  readonly bounds: Int32Array;
}

/** A record that could not be read. */
export interface RowParseError {
  /** Where in the block's bytes the record starts: its place among the others. */
  readonly at: number;
  /** Physical line on which it starts, 1-based. */
  readonly line: number;
  /** Byte within the line where the fault lies, 1-based, when that is known. */
  readonly column?: number;
  readonly error: string;
  /** What was read, at most 64 KiB of it, as bytes. */
  readonly raw: Buffer;
}

/** The first `count` records of the input, unreadable ones included, in the order of their lines. */
export async function* limitRecords(
  blocks: AsyncIterable<RowBlock>,
  count: number,
): AsyncGenerator<RowBlock> {
  let left = count;
  if (left <= 0) return;
  for await (const block of blocks) {
    const records = block.count + block.faults.length;
    yield records <= left ? block : cut(block, left);
    left -= Math.min(records, left);
    if (left <= 0) return;
  }
}

function cut(block: RowBlock, left: number): RowBlock {
  const lines = [...block.lines.subarray(0, block.count), ...block.faults.map(({ line }) => line)];
  const last = lines.toSorted((a, b) => a - b)[left - 1] ?? 0;
  const faults = block.faults.filter(({ line }) => line <= last);
  return { ...block, faults, count: left - faults.length };
}

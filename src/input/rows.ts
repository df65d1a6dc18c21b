/** Formats of the write commands' input. `list` is one bare value a line. */
export const inputFormats = ['csv', 'tsv', 'ndjson', 'json', 'list'] as const;
export type InputFormat = (typeof inputFormats)[number];

/**
 * A stretch of input cut into records that are still bytes; what travels from input to mapping.
 * A block is never changed after it was handed on: whoever holds a record may keep its block.
 */
export interface RowBlock {
  /** The file as the user named it; `stdin` for standard input. */
  readonly source: string;
  /** Decoded UTF-8 text. */
  readonly bytes: Buffer;
  readonly count: number;
  /** Record i is `bytes[bounds[2i], bounds[2i+1])`, without its line end. */
  readonly bounds: Int32Array;
  /** Physical line on which record i starts, 1-based. */
  readonly lines: Uint32Array;
  /** Columns of CSV, TSV and lists; undefined when each record is a JSON text. */
  readonly cells: Cells | undefined;
  /** Records in this stretch that could not be read: each is one outcome (stage `parse`). */
  readonly faults: readonly RowFault[];
}

export interface Cells {
  /** Column names, in order; a list has the one name it was opened with. */
  readonly header: readonly string[];
  /**
   * Cell c of record i has its content at `bytes[start, end)`, quotes stripped, with
   * start = bounds[2 * (i * header.length + c)] and end the number after it.
   * A negative end is ~end and says that the content holds doubled quotes.
   */
  readonly bounds: Int32Array;
}

/** A record that could not be read. */
export interface RowFault {
  /** Physical line on which it starts, 1-based. */
  readonly line: number;
  /** Byte within the line where the fault lies, 1-based, when that is known. */
  readonly column?: number;
  readonly error: string;
  /** What was read, at most 64 KiB of it, as bytes. */
  readonly raw: Buffer;
}

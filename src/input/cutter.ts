import type { CsvProgram, Markers } from '../text/csv-scanner.js';
import type { RowFault } from './row-block.js';

/** Whole records found in a stretch of text, in the arrays of a RowBlock, which are only lent until the next cut. */
export interface Cut {
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
  readonly faults: readonly RowFault[];
}

/** How far the rest of an overlong record was passed over; `done` when its end was reached. */
export interface Skip {
  readonly used: number;
  readonly line: number;
  readonly done: boolean;
}

/** Cuts the text of one input into records; knows nothing of where the text comes from. */
export interface Cutter {
  /** Column names; undefined when records are JSON texts. */
  readonly header: readonly string[] | undefined;
  /** Between and around the cells, where there are any. */
  readonly markers?: Markers;
  /** Which finds the cells, where there are any. */
  readonly program?: CsvProgram;
  /** What another cutter has to know to go on where this one is; see Position. */
  readonly state: string | undefined;
  /**
   * Cuts the records that end in `text`, which starts between two records on physical line
   * `line`. `last`: nothing follows. `used` 0 says that the first record ends beyond the text.
   */
  cut(text: Buffer, line: number, last: boolean): Cut;
  /**
   * Passes over a record that is too long, first from its start, then from where it left off,
   * so that its bytes need not be held. Bytes beyond `used` are given again.
   */
  skip(text: Buffer, line: number, last: boolean): Skip;
}

/** Most of a faulty record that is kept. */
const rawBytes = 64 * 1024;

/** The first 64 KiB of a faulty record. */
export const rawOf = (record: Buffer): Buffer => record.subarray(0, rawBytes);

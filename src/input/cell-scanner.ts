/**
 * Finds records of a CSV text and their cells. What it found stands in the fields, since a result
 * object per record would cost more than the scan; the tables are lent until the next `begin`.
 */
export interface CellScanner {
  /** Records found by `cut`, in the tables of RowBlock. */
  readonly count: number;
  readonly bounds: Int32Array;
  readonly lines: Uint32Array;
  /** Bounds as in Cells: those of the records found, or of the one that was scanned. */
  readonly cells: Int32Array;
  /** Where `cut` stopped: a position and its physical line. */
  readonly at: number;
  readonly line: number;
  /** Cells of the last record, of which those beyond the columns have no bounds; 0: a comment. */
  readonly width: number;
  /** How and where the last record broke the rules of quoting, after FAULT. */
  readonly fault: string;
  readonly faultAt: number;
  /** Takes up a text that begins between two records. `last`: nothing follows it. */
  begin(text: Buffer, columns: number, last: boolean): void;
  /**
   * Finds records from `start` on, which is on physical line `line`, and passes over blank lines
   * and comments, until the tables are full or the text has no more: then it returns BEYOND. Else
   * the record at `at` is none: it returns FAULT, or where it ends when its width is wrong.
   */
  cut(start: number, line: number): number;
  /**
   * Scans the one record at `start`, however wide. Returns the position of its line end (or of the
   * end of the text), BEYOND or FAULT.
   */
  scan(start: number): number;
}

/** Returned in place of a position: the record breaks the rules of quoting. */
export const FAULT = -2;

/** What the tables have room for, as in `wasm/csv-cells.ts`: many short records, or few wide ones. */
export const mostRecords = 4096;
export const mostCells = 65_536;

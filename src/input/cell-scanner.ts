/**
 * Finds the cells of one CSV record. The outcome of the last scan stands in the fields, since a
 * result object per record would cost more than the scan.
 */
export interface CellScanner {
  /** Cell bounds as in Cells, written from the index given to `scan` on. */
  readonly cells: Int32Array;
  /** Cells of the last record, of which those beyond the columns kept have no bounds; 0: no record. */
  readonly count: number;
  /** Whether a quoted cell of the last record held a line end. */
  readonly holdsLines: boolean;
  /** Where and how the last record broke the rules, after FAULT. */
  readonly faultAt: number;
  readonly fault: string;
  /**
   * Scans the record at `start`; its bounds go to `cells` from index `to` on. Returns the
   * position of its line end (or of the end of the text), BEYOND or FAULT.
   */
  scan(text: Buffer, start: number, to: number, last: boolean): number;
}

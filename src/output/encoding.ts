import type { RecordPage } from './output.js';

/** How the records of a document are written: ndjson, json, or CSV whose columns are known. */
export interface Encoding {
  /** The page's records. `isFirst`: nothing of the document has been written yet. */
  page(page: RecordPage, isFirst: boolean): Buffer;
  /** What completes the document; `isEmpty` when it has no records. */
  end(isEmpty: boolean): Buffer;
  /** Cells so far that a spreadsheet would run; set when pages are taken back. */
  formulas: number;
  readonly warnings: readonly string[];
}

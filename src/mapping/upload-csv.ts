import type { Cells, RowBlock } from '../input/rows.js';
import { writeRow } from './cell-row.js';
import { CellWriter } from './cell-writer.js';
import { columnsOf } from './columns.js';
import { CsvRow } from './csv-row.js';
import { invalid, RecordBuilder } from './record-builder.js';
import type { RecordBlock } from './records.js';
import type { UploadMapping } from './upload-mapping.js';

/** Rows of CSVs to upload records, by the header of each. */
export class UploadCsv {
  readonly #options: UploadMapping;
  readonly #cells = new CellWriter();
  readonly #records = new RecordBuilder(this.#cells.out);
  #header: readonly string[] | undefined;
  #row!: CsvRow;

  constructor(options: UploadMapping) {
    this.#options = options;
  }

  /** Throws what `columnsOf` throws. */
  useHeader(header: readonly string[], source: string): void {
    if (header === this.#header) return;
    const columns = columnsOf(header, this.#options, source);
    this.#row = new CsvRow(columns, this.#cells, this.#records, this.#options);
    this.#header = header;
  }

  build(rows: RowBlock, cells: Cells): RecordBlock {
    this.useHeader(cells.header, rows.source);
    const row = this.#row;
    const records = this.#records;
    row.open(rows, cells);
    return records.build(rows, (index) => {
      const error = writeRow(row.to(index), records, this.#options);
      return error === undefined ? undefined : invalid(error);
    });
  }
}

import type { Cells, RowBlock } from '../input/rows.js';
import { writeHead } from './cell-row.js';
import { columnsOf } from './columns.js';
import { CsvRow } from './csv-row.js';
import { invalid, RecordBuilder } from './record-builder.js';
import type { RecordBlock, RecordReject } from './records.js';
import { formOf } from './row-form.js';
import { DONE, HEAD, RowWriter } from './row-writer.js';
import type { UploadMapping } from './upload-mapping.js';

/** Rows of CSVs to upload records, by the header of each. */
export class UploadCsv {
  readonly #options: UploadMapping;
  readonly #writer = new RowWriter();
  readonly #records = new RecordBuilder(this.#writer.out);
  #header: readonly string[] | undefined;
  #row!: CsvRow;

  constructor(options: UploadMapping) {
    this.#options = options;
  }

  /** Throws what `columnsOf` throws. */
  useHeader(header: readonly string[], source: string): void {
    if (header === this.#header) return;
    const columns = columnsOf(header, this.#options, source);
    this.#row = new CsvRow(columns, this.#records, this.#options);
    this.#writer.setForm(formOf(columns, this.#options));
    this.#header = header;
  }

  build(rows: RowBlock, cells: Cells): RecordBlock {
    this.useHeader(cells.header, rows.source);
    const writer = this.#writer;
    const isEvent = this.#options.kind === 'event';
    const converges = new Uint8Array(rows.count).fill(isEvent ? 0 : 1);
    const rejects: RecordReject[] = [];
    writer.setBlock(rows, cells);
    for (let place = writer.next(); place !== DONE; place = writer.next()) {
      const { row, count: record } = writer;
      this.#records.converges = converges[record] === 1;
      const error = this.#write(this.#row.to(rows, cells, row), place);
      converges[record] = this.#records.converges ? 1 : 0;
      if (error === undefined) continue;
      rejects.push({ row, ...invalid(error) });
      writer.skip();
      converges[record] = isEvent ? 0 : 1; // of the row that comes next
    }
    const { count } = writer;
    const kinds = new Uint8Array(count).fill(isEvent ? 1 : 0);
    return { rows, count, ...writer.records, json: writer.out.bytes, converges, kinds, rejects };
  }

  /** Writes what the writer does not: the head of a record, or the value of a cell. */
  #write(row: CsvRow, place: number): string | undefined {
    if (place !== HEAD) return row.writeTyped(place);
    const error = writeHead(row, this.#records, this.#options);
    this.#writer.key = this.#records.key;
    return error;
  }
}

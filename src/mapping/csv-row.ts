import type { Cells, RowBlock } from '../input/rows.js';
import type { CellRow, Parts } from './cell-row.js';
import { CellText } from './cell-text.js';
import { columnFault, type Column } from './columns.js';
import type { RecordBuilder } from './record-builder.js';
import { writeString, writeTyped } from './typed-cell.js';
import type { UploadMapping } from './upload-mapping.js';

/** Rows of one CSV, one at a time: `to` moves on to the next. */
export class CsvRow implements CellRow {
  readonly parts: Parts;
  readonly #columns: readonly Column[];
  readonly #records: RecordBuilder;
  readonly #options: UploadMapping;
  readonly #text = new CellText();
  #bytes: Buffer = Buffer.alloc(0);
  #bounds: Int32Array = new Int32Array(0);
  /** Of the row's first cell in `#bounds`. */
  #first = 0;

  constructor(columns: readonly Column[], records: RecordBuilder, options: UploadMapping) {
    this.#columns = columns;
    this.#records = records;
    this.#options = options;
    const indexOf = (role: Column['role']): number =>
      columns.findIndex((column) => column.role === role);
    this.parts = {
      identity: indexOf('identity'),
      objectId: indexOf('objectId'),
      ts: indexOf('ts'),
      evtName: indexOf('evtName'),
    };
  }

  to({ bytes }: RowBlock, { bounds }: Cells, row: number): this {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#first = 2 * row * this.#columns.length;
    return this;
  }

  name(index: number): string {
    return this.#columns[index]!.name;
  }

  isEmpty(index: number): boolean {
    const at = this.#first + 2 * index;
    return this.#bounds[at] === this.#bounds[at + 1];
  }

  isString(): true {
    return true;
  }

  text(index: number): CellText {
    const at = this.#first + 2 * index;
    return this.#text.ofCell(this.#bytes, this.#bounds[at]!, this.#bounds[at + 1]!);
  }

  writeString(index: number): void {
    writeString(this.text(index), this.#records.out);
  }

  /** Writes a cell as the type of its column, which has one; says why it does not fit. */
  writeTyped(index: number): string | undefined {
    const { name, type } = this.#columns[index]!;
    const fault = writeTyped(this.text(index), type!, this.#records, this.#options.zone);
    return fault === undefined ? undefined : columnFault(name, fault);
  }
}

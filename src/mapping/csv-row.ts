import type { Cells, RowBlock } from '../input/rows.js';
import type { CellRow, Parts } from './cell-row.js';
import { CellText } from './cell-text.js';
import { columnFault, type Column } from './columns.js';
import { pieceOf, viewOf, type Piece } from './json-writer.js';
import type { RecordBuilder } from './record-builder.js';
import { writeTyped } from './typed-cell.js';
import type { UploadMapping } from './upload-mapping.js';

const emptyString = pieceOf('""');
const openString = pieceOf('"');
const nullWord = pieceOf('null');

/** Rows of one CSV, one at a time: `to` moves on to the next. */
export class CsvRow implements CellRow {
  readonly parts: Parts;
  readonly #columns: readonly Column[];
  /** The columns that are members of the data. */
  readonly #members: readonly { readonly index: number; readonly column: Column }[];
  readonly #records: RecordBuilder;
  readonly #options: UploadMapping;
  readonly #text = new CellText();
  #bytes: Buffer = Buffer.alloc(0);
  #view = viewOf(this.#bytes);
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
    this.#members = columns.flatMap((column, index) =>
      column.role === 'data' ? [{ index, column }] : [],
    );
  }

  to({ bytes }: RowBlock, { bounds }: Cells, row: number): this {
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#view = viewOf(bytes);
    }
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
    const at = this.#first + 2 * index;
    const { out } = this.#records;
    out.string(openString, 0, this.#view, this.#bounds[at]!, this.#bounds[at + 1]!);
  }

  writeMembers(): string | undefined {
    const { out } = this.#records;
    const bounds = this.#bounds;
    const dataStart = out.length;
    for (const { index, column } of this.#members) {
      const at = this.#first + 2 * index;
      const start = bounds[at]!;
      const end = bounds[at + 1]!;
      const comma = out.length === dataStart ? 1 : 0;
      if (start === end) {
        this.#writeEmpty(column, comma);
      } else if (column.type === undefined) {
        out.string(column.open, comma, this.#view, start, end);
      } else {
        out.piece(column.prefix, comma);
        const fault = writeTyped(this.text(index), column.type, this.#records, this.#options.zone);
        if (fault !== undefined) return columnFault(column.name, fault);
      }
    }
    return undefined;
  }

  #writeEmpty({ type, prefix }: Column, comma: number): void {
    const value = emptyValue(type, this.#options);
    if (value === undefined) return;
    this.#records.out.piece(prefix, comma);
    this.#records.out.piece(value);
  }
}

/** What --empty sends; an empty string only where strings are sent. */
export function emptyValue(type: Column['type'], { empty }: UploadMapping): Piece | undefined {
  if (empty === 'null') return nullWord;
  const isString = type === undefined || type === 'string';
  return empty === 'string' && isString ? emptyString : undefined;
}

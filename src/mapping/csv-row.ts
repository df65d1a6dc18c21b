import type { Cells, RowBlock } from '../input/rows.js';
import type { CellRow, Parts } from './cell-row.js';
import { CellText } from './cell-text.js';
import type { CellWriter, StringMember } from './cell-writer.js';
import { columnFault, type Column } from './columns.js';
import { pieceOf, type Piece } from './json-writer.js';
import type { RecordBuilder } from './record-builder.js';
import { writeTyped } from './typed-cell.js';
import type { UploadMapping } from './upload-mapping.js';

const emptyString = pieceOf('""');
const nullWord = pieceOf('null');

/** Members of the data that follow each other. */
interface Run {
  /** Strings, as counted by the CellWriter. */
  readonly from: number;
  readonly to: number;
  /** The column of the one behind them that has a type, or -1. */
  readonly typed: number;
}

/** Rows of one CSV, one at a time: `to` moves on to the next. */
export class CsvRow implements CellRow {
  readonly parts: Parts;
  readonly #columns: readonly Column[];
  readonly #runs: readonly Run[];
  readonly #cells: CellWriter;
  readonly #records: RecordBuilder;
  readonly #options: UploadMapping;
  readonly #text = new CellText();
  #bytes: Buffer = Buffer.alloc(0);
  #bounds: Int32Array = new Int32Array(0);
  /** Index of the row's first cell. */
  #first = 0;

  /** `records` are written to where `cells` writes. */
  constructor(
    columns: readonly Column[],
    cells: CellWriter,
    records: RecordBuilder,
    options: UploadMapping,
  ) {
    this.#columns = columns;
    this.#cells = cells;
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
    const strings: StringMember[] = [];
    const runs: Run[] = [];
    let from = 0;
    for (const [index, { role, type, prefix }] of columns.entries()) {
      if (role !== 'data') continue;
      if (isText(type)) {
        strings.push({ index, prefix });
      } else {
        runs.push({ from, to: strings.length, typed: index });
        from = strings.length;
      }
    }
    this.#runs = [...runs, { from, to: strings.length, typed: -1 }];
    cells.setMembers(strings, emptyValue('string', options));
  }

  /** Goes on to the rows of a block. */
  open({ bytes }: RowBlock, { bounds }: Cells): void {
    this.#bytes = bytes;
    this.#bounds = bounds;
    this.#cells.setBlock(bytes, bounds);
  }

  to(row: number): this {
    this.#first = row * this.#columns.length;
    return this;
  }

  name(index: number): string {
    return this.#columns[index]!.name;
  }

  isEmpty(index: number): boolean {
    const at = 2 * (this.#first + index);
    return this.#bounds[at] === this.#bounds[at + 1];
  }

  isString(): true {
    return true;
  }

  text(index: number): CellText {
    const at = 2 * (this.#first + index);
    return this.#text.ofCell(this.#bytes, this.#bounds[at]!, this.#bounds[at + 1]!);
  }

  writeString(index: number): void {
    this.#cells.writeString(this.#first + index);
  }

  writeMembers(): string | undefined {
    const start = this.#records.out.length;
    for (const { from, to, typed } of this.#runs) {
      if (from < to) this.#cells.writeMembers(this.#first, from, to, start);
      const fault = typed < 0 ? undefined : this.#writeTyped(typed, start);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  #writeTyped(index: number, start: number): string | undefined {
    const { out } = this.#records;
    const { name, type, prefix } = this.#columns[index]!;
    const isEmpty = this.isEmpty(index);
    const empty = isEmpty ? emptyValue(type, this.#options) : undefined;
    if (isEmpty && empty === undefined) return undefined;
    out.piece(prefix, out.length === start ? 1 : 0);
    if (empty) {
      out.piece(empty);
      return undefined;
    }
    const fault = writeTyped(this.text(index), type!, this.#records, this.#options.zone);
    return fault === undefined ? undefined : columnFault(name, fault);
  }
}

/** What --empty sends; an empty string only where strings are sent. */
export function emptyValue(type: Column['type'], { empty }: UploadMapping): Piece | undefined {
  if (empty === 'null') return nullWord;
  return empty === 'string' && isText(type) ? emptyString : undefined;
}

const isText = (type: Column['type']): boolean => type === undefined || type === 'string';

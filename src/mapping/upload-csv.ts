import { allOf } from './all-of.js';
import { writeHead, type CellRow, type Parts } from './flat-row.js';
import { CellText } from '../text/text-slice.js';
import { writeString, writeTyped } from './cell-types.js';
import { columnFault, columnsOf, type Column } from './columns.js';
import { unexpectedIn } from './unexpected-in.js';
import { invalid, RecordBuilder } from './record-block.js';
import { formOf } from './row-form.js';
import { DONE, HEAD, RowWriter } from './row-writer.js';
import type { Cells, RowBlock } from '../input/row-block.js';
import type { RecordBlock, RecordReject } from './records.js';
import type { UploadMapping } from './upload-mapping.js';

/** Rows of CSVs to upload records, by the header of each; as a CellRow, the one being written. */
export class UploadCsv implements CellRow {
  readonly #options: UploadMapping;
  readonly #writer = new RowWriter();
  readonly #records = new RecordBuilder(this.#writer.out);
  /** For cells of rows that are turned down. */
  readonly #scratch = new RecordBuilder();
  readonly #text = new CellText();
  #header: readonly string[] | undefined;
  #columns: readonly Column[] = [];
  parts: Parts = { identity: -1, objectId: -1, ts: -1, evtName: -1 };
  /** Of the block. */
  #bytes: Buffer = Buffer.alloc(0);
  #bounds: Int32Array = new Int32Array(0);
  /** Of the row's first cell in `#bounds`. */
  #first = 0;

  constructor(options: UploadMapping) {
    this.#options = options;
  }

  /** Throws what `columnsOf` throws. */
  useHeader(header: readonly string[], source: string): void {
    if (header === this.#header) return;
    const columns = columnsOf(header, this.#options, source);
    const roles = columns.map(({ role }) => role);
    this.parts = {
      identity: roles.indexOf('identity'),
      objectId: roles.indexOf('objectId'),
      ts: roles.indexOf('ts'),
      evtName: roles.indexOf('evtName'),
    };
    this.#writer.setForm(formOf(columns, this.#options));
    this.#columns = columns;
    this.#header = header;
  }

  build(rows: RowBlock, cells: Cells, picked = allOf(rows)): RecordBlock {
    this.useHeader(cells.header, rows.source);
    this.#bytes = rows.bytes;
    this.#bounds = cells.bounds;
    const writer = this.#writer;
    const isEvent = this.#options.kind === 'event';
    const converges = new Uint8Array(picked.length).fill(isEvent ? 0 : 1);
    const rejects: RecordReject[] = [];
    writer.setBlock(rows, cells, picked);
    for (let place = writer.next(); place !== DONE; place = writer.next()) {
      const { row, count: record } = writer;
      this.#first = 2 * row * this.#columns.length;
      this.#records.converges = converges[record] === 1;
      const error = this.#write(place);
      converges[record] = this.#records.converges ? 1 : 0;
      if (error === undefined) continue;
      rejects.push({ row, ...invalid(this.#allFaults(place, error)) });
      writer.skip();
      converges[record] = isEvent ? 0 : 1; // of the row that comes next
    }
    const { count } = writer;
    const kinds = new Uint8Array(count).fill(isEvent ? 1 : 0);
    const { bytes: json } = writer.out;
    const { faults } = rows;
    return { rows, count, ...writer.records, json, converges, kinds, rejects, faults };
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
    writeString(this.text(index), this.#records);
  }

  /** What else is wrong with the row, whose cell at this place is the first that is. */
  #allFaults(place: number, first: string): string {
    const faults = [first];
    for (let index = place === HEAD ? 0 : place + 1; index < this.#columns.length; index++) {
      const { name, role, type } = this.#columns[index]!;
      if (role !== 'data' || type === undefined || this.isEmpty(index)) continue;
      const fault = writeTyped(this.text(index), type, this.#scratch, this.#options.zone);
      if (fault !== undefined) faults.push(columnFault(name, fault));
      this.#scratch.out.length = 0;
    }
    return faults.join('; ');
  }

  /** Writes what the writer does not: the head of a record, or a cell as the type of its column. */
  #write(place: number): string | undefined {
    if (place === HEAD) {
      const { expected } = this.#options;
      const unexpected = expected && unexpectedIn(this, this.#columns, expected);
      const error = writeHead(this, this.#records, this.#options);
      this.#writer.key = this.#records.key;
      return unexpected !== undefined && error !== undefined
        ? `${error}; ${unexpected}`
        : (error ?? unexpected);
    }
    const { name, type } = this.#columns[place]!;
    const fault = writeTyped(this.text(place), type!, this.#records, this.#options.zone);
    return fault === undefined ? undefined : columnFault(name, fault);
  }
}

import { CellText } from '../../text/text-slice.js';
import { csvCell } from '../../output/formats.js';
import { openTextProgram } from '../../text/wasm-program.js';
import { reserve, type WasmMemory } from '../../wasm.js';
import type { TableHeader } from '../../input/inputs.js';
import type { RowBlock } from '../../input/row-block.js';
import type { Encoding, RecordPage } from '../../output/output.js';
import type { Derived, DerivedRows } from './derived-rows.js';

/** What `wasm/cuid.ts` exports. */
interface AppendProgram {
  readonly memory: WasmMemory;
  // oxlint-disable-next-line max-params -- places in its memory
  appendCuids(
    rows: number,
    places: number,
    delimiter: number,
    delimiterEnd: number,
    to: number,
  ): number;
}

/** Lines of a CSV or TSV, byte for byte; a list becomes a CSV. */
export class DerivedTable implements DerivedRows {
  readonly encoding: Encoding;
  readonly #program = openTextProgram() as AppendProgram;
  readonly #delimiter: Buffer;
  readonly #isList: boolean;

  constructor({ header, markers }: TableHeader) {
    this.#isList = markers.delimiter.length === 0;
    this.#delimiter = this.#isList ? Buffer.from(',') : markers.delimiter;
    const marks = { ...markers, delimiter: this.#delimiter };
    const names = [...header, 'cuid'].map((name) => quoted(name, marks));
    const head = Buffer.from(`${names.join(this.#delimiter.toString())}\n`);
    this.encoding = {
      page: ({ bytes, bounds }, isFirst) => {
        const lines = bytes.subarray(bounds[0], bounds[1]);
        return isFirst ? Buffer.concat([head, lines]) : lines;
      },
      end: (isEmpty) => (isEmpty ? head : Buffer.alloc(0)),
    };
  }

  /** A row of a table stays where it is. */
  hold(): void {}

  page({ rows, taken, kept, made }: Derived): RecordPage {
    const { bytes, bounds } = this.#isList ? quotedCells(rows) : rows;
    const { cuids } = made;
    const [from, to] = [bounds[0] ?? 0, bounds[2 * rows.count - 1] ?? 0];
    // In the memory: delimiter, rows, cuids, places, and what is written.
    const rowsAt = this.#delimiter.length;
    const cuidsAt = rowsAt + to - from;
    const cuidsEnd = cuidsAt + cuids.end - cuids.start;
    const places = (cuidsEnd + 3) & ~3;
    const start = places + 16 * kept.length;
    const added = cuidsEnd - cuidsAt + kept.length * (rowsAt + newlineLength);
    const memory = this.#memoryOf(start + to - from + added);
    bytes.copy(memory, rowsAt, from, to);
    cuids.bytes.copy(memory, cuidsAt, cuids.start, cuids.end);
    const numbers = new Int32Array(memory.buffer, places, 4 * kept.length);
    let at = 0;
    for (const index of kept) {
      const row = taken[index]!;
      const cuid = made.cuid(index);
      numbers[at++] = rowsAt + bounds[2 * row]! - from;
      numbers[at++] = rowsAt + bounds[2 * row + 1]! - from;
      numbers[at++] = cuidsAt + cuid.start - cuids.start;
      numbers[at++] = cuidsAt + cuid.end - cuids.start;
    }
    const end = this.#program.appendCuids(kept.length, places, 0, rowsAt, start);
    return { bytes: memory, bounds: Int32Array.of(start, end), count: kept.length };
  }

  #memoryOf(bytes: number): Buffer {
    const { memory } = this.#program;
    reserve(memory, bytes);
    const view = Buffer.from(memory.buffer);
    this.#delimiter.copy(view);
    return view;
  }
}

const newlineLength = 1;

/** The values of a list as cells of a CSV. */
function quotedCells({ bytes, cells, count }: RowBlock): Pick<RowBlock, 'bytes' | 'bounds'> {
  const text = new CellText();
  const bounds = new Int32Array(2 * count);
  const values: Buffer[] = [];
  let end = 0;
  for (let row = 0; row < count; row += 1) {
    const from = cells!.bounds[2 * row]!;
    const value = text.ofCell(bytes, from, cells!.bounds[2 * row + 1]!).toString();
    const cell = Buffer.from(csvCell(value));
    values.push(cell);
    bounds[2 * row] = end;
    bounds[2 * row + 1] = end += cell.length;
  }
  return { bytes: Buffer.concat(values), bounds };
}

/** A name as it can stand in the header of a table with these marks. */
function quoted(name: string, { delimiter, quote, escape }: TableHeader['markers']): string {
  const mark = quote.toString();
  if (mark === '') return name;
  const needed = [delimiter.toString(), mark, '\n', '\r'].some((text) => name.includes(text));
  return needed ? `${mark}${name.replaceAll(mark, `${escape.toString()}${mark}`)}${mark}` : name;
}

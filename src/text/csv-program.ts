import { openTextProgram } from './wasm-program.js';
import { reserve, type WasmMemory, type WasmNumber } from '../wasm.js';

/** What `wasm/csv-memory.ts`, `wasm/csv-cells.ts` and `wasm/csv-records.ts` export. Places come back signed. */
interface CsvCode extends ShardCode, Record<Place | CutNumber | WrittenNumber, WasmNumber> {
  readonly memory: WasmMemory;

  useMarkers(
    delimiter: number,
    quote: number,
    escape: number,
    comment: number,
    doubles: boolean,
  ): void;
  beginCut(length: number, columns: number, last: boolean): void;
  cut(line: number): void;
  scan(start: number): number;

  beginRecords(form: number, out: number, rows: number, columns: number, members: number): void;
  writeRows(to: number, last: number): number;
  skipRow(): void;
  readonly writtenKey: { value: number };
}

/** What `wasm/shards.ts` exports. */
export interface ShardCode {
  readonly memory: WasmMemory;
  setShards(count: number): void;
  shardOf(start: number, end: number): number;
  shardsOfCells(
    text: number,
    cells: number,
    rows: number,
    columns: number,
    first: number,
    second: number,
    before: number,
    emptyLength: number,
    out: number,
  ): void;
  shardsOfLines(
    text: number,
    bounds: number,
    rows: number,
    name: number,
    nameLength: number,
    out: number,
  ): void;
}

type Place = 'text' | 'lines' | 'bounds' | 'cells' | 'faults' | 'rows' | 'writtenBounds' | 'keys' | 'markers'; // prettier-ignore
type CutNumber = 'cutCount' | 'faultCount' | 'cutAt' | 'cutLine' | 'scannedEnd' | 'width' | 'lineEnds' | 'faultAt'; // prettier-ignore
type WrittenNumber = 'writtenCount' | 'writtenRow' | 'writtenStart' | 'writtenEnd';

/** How far behind what it reads and writes the program may touch its memory. */
const slack = 64;

/**
 * An instance of the text program in which CSV is cut into cells and written as records. What was
 * cut last need not be copied there again to be written.
 */
export class CsvProgram {
  #code: CsvCode | undefined;
  /** The bounds of cells that it holds with their text, if it does. */
  cells: Int32Array | undefined;

  /** It is made when it is first used. */
  get code(): CsvCode {
    return (this.#code ??= openTextProgram() as CsvCode);
  }

  /** Copies a text there. */
  load(text: Buffer): void {
    this.cells = undefined;
    const at = this.code.text.value;
    this.reserve(at + text.length);
    text.copy(this.bytes(at, text.length));
  }

  /** Makes sure that it holds a text and these bounds of its cells. */
  hold(text: Buffer, cells: Int32Array): void {
    if (this.cells === cells) return;
    this.load(text);
    this.numbers(this.code.cells.value, cells.length).set(cells);
    this.cells = cells;
  }

  /** Makes room up to this place. */
  reserve(end: number): void {
    reserve(this.code.memory, end + slack);
  }

  bytes(at: number, length: number): Buffer {
    return Buffer.from(this.code.memory.buffer, at, length);
  }

  /** All memory that may be used from there on. */
  restFrom(at: number): Buffer {
    return this.bytes(at, this.code.memory.buffer.byteLength - slack - at);
  }

  numbers(at: number, count: number): Int32Array {
    return new Int32Array(this.code.memory.buffer, at, count);
  }
}

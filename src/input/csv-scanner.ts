import {
  openTextProgram,
  reserve,
  type WasmMemory,
  type WasmNumber,
} from '../text/text-program.js';
import { FAULT, mostCells, mostRecords, type CellScanner } from './cell-scanner.js';
import { BEYOND } from './line-ends.js';

/** What `wasm/csv-cells.ts` exports: its functions, what they found, and where its tables are. */
interface Program {
  readonly memory: WasmMemory;
  readonly cellText: WasmNumber;
  readonly recordBounds: WasmNumber;
  readonly recordLines: WasmNumber;
  readonly cells: WasmNumber;
  readonly cellRecords: WasmNumber;
  readonly cellsAt: WasmNumber;
  readonly cellLine: WasmNumber;
  readonly cellWidth: WasmNumber;
  readonly cellFaultAt: WasmNumber;
  beginCells(length: number, columns: number, delimiter: number, last: boolean): void;
  cut(start: number, line: number): number;
  scan(start: number): number;
}

/** How far behind the last byte the program may look. */
const slack = 64;

/** By what the program returns. */
const faults = new Map([
  [-2, 'quote in an unquoted cell'],
  [-3, 'text after a closing quote'],
  [-4, 'quote that is never closed'],
]);

/** One for all inputs: nothing stays in it from one text to the next. */
let shared: Program | undefined;

/** The cells of RFC 4180 with any delimiter of one byte, or none: the grammar is in `wasm/csv-cells.ts`. */
export class CsvScanner implements CellScanner {
  fault = '';
  readonly #program = (shared ??= openTextProgram() as Program);
  /** -1, which no byte is, when there is none. */
  readonly #delimiter: number;

  constructor(delimiter: Buffer) {
    this.#delimiter = delimiter[0] ?? -1;
  }

  get count(): number {
    return this.#program.cellRecords.value;
  }
  get bounds(): Int32Array {
    const { memory, recordBounds } = this.#program;
    return new Int32Array(memory.buffer, recordBounds.value, 2 * mostRecords);
  }
  get lines(): Uint32Array {
    const { memory, recordLines } = this.#program;
    return new Uint32Array(memory.buffer, recordLines.value, mostRecords);
  }
  get cells(): Int32Array {
    const { memory, cells } = this.#program;
    return new Int32Array(memory.buffer, cells.value, 2 * mostCells);
  }
  get at(): number {
    return this.#program.cellsAt.value;
  }
  get line(): number {
    return this.#program.cellLine.value;
  }
  get width(): number {
    return this.#program.cellWidth.value;
  }
  get faultAt(): number {
    return this.#program.cellFaultAt.value;
  }

  begin(text: Buffer, columns: number, last: boolean): void {
    const { memory, cellText: to } = this.#program;
    reserve(memory, to.value + text.length + slack);
    text.copy(new Uint8Array(memory.buffer, to.value));
    this.#program.beginCells(text.length, columns, this.#delimiter, last);
  }

  cut(start: number, line: number): number {
    return this.#outcome(this.#program.cut(start, line));
  }

  scan(start: number): number {
    return this.#outcome(this.#program.scan(start));
  }

  #outcome(code: number): number {
    if (code >= BEYOND) return code;
    this.fault = faults.get(code)!;
    return FAULT;
  }
}

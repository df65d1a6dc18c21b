import { openTextProgram, reserve, type WasmMemory, type WasmNumber } from './text-program.js';

/** What `wasm/csv-memory.ts`, `wasm/csv-cells.ts` and `wasm/csv-records.ts` export. Places come back signed. */
interface CsvExports {
  readonly memory: WasmMemory;
  readonly lines: WasmNumber;
  readonly bounds: WasmNumber;
  readonly cells: WasmNumber;
  readonly faults: WasmNumber;
  readonly rows: WasmNumber;
  readonly writtenBounds: WasmNumber;
  readonly keys: WasmNumber;
  readonly markers: WasmNumber;
  readonly text: WasmNumber;

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
  readonly cutCount: WasmNumber;
  readonly faultCount: WasmNumber;
  readonly cutAt: WasmNumber;
  readonly cutLine: WasmNumber;
  readonly scannedEnd: WasmNumber;
  readonly width: WasmNumber;
  readonly lineEnds: WasmNumber;
  readonly faultAt: WasmNumber;

  beginRecords(form: number, out: number, rows: number, columns: number, members: number): void;
  writeRows(to: number, last: number): number;
  skipRow(): void;
  readonly writtenCount: WasmNumber;
  readonly writtenRow: WasmNumber;
  readonly writtenKey: { value: number };
  readonly writtenStart: WasmNumber;
  readonly writtenEnd: WasmNumber;
}

/** How far behind what it reads and writes the program may touch its memory. */
const slack = 64;

/**
 * An instance of the text program in which CSV is cut into cells and written as records. What was
 * cut last need not be copied there again to be written.
 */
export class CsvProgram {
  #code: CsvExports | undefined;
  /** What it holds. */
  loaded: LoadedText | undefined;

  /** It is made when it is first used. */
  get code(): CsvExports {
    return (this.#code ??= openTextProgram() as CsvExports);
  }

  /** Copies a text there. */
  load(text: Buffer): void {
    this.loaded = new LoadedText(this);
    const at = this.code.text.value;
    this.reserve(at + text.length);
    text.copy(this.bytes(at, text.length));
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

/** A text and its cells in the memory of a program. */
export class LoadedText {
  readonly program: CsvProgram;

  constructor(program: CsvProgram) {
    this.program = program;
  }

  /** No other one was put in its place. */
  get isThere(): boolean {
    return this.program.loaded === this;
  }
}

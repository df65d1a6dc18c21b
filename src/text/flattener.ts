import type { RecordPage } from './record-page.js';
import { openTextProgram, type WasmMemory, type WasmNumber } from './text-program.js';

/** What `wasm/text.ts` exports for it; places and columns are numbers. */
interface Program {
  readonly memory: WasmMemory;
  readonly flattened: WasmNumber;
  readonly rootPlace: WasmNumber;
  readonly columnCount: WasmNumber;
  readonly formulas: WasmNumber;
  recordRoom(bytes: number): number;
  boundsRoom(count: number): number;
  flatten(from: number, count: number): number;
  findPlace(parent: number, start: number, end: number, scratch: number): number;
  addPlace(parent: number, start: number, end: number): number;
  giveColumn(place: number): number;
  placeOfColumn(column: number): number;
  parentOf(place: number): number;
  spellingOf(place: number): number;
  spellingEnd(place: number): number;
  fixColumns(): void;
  escapeFormulas(): void;
  setFormulas(count: number): void;
}

/** Consecutive rows of as many cells each: the columns that were known when they were written. */
export interface RowRun {
  readonly width: number;
  readonly bytes: Buffer;
  /** Where each row ends, behind its newline. */
  readonly ends: Int32Array;
  /** Length of the records' JSON, in bytes. */
  readonly recordBytes: number;
}

interface FlattenerOptions {
  /** Columns there are from the start. */
  readonly columns: readonly string[];
  /** Whether there will be no others. */
  readonly fixed: boolean;
  /** Whether cells that a spreadsheet would run get a leading `'`. */
  readonly escapeFormulas: boolean;
  /** Such cells so far. */
  readonly formulas?: number;
}

/** Bytes of records that are flattened at a time: few enough for the cache of a CPU. */
const chunkBytes = 1 << 18;

/**
 * Flattens records into rows of a CSV. `profileData.City` is the column of the member City of
 * profileData; a dot or backslash of a name itself is written with a backslash before it, so
 * that two places never share a column. Done by `wasm/json/rows.ts`.
 */
export class Flattener {
  readonly #program = openTextProgram() as Program;
  readonly #columns: string[] = [];
  #memory = Buffer.alloc(0);

  constructor({ columns, fixed, escapeFormulas, formulas = 0 }: FlattenerOptions) {
    const program = this.#program;
    for (const column of columns) program.giveColumn(this.#placeOf(column));
    if (fixed) program.fixColumns();
    if (escapeFormulas) program.escapeFormulas();
    program.setFormulas(formulas);
  }

  /** Names of the columns so far, in order of first appearance. */
  get columns(): readonly string[] {
    const program = this.#program;
    for (let column = this.#columns.length; column < program.columnCount.value; column += 1) {
      this.#columns.push(this.#nameOf(program.placeOfColumn(column)));
    }
    return this.#columns;
  }

  /** How many there are so far. */
  get columnCount(): number {
    return this.#program.columnCount.value;
  }

  /** Cells so far that a spreadsheet would run. */
  get formulas(): number {
    return this.#program.formulas.value;
  }
  set formulas(count: number) {
    this.#program.setFormulas(count);
  }

  /** The rows of a page, each run good until the next one is asked for. */
  *rows({ bytes, bounds, count }: RecordPage): Generator<RowRun> {
    for (let from = 0; from < count;) {
      const start = bounds[2 * from]!;
      let to = from + 1;
      while (to < count && bounds[2 * to + 1]! - start <= chunkBytes) to += 1;
      this.#load(bytes.subarray(start, bounds[2 * to - 1]), bounds.subarray(2 * from, 2 * to));
      for (let next = from; next < to;) {
        const first = next;
        next = from + this.#program.flatten(first - from, to - from);
        yield this.#run(bounds[2 * next - 1]! - bounds[2 * first]!);
      }
      from = to;
    }
  }

  #load(text: Buffer, bounds: Int32Array): void {
    const textAt = this.#program.recordRoom(text.length);
    const boundsAt = this.#program.boundsRoom(bounds.length / 2);
    const memory = this.#view();
    text.copy(memory, textAt);
    const table = new Int32Array(memory.buffer, boundsAt, bounds.length);
    const [first = 0] = bounds;
    for (let i = 0; i < bounds.length; i += 1) table[i] = bounds[i]! - first;
  }

  #run(recordBytes: number): RowRun {
    const memory = this.#view();
    const { flattened } = this.#program;
    const numbers = new Int32Array(memory.buffer, flattened.value, 5);
    const [count = 0, width = 0, rowsAt = 0, length = 0, endsAt = 0] = numbers;
    return {
      width,
      bytes: memory.subarray(rowsAt, rowsAt + length),
      ends: new Int32Array(memory.buffer, endsAt, count),
      recordBytes,
    };
  }

  #placeOf(column: string): number {
    const program = this.#program;
    return namesOf(column).reduce((parent, name) => {
      const spelling = Buffer.from(JSON.stringify(name).slice(1, -1));
      const start = program.recordRoom(2 * spelling.length);
      const end = start + spelling.length;
      spelling.copy(this.#view(), start);
      return program.findPlace(parent, start, end, end) || program.addPlace(parent, start, end);
    }, program.rootPlace.value);
  }

  #nameOf(place: number): string {
    const program = this.#program;
    const [start, end] = [program.spellingOf(place), program.spellingEnd(place)];
    const spelling = this.#view().toString('utf8', start, end);
    const part = (JSON.parse(`"${spelling}"`) as string).replaceAll(/[.\\]/g, '\\$&');
    const parent = program.parentOf(place);
    return parent === program.rootPlace.value ? part : `${this.#nameOf(parent)}.${part}`;
  }

  /** All of the memory; made anew when it has grown. */
  #view(): Buffer {
    if (this.#memory.length === 0) this.#memory = Buffer.from(this.#program.memory.buffer);
    return this.#memory;
  }
}

/** The names of a dotted path. */
function namesOf(column: string): string[] {
  const names = [''];
  for (const [part] of column.matchAll(/\\.|./gsu)) {
    if (part === '.') names.push('');
    else names.push(`${names.pop() ?? ''}${part.replace(/^\\(?=.)/su, '')}`);
  }
  return names;
}

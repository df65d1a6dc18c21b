import { instantiateTextProgram, type WasmMemory, type WasmNumber } from '../wasm.js';
import type { RecordPage } from './page-scanner.js';

/** Exports of `wasm/index.ts`; addresses and columns are numbers. */
interface Program {
  readonly memory: WasmMemory;
  readonly flattened: WasmNumber;
  readonly flattenedEnd: WasmNumber;
  readonly rootPlace: WasmNumber;
  readonly columnCount: WasmNumber;
  readonly formulas: WasmNumber;
  recordRoom(bytes: number): number;
  boundsRoom(count: number): number;
  learn(count: number): void;
  flatten(from: number, count: number): number;
  findPlace(parent: number, start: number, end: number, scratch: number): number;
  addPlace(parent: number, start: number, end: number): number;
  giveColumn(place: number): number;
  placeOfColumn(column: number): number;
  parentOf(place: number): number;
  spellingOf(place: number): number;
  spellingEnd(place: number): number;
  keepTypes(place: number): void;
  takeObjects(): void;
  escapeFormulas(): void;
  setFormulas(count: number): void;
}

interface FlattenerOptions {
  /**
   * Fixed columns, in which objects are written as JSON; otherwise columns are collected from the
   * records.
   */
  readonly columns?: readonly string[] | undefined;
  /** Whether cells that a spreadsheet would run as a formula get a leading `'`. */
  readonly escapeFormulas: boolean;
}

/** Members whose values an upload of the CSV gives their types again: strings that look like others are quoted. */
const typedMembers = ['profileData', 'event_props'];
/** Matches the columns of these members. */
export const typedColumns = new RegExp(String.raw`^(?:${typedMembers.join('|')})\.`);

/** Bytes of records flattened at a time, sized for the CPU cache. */
const chunkBytes = 1 << 18;

/**
 * Flattens records into CSV rows. `profileData.City` is the column of the member City of profileData; a
 * dot or backslash in a name is escaped with a backslash, so that two members never share a column.
 * Implemented in `wasm/json-flattener.ts`.
 */
export class JsonFlattener {
  readonly #program = instantiateTextProgram() as Program;
  readonly #columns: string[] = [];
  #memory = Buffer.alloc(0);
  #nameBytes = 0;
  /** Number of columns whose names are counted in `#nameBytes`. */
  #measured = 0;

  constructor({ columns, escapeFormulas }: FlattenerOptions) {
    const program = this.#program;
    for (const column of columns ?? []) program.giveColumn(this.#placeOf(column));
    for (const member of typedMembers) program.keepTypes(this.#placeOf(member));
    if (columns) program.takeObjects();
    if (escapeFormulas) program.escapeFormulas();
  }

  /** Names of the columns so far, in order of first appearance. */
  get columns(): readonly string[] {
    const program = this.#program;
    for (let column = this.#columns.length; column < program.columnCount.value; column += 1) {
      this.#columns.push(this.#nameOf(program.placeOfColumn(column)));
    }
    return this.#columns;
  }

  /** Bytes of the names of all columns so far, which repeat the names around them. */
  get nameBytes(): number {
    const program = this.#program;
    for (; this.#measured < program.columnCount.value; this.#measured += 1) {
      let place = program.placeOfColumn(this.#measured);
      for (; place !== program.rootPlace.value; place = program.parentOf(place))
        this.#nameBytes += program.spellingEnd(place) - program.spellingOf(place) + 1;
    }
    return this.#nameBytes;
  }

  /** Number of columns so far. */
  get columnCount(): number {
    return this.#program.columnCount.value;
  }

  /** Number of cells so far that a spreadsheet would run. */
  get formulas(): number {
    return this.#program.formulas.value;
  }
  set formulas(count: number) {
    this.#program.setFormulas(count);
  }

  /** Adds the columns of the records of a page; ends early when there are more than `most`. */
  learn(page: RecordPage, most = Infinity): void {
    for (const count of this.#parts(page)) {
      this.#program.learn(count);
      if (this.columnCount > most) return;
    }
  }

  /** Yields the rows of a page in chunks; each is valid until the next is requested. */
  *rows(page: RecordPage): Generator<Buffer> {
    const program = this.#program;
    for (const count of this.#parts(page)) {
      for (let next = 0; next < count;) {
        next = program.flatten(next, count);
        yield this.#view().subarray(program.flattened.value, program.flattenedEnd.value);
      }
    }
  }

  /** Loads the records of a page in chunks; yields the number of records. */
  *#parts({ bytes, bounds, count }: RecordPage): Generator<number> {
    for (let from = 0; from < count;) {
      const start = bounds[2 * from]!;
      let to = from + 1;
      while (to < count && bounds[2 * to + 1]! - start <= chunkBytes) to += 1;
      this.#load(bytes.subarray(start, bounds[2 * to - 1]), bounds.subarray(2 * from, 2 * to));
      yield to - from;
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

  /** View of the whole memory, renewed when it has grown. */
  #view(): Buffer {
    if (this.#memory.length === 0) this.#memory = Buffer.from(this.#program.memory.buffer);
    return this.#memory;
  }
}

/** Splits a dotted path into names. */
function namesOf(column: string): string[] {
  const names = [''];
  for (const [part] of column.matchAll(/\\.|./gsu)) {
    if (part === '.') names.push('');
    else names.push(`${names.pop() ?? ''}${part.replace(/^\\(?=.)/su, '')}`);
  }
  return names;
}

import type { Cells, RowBlock } from '../input/rows.js';
import {
  openTextProgram,
  reserve,
  type WasmMemory,
  type WasmNumber,
} from '../text/text-program.js';
import { JsonWriter, type Piece } from './json-writer.js';
import type { RecordBlock } from './records.js';
import type { RowForm } from './row-form.js';

/** What `wasm/csv-records.ts` exports. Places in its memory come back signed. */
interface Program {
  readonly memory: WasmMemory;
  readonly recordCount: WasmNumber;
  readonly recordRow: WasmNumber;
  readonly recordKey: { value: number };
  readonly recordStart: WasmNumber;
  readonly recordsAt: WasmNumber;
  beginRecords(
    textAt: number,
    boundsAt: number,
    recordsAt: number,
    outAt: number,
    rows: number,
    columns: number,
    members: number,
  ): void;
  writeRecords(to: number, last: number): number;
  skipRecord(): void;
}

/** Returned by `next` in place of a column. */
export const DONE = -1;
const FULL = -2;
export const HEAD = -3;

const kinds = { string: 0, boolean: 1, other: 2 } as const;
const headNumbers = 7;
const memberNumbers = 6;
const recordNumbers = 4;
const numberBytes = Int32Array.BYTES_PER_ELEMENT;
/** How far behind what it reads and writes the program may touch its memory. */
const slack = 8;
/** Of what stands behind the members. */
const closing = 3;
/** Of one byte: \\u0000. */
const longestEscape = 6;

/**
 * Writes the rows of one block after the other to `out`, as records, but for what the caller has to
 * write there. It lies in the memory of `wasm/csv-records.ts`, behind a copy of the block.
 */
export class RowWriter {
  readonly out = new JsonWriter((length) => this.#outOf(length));
  readonly #program = openTextProgram() as Program;
  #memberCount = 0;
  /** Of the block. */
  #rows = 0;
  /** Where in the memory the text begins, the table of records, and what is written. */
  #textAt = 0;
  #recordsAt = 0;
  #outAt = 0;
  /** Most that a row takes of what is written here: without its cells, and with them. */
  #formBytes = 0;
  #rowBytes = 0;

  /** The form of the records of the blocks that follow. */
  setForm({ head, members }: RowForm): void {
    const pieces: Piece[] = [];
    let at = numberBytes * (headNumbers + memberNumbers * members.length);
    const placed = (piece: Piece | undefined): [place: number, length: number] => {
      if (!piece) return [at, 0];
      pieces.push(piece);
      at += piece.length;
      return [at - piece.length, piece.length];
    };
    const numbers = [
      head?.column ?? -1,
      head?.keyBytes ?? 0,
      head?.keySeed ?? 0,
      ...[head?.opening, head?.middle].flatMap(placed),
      ...members.flatMap(({ column, kind, prefix, empty }) => [
        column,
        kinds[kind],
        ...[prefix, empty].flatMap(placed),
      ]),
    ];
    this.#reserve(at);
    const { buffer } = this.#program.memory;
    new Int32Array(buffer).set(numbers);
    Buffer.concat(pieces.map(bytesOf)).copy(Buffer.from(buffer, numberBytes * numbers.length));
    this.#memberCount = members.length;
    this.#textAt = at;
    this.#formBytes = at + 2 * (members.length + 1) + closing;
  }

  /** Takes up a block; what was written before is lost. */
  setBlock({ bytes, count }: RowBlock, { header, bounds }: Cells): void {
    const boundsAt = roundUp(this.#textAt + bytes.length, numberBytes);
    this.#recordsAt = boundsAt + bounds.byteLength;
    this.#outAt = this.#recordsAt + recordNumbers * numberBytes * count;
    this.#rowBytes = longestEscape * bytes.length + this.#formBytes;
    this.#rows = count;
    this.out.length = 0;
    this.out.moveTo(this.#outOf(this.#rowBytes));
    const { buffer } = this.#program.memory;
    bytes.copy(Buffer.from(buffer, this.#textAt));
    new Int32Array(buffer, boundsAt, bounds.length).set(bounds);
    this.#program.beginRecords(
      this.#textAt,
      boundsAt,
      this.#recordsAt,
      this.#outAt,
      count,
      header.length,
      this.#memberCount,
    );
  }

  /**
   * Writes on, behind what the caller wrote, until that has something to write: returns HEAD, for
   * all before the members, or the column of a cell, of which it is the value; DONE at the end.
   */
  next(): number {
    const { out } = this;
    const program = this.#program;
    for (;;) {
      out.reserve(this.#rowBytes);
      const last = this.#outAt + out.bytes.length - this.#rowBytes;
      const stop = program.writeRecords(this.#outAt + out.length, last);
      this.#goTo(program.recordsAt.value);
      if (stop !== FULL) return stop;
    }
  }

  /** Gives up the row. */
  skip(): void {
    this.#program.skipRecord();
    this.#goTo(this.#program.recordStart.value);
  }

  /** The row that is being written. */
  get row(): number {
    return this.#program.recordRow.value;
  }

  /** Hash of its key, for who writes the head. */
  set key(key: number) {
    this.#program.recordKey.value = key;
  }

  /** Records written. */
  get count(): number {
    return this.#program.recordCount.value;
  }

  /** Of the records written their row, bounds in `out`, and key. */
  get records(): Pick<RecordBlock, 'row' | 'bounds' | 'keys'> {
    const { count } = this;
    const rows = this.#rows;
    const { buffer } = this.#program.memory;
    const numbers = new Int32Array(buffer, this.#recordsAt, recordNumbers * rows);
    return {
      row: numbers.slice(0, count),
      bounds: numbers.slice(rows, rows + 2 * count),
      keys: numbers.slice(3 * rows, 3 * rows + count),
    };
  }

  #goTo(place: number): void {
    this.out.length = (place >>> 0) - this.#outAt;
  }

  #outOf(length: number): Buffer {
    this.#reserve(this.#outAt + length);
    const { buffer } = this.#program.memory;
    return Buffer.from(buffer, this.#outAt, buffer.byteLength - this.#outAt - slack);
  }

  #reserve(length: number): void {
    reserve(this.#program.memory, length + slack);
  }
}

const bytesOf = ({ view, length }: Piece): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, length);

const roundUp = (length: number, unit: number): number => Math.ceil(length / unit) * unit;

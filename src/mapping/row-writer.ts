import { CsvProgram } from '../text/csv-scanner.js';
import { JsonWriter } from '../text/json-writer.js';
import type { Cells, RowBlock } from '../input/row-block.js';
import type { RecordBlock } from './records.js';
import type { RowForm } from './row-form.js';

/** Returned by `next` in place of a column. */
export const DONE = -1;
const FULL = -2;
export const HEAD = -3;

const numberBytes = Int32Array.BYTES_PER_ELEMENT;
/** Of what stands behind the members. */
const closing = 3;
/** Of one byte: \\u0000. */
const longestEscape = 6;

/**
 * Writes the rows of one block after the other to `out`, as records, but for what the caller has to
 * write there. `wasm/csv-records.ts` does it, where the block was cut and its text and cells mostly
 * still are.
 */
export class RowWriter {
  readonly out = new JsonWriter((length) => this.#outOf(length));
  #program = new CsvProgram();
  #form: RowForm = { bytes: Buffer.alloc(0), members: 0 };
  /** Where what is written begins. */
  #outAt = 0;
  /** Most that a row takes of what is written here: without its cells, and with them. */
  #formBytes = 0;
  #rowBytes = 0;

  /** The form of the records of the blocks that follow. */
  setForm(form: RowForm): void {
    this.#form = form;
    this.#formBytes = form.bytes.length + 2 * (form.members + 1) + closing;
  }

  /** Takes up these rows of a block; what was written before is lost. */
  setBlock({ bytes }: RowBlock, { header, program, bounds }: Cells, rows: Int32Array): void {
    if (program) this.#program = program;
    const { code } = this.#program;
    this.#program.hold(bytes, bounds);
    const formAt = code.text.value + roundUp(bytes.length + 1, numberBytes);
    this.#outAt = formAt + this.#form.bytes.length;
    this.#rowBytes = longestEscape * bytes.length + this.#formBytes;
    this.out.length = 0;
    this.out.bytes = this.#outOf(this.#rowBytes);
    this.#form.bytes.copy(this.#program.bytes(formAt, this.#form.bytes.length));
    this.#program.numbers(code.rows.value, rows.length).set(rows);
    code.beginRecords(formAt, this.#outAt, rows.length, header.length, this.#form.members);
  }

  /**
   * Writes on, behind what the caller wrote, until that has something to write: returns HEAD, for
   * all before the members, or the column of a cell, of which it is the value; DONE at the end.
   */
  next(): number {
    const { out } = this;
    const { code } = this.#program;
    for (;;) {
      out.reserve(this.#rowBytes);
      const last = this.#outAt + out.bytes.length - this.#rowBytes;
      const stop = code.writeRows(this.#outAt + out.length, last);
      this.#goTo(code.writtenEnd.value);
      if (stop !== FULL) return stop;
    }
  }

  /** Gives up the row. */
  skip(): void {
    const { code } = this.#program;
    code.skipRow();
    this.#goTo(code.writtenStart.value);
  }

  /** The row that is being written. */
  get row(): number {
    return this.#program.code.writtenRow.value;
  }

  /** Hash of its key, for who writes the head. */
  set key(key: number) {
    this.#program.code.writtenKey.value = key;
  }

  /** Records written. */
  get count(): number {
    return this.#program.code.writtenCount.value;
  }

  /** Of the records written their row, bounds in `out`, and key. */
  get records(): Pick<RecordBlock, 'row' | 'bounds' | 'keys'> {
    const { code } = this.#program;
    const { count } = this;
    return {
      row: this.#program.numbers(code.rows.value, count).slice(),
      bounds: this.#program.numbers(code.writtenBounds.value, 2 * count).slice(),
      keys: this.#program.numbers(code.keys.value, count).slice(),
    };
  }

  #goTo(place: number): void {
    this.out.length = (place >>> 0) - this.#outAt;
  }

  /** What is written lies at the end of the memory. */
  #outOf(length: number): Buffer {
    this.#program.reserve(this.#outAt + length);
    return this.#program.restFrom(this.#outAt);
  }
}

const roundUp = (length: number, unit: number): number => Math.ceil(length / unit) * unit;

import { instantiate, wasmPageBytes, type WasmMemory } from '../wasm.js';
import { JsonWriter, type Piece } from './json-writer.js';

/** What `wasm/csv-members.ts` exports. Places in its memory come back signed. */
interface Program {
  readonly memory: WasmMemory;
  setEmpty(at: number, length: number): void;
  setBlock(textAt: number, boundsAt: number): void;
  writeString(cell: number, to: number): number;
  writeMembers(row: number, member: number, memberEnd: number, start: number, to: number): number;
}

/** A column whose cells are sent as strings. */
export interface StringMember {
  readonly index: number;
  /** `,"key":` */
  readonly prefix: Piece;
}

/** Of a member in its table: its column, place and length of the prefix, 32 bits each. */
const memberBytes = 12;
/** How far behind what it reads and writes the program may touch its memory. */
const slack = 8;
/** Of one byte: \\u0000. */
const longestEscape = 6;

/**
 * Writes cells of CSV rows as JSON strings to `out`, which lies in the memory of
 * `wasm/csv-members.ts`, behind a copy of the block that the cells are of.
 */
export class CellWriter {
  readonly out = new JsonWriter((length) => this.#outOf(length));
  readonly #program = instantiate('csv-members') as Program;
  /** Where the text begins, and what is written. */
  #textAt = 0;
  #outAt = 0;
  /** Most that the members of a row may take: without their cells, and with them. */
  #prefixBytes = 0;
  #rowBytes = 0;

  /** The members that `writeMembers` counts by, and what stands for an empty cell, if anything. */
  setMembers(members: readonly StringMember[], empty: Piece | undefined): void {
    const emptyLength = empty?.length ?? 0;
    const prefixes = members.map(({ prefix }) => prefix);
    const texts = Buffer.concat((empty ? [...prefixes, empty] : prefixes).map(bytesOf));
    const textsAt = memberBytes * members.length;
    const table: number[] = [];
    let at = textsAt;
    for (const { index, prefix } of members) {
      table.push(index, at, prefix.length);
      at += prefix.length;
    }
    this.#textAt = at + emptyLength;
    this.#prefixBytes = at + (emptyLength + 2) * members.length;
    this.#reserve(this.#textAt);
    const { buffer } = this.#program.memory;
    new Int32Array(buffer).set(table);
    texts.copy(Buffer.from(buffer, textsAt));
    this.#program.setEmpty(at, emptyLength);
  }

  /** The block whose cells are written from now on. What was written before is lost. */
  setBlock(bytes: Buffer, bounds: Int32Array): void {
    const boundsAt = roundUp(this.#textAt + bytes.length, bounds.BYTES_PER_ELEMENT);
    this.#outAt = boundsAt + bounds.byteLength;
    this.#rowBytes = longestEscape * bytes.length + this.#prefixBytes;
    this.out.length = 0;
    this.out.moveTo(this.#outOf(this.#rowBytes));
    const { buffer } = this.#program.memory;
    bytes.copy(Buffer.from(buffer, this.#textAt));
    new Int32Array(buffer, boundsAt, bounds.length).set(bounds);
    this.#program.setBlock(this.#textAt, boundsAt);
  }

  /** Writes the cell of this index in the block. */
  writeString(cell: number): void {
    const { out } = this;
    out.reserve(this.#rowBytes);
    this.#wroteTo(this.#program.writeString(cell, this.#outAt + out.length));
  }

  /**
   * Writes members `from` to `to` of the row whose first cell is `row`; those before them in the
   * object begin where the length of `out` was `start`.
   */
  writeMembers(row: number, from: number, to: number, start: number): void {
    const { out } = this;
    out.reserve(this.#rowBytes);
    const end = this.#program.writeMembers(
      row,
      memberBytes * from,
      memberBytes * to,
      this.#outAt + start,
      this.#outAt + out.length,
    );
    this.#wroteTo(end);
  }

  #wroteTo(place: number): void {
    this.out.length = (place >>> 0) - this.#outAt;
  }

  #outOf(length: number): Buffer {
    this.#reserve(this.#outAt + length);
    const { buffer } = this.#program.memory;
    return Buffer.from(buffer, this.#outAt, buffer.byteLength - this.#outAt - slack);
  }

  #reserve(length: number): void {
    const { memory } = this.#program;
    const missing = length + slack - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / wasmPageBytes));
  }
}

const bytesOf = ({ view, length }: Piece): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, length);

const roundUp = (length: number, unit: number): number => Math.ceil(length / unit) * unit;

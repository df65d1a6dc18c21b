import { CsvProgram, type ShardExports } from './csv-scanner.js';
import { instantiateTextProgram } from './wasm-program.js';
import { reserve } from '../wasm.js';

/** Which cells of a row are its key. Each is a column, or -1. */
export interface KeyCells {
  /** The first of them that is not empty. */
  readonly key: readonly [first: number, second: number];
  /** What stands before it: a cell in lower case and a NUL; or, where that is empty or none, a text. */
  readonly before?: { readonly column: number; readonly ofEmpty: string };
}

interface Cells {
  readonly program?: CsvProgram | undefined;
  readonly header: readonly string[];
  readonly bounds: Int32Array;
}

/** In place of a shard, of a row: only the record that is made of it tells. */
export const UNKNOWN_SHARD = 0;

const slack = 64;

/** Which shard of so many, from 1 on, rows fall to by their keys (contract §9); see `wasm/shard-finder.ts`. */
export class ShardFinder {
  readonly #count: number;
  readonly #code = instantiateTextProgram() as ShardExports;
  #csv = new CsvProgram();

  constructor(count: number) {
    this.#count = count;
    this.#code.setShards(count);
  }

  /** Of rows of a text that have cells; lent until the next call. */
  ofCells(text: Buffer, count: number, { program, header, bounds }: Cells, keys: KeyCells) {
    if (program) this.#csv = program;
    const csv = this.#csv;
    const { code } = csv;
    const { column = -1, ofEmpty = '' } = keys.before ?? {};
    csv.hold(text, bounds);
    const out = code.keys.value;
    const length = csv.bytes(out, slack).write(ofEmpty);
    const [textAt, cells] = [code.text.value, code.cells.value];
    code.setShards(this.#count);
    code.shardsOfCells(textAt, cells, count, header.length, ...keys.key, column, length, out);
    return csv.numbers(out, count);
  }

  /** Of rows that are JSON texts, by the member of this name; lent until the next call. */
  ofTexts(text: Buffer, count: number, bounds: Int32Array, member: string): Int32Array {
    const name = Buffer.from(member);
    const boundsAt = 4 * count;
    const nameAt = boundsAt + 8 * count;
    const textAt = nameAt + name.length;
    this.#reserve(textAt + text.length);
    const { buffer } = this.#code.memory;
    new Int32Array(buffer, boundsAt, 2 * count).set(bounds.subarray(0, 2 * count));
    name.copy(Buffer.from(buffer, nameAt));
    text.copy(Buffer.from(buffer, textAt));
    this.#code.shardsOfLines(textAt, boundsAt, count, nameAt, name.length, 0);
    return new Int32Array(buffer, 0, count);
  }

  ofKey(key: Buffer): number {
    this.#reserve(key.length);
    key.copy(Buffer.from(this.#code.memory.buffer));
    return this.#code.shardOf(0, key.length);
  }

  #reserve(bytes: number): void {
    reserve(this.#code.memory, bytes + slack);
  }
}

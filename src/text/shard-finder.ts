import { CsvProgram, type ShardExports } from './csv-scanner.js';
import { instantiateTextProgram, reserve } from '../wasm.js';

/** Columns of a row's key; -1 if there is none. */
export interface KeyCells {
  /** The first one that is not empty counts. */
  readonly key: readonly [first: number, second: number];
  /** Prefix of the key: a cell in lower case and a NUL; `ofEmpty` if the cell is empty or missing. */
  readonly before?: { readonly column: number; readonly ofEmpty: string };
}

interface Cells {
  readonly program?: CsvProgram | undefined;
  readonly header: readonly string[];
  readonly bounds: Int32Array;
}

/** Instead of a shard: only the record made of the row has the key. */
export const UNKNOWN_SHARD = 0;

const slack = 64;

/** Finds the shards of rows by their keys, 1-based; see `wasm/shard-finder.ts` and docs/scale.md. */
export class ShardFinder {
  readonly #count: number;
  readonly #code = instantiateTextProgram() as ShardExports;
  #csv = new CsvProgram();

  constructor(count: number) {
    this.#count = count;
    this.#code.setShards(count);
  }

  /** Shards of rows with cells; valid until the next call. */
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

  /** Shards of rows that are JSON texts, by the member with this name; valid until the next call. */
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

import type { RowBlock } from '../../input/rows.js';

/** Neighbouring rows of one block. */
export interface RowRun {
  readonly rows: RowBlock;
  readonly row: number;
  readonly count: number;
}

/**
 * A list of rows, kept as runs of neighbours: most records of a batch follow each other in the
 * input, and are accounted for together.
 */
export class RowRuns {
  readonly #blocks: RowBlock[] = [];
  /** Of each run: its first row, and the position of that in the list. */
  #numbers = new Int32Array(2 * 16);
  #runs = 0;
  #size = 0;
  /** The row that would make the last run longer. */
  #nextRow = -1;

  add(rows: RowBlock, row: number): void {
    if (row !== this.#nextRow || rows !== this.#blocks[this.#runs - 1]) this.#open(rows, row);
    this.#nextRow = row + 1;
    this.#size += 1;
  }

  clear(): void {
    this.#runs = 0;
    this.#size = 0;
    this.#nextRow = -1;
  }

  /** The row at a position of the list. */
  at(position: number): [rows: RowBlock, row: number] {
    if (position >= this.#size) throw new RangeError(`there is no record ${position}`);
    let low = 0;
    let high = this.#runs - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#numbers[2 * middle + 1] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    const { rows, row } = this.#run(low);
    return [rows, row + position - (this.#numbers[2 * low + 1] ?? 0)];
  }

  *[Symbol.iterator](): Generator<RowRun> {
    for (let run = 0; run < this.#runs; run += 1) yield this.#run(run);
  }

  #run(run: number): RowRun {
    const first = this.#numbers[2 * run + 1] ?? 0;
    const end = run + 1 < this.#runs ? (this.#numbers[2 * run + 3] ?? 0) : this.#size;
    return { rows: this.#blocks[run]!, row: this.#numbers[2 * run] ?? 0, count: end - first };
  }

  #open(rows: RowBlock, row: number): void {
    const at = 2 * this.#runs;
    if (at === this.#numbers.length) {
      const numbers = new Int32Array(2 * at);
      numbers.set(this.#numbers);
      this.#numbers = numbers;
    }
    this.#blocks[this.#runs] = rows;
    this.#numbers[at] = row;
    this.#numbers[at + 1] = this.#size;
    this.#runs += 1;
  }
}

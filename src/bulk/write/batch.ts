import type { RowBlock } from '../../input/rows.js';

const comma = 0x2c;

/** What surrounds the records of a request body, e.g. `{"d":[` and `]}`. */
export interface Frame {
  readonly open: Buffer;
  readonly close: Buffer;
}

/** One record on its way into a batch. */
export interface BulkRecord {
  /** Where it was read, for the account of how it ended. */
  readonly rows: RowBlock;
  readonly row: number;
  readonly key: number;
  readonly converges: boolean;
  /** Its JSON text is `json[start, end)`: only lent, and copied by whoever keeps it. */
  readonly json: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * The records of one request, and its body, which grows while the batch is filled. Its memory
 * is used again: per-record objects that live as long as a request would end as old garbage.
 */
export class Batch {
  readonly #frame: Frame;
  readonly #rows: RowBlock[] = [];
  /** Per record: row, key, start in the body; and whether it converges. */
  #numbers = new Int32Array(3 * 16);
  #converges = new Uint8Array(16);
  #size = 0;
  #body = Buffer.allocUnsafeSlow(4096);
  #end = 0;

  constructor(frame: Frame) {
    this.#frame = frame;
    this.clear();
  }

  /** Makes the batch an empty one. */
  clear(): void {
    this.#size = 0;
    this.#end = this.#frame.open.copy(this.#body);
  }

  get size(): number {
    return this.#size;
  }

  /** True when sending the whole batch twice ends in the same state. */
  get converges(): boolean {
    return !this.#converges.subarray(0, this.#size).includes(0);
  }

  /** Bytes of the body with `more` bytes of another record. */
  bytesWith(more: number): number {
    return this.#end + more + 1 + this.#frame.close.length;
  }

  add({ rows, row, key, converges, json, start, end }: BulkRecord): void {
    this.#reserve(end - start);
    if (this.#size > 0) {
      this.#body[this.#end] = comma;
      this.#end += 1;
    }
    const at = 3 * this.#size;
    this.#numbers[at] = row;
    this.#numbers[at + 1] = key;
    this.#numbers[at + 2] = this.#end;
    this.#converges[this.#size] = converges ? 1 : 0;
    this.#rows[this.#size] = rows;
    this.#size += 1;
    this.#end += json.copy(this.#body, this.#end, start, end);
  }

  /** The request body, until the batch is cleared. */
  body(): Buffer {
    const { close } = this.#frame;
    close.copy(this.#body, this.#end);
    return this.#body.subarray(0, this.#end + close.length);
  }

  key(position: number): number {
    return this.#numbers[3 * position + 1] ?? 0;
  }

  isConvergent(position: number): boolean {
    return this.#converges[position] === 1;
  }

  /** Where the record was read. */
  source(position: number): [rows: RowBlock, row: number] {
    const rows = this.#rows[position];
    if (rows === undefined || position >= this.#size)
      throw new RangeError(`the batch has no record ${position}`);
    return [rows, this.#numbers[3 * position] ?? 0];
  }

  record(position: number): BulkRecord {
    const [rows, row] = this.source(position);
    const isLast = position === this.#size - 1;
    return {
      rows,
      row,
      key: this.key(position),
      converges: this.isConvergent(position),
      json: this.#body,
      start: this.#numbers[3 * position + 2] ?? 0,
      end: isLast ? this.#end : (this.#numbers[3 * position + 5] ?? 0) - 1,
    };
  }

  /** Another batch with the records at these positions. */
  pick(positions: readonly number[]): Batch {
    const picked = new Batch(this.#frame);
    for (const position of positions) picked.add(this.record(position));
    return picked;
  }

  positions(): number[] {
    return Array.from({ length: this.#size }, (_, position) => position);
  }

  /** Makes room for one more record of so many bytes. */
  #reserve(bytes: number): void {
    const needed = this.bytesWith(bytes);
    if (needed > this.#body.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#body.length));
      this.#body.copy(larger, 0, 0, this.#end);
      this.#body = larger;
    }
    if (this.#size < this.#converges.length) return;
    const numbers = new Int32Array(2 * this.#numbers.length);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
    const converges = new Uint8Array(2 * this.#converges.length);
    converges.set(this.#converges);
    this.#converges = converges;
  }
}

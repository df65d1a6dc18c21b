import type { RowBlock } from '../input/rows.js';

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

/** The records of one request, and its body, which grows while the batch is filled. */
export class Batch {
  readonly rows: RowBlock[] = [];
  readonly row: number[] = [];
  readonly keys: number[] = [];
  readonly #frame: Frame;
  readonly #converges: boolean[] = [];
  /** Where each record starts in the body. */
  readonly #starts: number[] = [];
  #buffer: Buffer;
  #end: number;

  /** `buffer` is where the body is written, as long as it fits. */
  constructor(frame: Frame, buffer: Buffer) {
    this.#frame = frame;
    this.#buffer = buffer;
    this.#end = frame.open.length;
    this.#reserve(0);
    frame.open.copy(this.#buffer);
  }

  get size(): number {
    return this.row.length;
  }

  /** True when sending the whole batch twice ends in the same state. */
  get converges(): boolean {
    return !this.#converges.includes(false);
  }

  /** The memory of the body, for another batch once this one is settled. */
  get buffer(): Buffer {
    return this.#buffer;
  }

  /** Bytes of the body with `more` bytes of another record. */
  bytesWith(more: number): number {
    return this.#end + more + 1 + this.#frame.close.length;
  }

  add({ rows, row, key, converges, json, start, end }: BulkRecord): void {
    this.#reserve(end - start);
    if (this.size > 0) {
      this.#buffer[this.#end] = comma;
      this.#end += 1;
    }
    this.rows.push(rows);
    this.row.push(row);
    this.keys.push(key);
    this.#converges.push(converges);
    this.#starts.push(this.#end);
    this.#end += json.copy(this.#buffer, this.#end, start, end);
  }

  /** The request body. */
  body(): Buffer {
    const { close } = this.#frame;
    close.copy(this.#buffer, this.#end);
    return this.#buffer.subarray(0, this.#end + close.length);
  }

  isConvergent(position: number): boolean {
    return this.#converges[position] === true;
  }

  record(position: number): BulkRecord {
    const rows = this.rows[position];
    if (rows === undefined) throw new RangeError(`the batch has no record ${position}`);
    const next = this.#starts[position + 1];
    return {
      rows,
      row: this.row[position] ?? 0,
      key: this.keys[position] ?? 0,
      converges: this.isConvergent(position),
      json: this.#buffer,
      start: this.#starts[position] ?? 0,
      end: next === undefined ? this.#end : next - 1,
    };
  }

  /** Another batch with the records at these positions. */
  pick(positions: readonly number[]): Batch {
    const picked = new Batch(this.#frame, Buffer.alloc(0));
    for (const position of positions) picked.add(this.record(position));
    return picked;
  }

  positions(): number[] {
    return Array.from({ length: this.size }, (_, position) => position);
  }

  #reserve(bytes: number): void {
    const needed = this.bytesWith(bytes);
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }
}

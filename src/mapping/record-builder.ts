import type { RowBlock } from '../input/rows.js';
import { JsonWriter } from './json-writer.js';
import { token } from './json-tokens.js';
import type { RecordBlock, RecordReject } from './records.js';

/** Why a row cannot be sent. */
export type Fault = Pick<RecordReject, 'stage' | 'error'>;

export const invalid = (error: string): Fault => ({ stage: 'validate', error });

/** Collects the records of one block after the other, their text in one buffer that is used again. */
export class RecordBuilder {
  readonly out: JsonWriter;
  /** Of the record being written; see RecordBlock. */
  key = 0;
  converges = true;
  isEvent = false;
  #passedStart = 0;
  #passedEnd = 0;

  constructor(out = new JsonWriter()) {
    this.out = out;
  }

  /** Instead of writing it to `out`: the record is what was read, `bytes[start, end)` of the rows. */
  pass(start: number, end: number): void {
    this.#passedStart = start;
    this.#passedEnd = end;
  }

  /**
   * Builds the block of `rows`: `write` writes a row's JSON to `out`, or passes it, or says why
   * neither can be.
   */
  build(rows: RowBlock, write: (row: number) => Fault | undefined): RecordBlock {
    const { count: total } = rows;
    const row = new Int32Array(total);
    const bounds = new Int32Array(2 * total);
    const keys = new Int32Array(total);
    const converges = new Uint8Array(total);
    const kinds = new Uint8Array(total);
    const rejects: RecordReject[] = [];
    const { out } = this;
    let count = 0;
    out.length = 0;
    for (let index = 0; index < total; index++) {
      const start = out.length;
      this.converges = true;
      this.isEvent = false;
      const fault = write(index);
      if (fault) {
        out.length = start;
        rejects.push({ row: index, ...fault });
        continue;
      }
      const isPassed = out.length === start;
      row[count] = index;
      bounds[2 * count] = isPassed ? ~this.#passedStart : start;
      bounds[2 * count + 1] = isPassed ? this.#passedEnd : out.length;
      keys[count] = this.key;
      converges[count] = this.converges && !this.isEvent ? 1 : 0;
      kinds[count] = this.isEvent ? 1 : 0;
      count++;
      if (!isPassed) out.byte(token.comma); // neighbours can be copied into a request together
    }
    const json = this.#joined(rows.bytes, bounds.subarray(0, 2 * count));
    return { rows, count, row, json, bounds, keys, converges, kinds, rejects };
  }

  /**
   * One buffer for all records: what was read if it has them all, else `out`. A negative start is
   * ~start of one that was passed.
   */
  #joined(read: Buffer, bounds: Int32Array): Buffer {
    const { out } = this;
    const isWritten = out.length > 0;
    for (let at = 0; at < bounds.length; at += 2) {
      if (bounds[at]! >= 0) continue;
      bounds[at] = ~bounds[at]!;
      if (!isWritten) continue;
      const start = out.length;
      out.raw(read, bounds[at], bounds[at + 1]);
      bounds[at] = start;
      bounds[at + 1] = out.length;
      out.byte(token.comma);
    }
    return isWritten ? out.bytes : read;
  }
}

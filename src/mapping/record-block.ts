import { allOf } from './all-of.js';
import { JsonWriter } from '../text/json-writer.js';
import { token } from '../text/json-parser.js';
import type { RowBlock } from '../input/row-block.js';
import type { RecordBlock, RecordReject } from './records.js';

/** Why a row cannot be sent. */
export type Fault = Pick<RecordReject, 'stage' | 'error'>;

/** Of one row. */
type Write = (row: number) => Fault | undefined;

export const invalid = (error: string): Fault => ({ stage: 'validate', error });

/** Collects the records of one block after the other, their text in one buffer that is used again. */
export class RecordBuilder {
  readonly out: JsonWriter;
  /** Of the record being written; see RecordBlock. */
  key = 0;
  /** Has no operator that diverges; an event never converges, whatever stands here. */
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
   * The block of `picked` rows, which `write` writes to `out`, one after the other, or passes, or says
   * why neither can be. What was written before is lost.
   */
  build(rows: RowBlock, write: Write, picked = allOf(rows)): RecordBlock {
    const block = blockOf(rows, picked.length);
    const { out } = this;
    out.length = 0;
    for (const row of picked) {
      const start = out.length;
      this.converges = true;
      this.isEvent = false;
      const fault = write(row);
      if (fault) {
        out.length = start;
        block.rejects.push({ row, ...fault });
        continue;
      }
      const isPassed = out.length === start;
      const at = block.count++;
      block.row[at] = row;
      block.bounds[2 * at] = isPassed ? ~this.#passedStart : start;
      block.bounds[2 * at + 1] = isPassed ? this.#passedEnd : out.length;
      block.keys[at] = this.key;
      block.converges[at] = this.converges && !this.isEvent ? 1 : 0;
      block.kinds[at] = this.isEvent ? 1 : 0;
      if (!isPassed) out.byte(token.comma); // neighbours can be copied into a request together
    }
    return { ...block, json: this.#joined(rows.bytes, block.bounds.subarray(0, 2 * block.count)) };
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

/** A block without records, with room for so many; see RecordBlock. */
function blockOf(rows: RowBlock, count: number) {
  return {
    rows,
    count: 0,
    row: new Int32Array(count),
    bounds: new Int32Array(2 * count),
    keys: new Int32Array(count),
    converges: new Uint8Array(count),
    kinds: new Uint8Array(count),
    rejects: [] as RecordReject[],
    faults: rows.faults,
  };
}

import type { RowBlock } from '../input/rows.js';
import { JsonWriter } from './json-writer.js';
import { token } from './json-tokens.js';
import type { RecordBlock, RecordReject } from './records.js';

/** Why a row cannot be sent. */
export type Fault = Pick<RecordReject, 'stage' | 'error'>;

export const invalid = (error: string): Fault => ({ stage: 'validate', error });

/** Collects the records of one block after the other, their text in one buffer that is used again. */
export class RecordBuilder {
  readonly out = new JsonWriter();
  /** Of the record being written; see RecordBlock. */
  key = 0;
  converges = true;
  isEvent = false;

  /** Builds the block of `rows`: `write` writes a row's JSON to `out`, or says why it cannot. */
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
      row[count] = index;
      bounds[2 * count] = start;
      bounds[2 * count + 1] = out.length;
      keys[count] = this.key;
      converges[count] = this.converges && !this.isEvent ? 1 : 0;
      kinds[count] = this.isEvent ? 1 : 0;
      count++;
      out.byte(token.comma); // neighbours can be copied into a request together
    }
    return { rows, count, row, json: out.bytes, bounds, keys, converges, kinds, rejects };
  }
}

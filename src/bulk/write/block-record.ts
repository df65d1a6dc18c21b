import type { RowBlock } from '../../input/rows.js';
import type { RecordBlock } from '../../mapping/records.js';
import type { BulkRecord } from './batch.js';

/** The records of blocks, one at a time: `to` moves on. An object for each would be garbage at once. */
export class BlockRecord implements BulkRecord {
  rows!: RowBlock;
  row = 0;
  key = 0;
  converges = true;
  json: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;

  to(block: RecordBlock, index: number): this {
    this.rows = block.rows;
    this.row = block.row[index] ?? 0;
    this.key = block.keys[index] ?? 0;
    this.converges = block.converges[index] === 1;
    this.json = block.json;
    this.start = block.bounds[2 * index] ?? 0;
    this.end = block.bounds[2 * index + 1] ?? 0;
    return this;
  }
}

import type { RecordBlock } from './records.js';

/** The block with these of its records, in their order. */
export const pickedRecords = (block: RecordBlock, indexes: readonly number[]): RecordBlock => ({
  ...block,
  count: indexes.length,
  row: Int32Array.from(indexes, (index) => block.row[index]!),
  bounds: Int32Array.from({ length: 2 * indexes.length }, (_, at) => {
    return block.bounds[2 * indexes[at >> 1]! + (at & 1)]!;
  }),
  keys: Int32Array.from(indexes, (index) => block.keys[index]!),
  converges: Uint8Array.from(indexes, (index) => block.converges[index]!),
  kinds: Uint8Array.from(indexes, (index) => block.kinds[index]!),
});

import type { RecordBlock } from './records.js';

/** The block with those of its records that are wanted, in their order. */
export function pickedRecords(
  block: RecordBlock,
  isWanted: (record: number) => boolean,
): RecordBlock {
  const indexes: number[] = [];
  for (let index = 0; index < block.count; index++) if (isWanted(index)) indexes.push(index);
  if (indexes.length === block.count) return block;
  return {
    ...block,
    count: indexes.length,
    row: Int32Array.from(indexes, (index) => block.row[index]!),
    bounds: Int32Array.from({ length: 2 * indexes.length }, (_, at) => {
      return block.bounds[2 * indexes[at >> 1]! + (at & 1)]!;
    }),
    keys: Int32Array.from(indexes, (index) => block.keys[index]!),
    converges: Uint8Array.from(indexes, (index) => block.converges[index]!),
    kinds: Uint8Array.from(indexes, (index) => block.kinds[index]!),
  };
}

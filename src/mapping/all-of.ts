import type { RowBlock } from '../input/row-block.js';

let indexes = new Int32Array(0);

/** The indexes of all rows of a block. */
export function allOf({ count }: RowBlock): Int32Array {
  if (indexes.length < count) indexes = Int32Array.from({ length: 2 * count }, (_, row) => row);
  return indexes.subarray(0, count);
}

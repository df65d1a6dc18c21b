import type { RowBlock } from './row-block.js';

/** The first `count` records of the input, unreadable ones included, in the order of their lines. */
export async function* firstRecords(
  blocks: AsyncIterable<RowBlock>,
  count: number,
): AsyncGenerator<RowBlock> {
  let left = count;
  if (left <= 0) return;
  for await (const block of blocks) {
    const records = block.count + block.faults.length;
    yield records <= left ? block : cut(block, left);
    left -= Math.min(records, left);
    if (left <= 0) return;
  }
}

function cut(block: RowBlock, left: number): RowBlock {
  const lines = [...block.lines.subarray(0, block.count), ...block.faults.map(({ line }) => line)];
  const last = lines.toSorted((a, b) => a - b)[left - 1] ?? 0;
  const faults = block.faults.filter(({ line }) => line <= last);
  return { ...block, faults, count: left - faults.length };
}

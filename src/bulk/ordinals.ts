import type { RowBlock, RowFault } from '../input/rows.js';

/** A record's place among all of the run, the unreadable ones counted; see RowBlock.first. */
export function ordinalOfRow({ first, bounds, faults }: RowBlock, row: number): number {
  const start = bounds[2 * row] ?? 0;
  let before = 0;
  while (before < faults.length && (faults[before]?.at ?? 0) < start) before += 1;
  return first + row + before;
}

export function ordinalOfFault(
  { first, bounds, count, faults }: RowBlock,
  fault: RowFault,
): number {
  let before = 0;
  while (before < count && (bounds[2 * before] ?? 0) < fault.at) before += 1;
  return first + before + faults.indexOf(fault);
}

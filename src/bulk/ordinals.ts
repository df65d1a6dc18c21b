import type { RowBlock, RowFault } from '../input/rows.js';

/** A record's place among all of the run, the unreadable ones counted; see RowBlock.first. */
export function ordinalOfRow({ first, bounds, faults }: RowBlock, row: number): number {
  if (faults.length === 0) return first + row;
  const start = bounds[2 * row] ?? 0;
  return first + row + countBefore(faults.length, (index) => (faults[index]?.at ?? 0) < start);
}

/** The ordinals of neighbouring rows: one run, unless an unreadable record lies between them. */
export function ordinalRuns(rows: RowBlock, row: number, count: number) {
  if (rows.faults.length === 0) return [{ first: rows.first + row, count }];
  return Array.from({ length: count }, (_, n) => ({
    first: ordinalOfRow(rows, row + n),
    count: 1,
  }));
}

export function ordinalOfFault(
  { first, bounds, count, faults }: RowBlock,
  fault: RowFault,
): number {
  const { at } = fault;
  const rows = countBefore(count, (row) => (bounds[2 * row] ?? 0) < at);
  // Several faults may stand at one place: an overlong record's block holds no text.
  const from = countBefore(faults.length, (index) => (faults[index]?.at ?? 0) < at);
  return first + rows + faults.indexOf(fault, from);
}

/** How many of `count` sorted items come before some place: the first ones do, the rest does not. */
function countBefore(count: number, isBefore: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

import type { RowBlock, RowParseError } from '../../input/row-block.js';

/** Record ordinals as sorted, disjoint ranges `[first, last]`, both inclusive. */
export type Ranges = readonly (readonly [first: number, last: number])[];

/** Converts ordinals in any order to ranges. */
export function toRanges(ordinals: readonly number[]): Ranges {
  const set = new OrdinalSet();
  for (const ordinal of ordinals) set.addRun(ordinal, 1);
  return set.take();
}

/** A set of ordinals that stores ranges, so that a run of neighbors takes constant memory. */
export class OrdinalSet {
  /** Sorted, disjoint and not adjacent. */
  #ranges: (readonly [first: number, last: number])[] = [];

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  has(ordinal: number): boolean {
    const range = this.#ranges[this.#indexFrom(ordinal)];
    return range !== undefined && range[0] <= ordinal;
  }

  /** Whether the ordinal or a higher one is a member. */
  reaches(ordinal: number): boolean {
    return (this.#ranges.at(-1)?.[1] ?? -1) >= ordinal;
  }

  /** Counts the members before the ordinal. */
  countBefore(ordinal: number): number {
    const before = this.#ranges.slice(0, this.#indexFrom(ordinal - 1) + 1);
    return before.reduce(
      (sum, [first, last]) => sum + Math.max(0, Math.min(last + 1, ordinal) - first),
      0,
    );
  }

  add(ranges: Ranges): void {
    for (const [first, last] of ranges) this.addRun(first, last - first + 1);
  }

  /** Adds `count` ordinals, starting at `first`. */
  addRun(first: number, count: number): void {
    const last = first + count - 1;
    const from = this.#indexFrom(first - 1);
    const to = this.#indexAfter(from, last + 1);
    const low = Math.min(first, this.#ranges[from]?.[0] ?? first);
    const high = Math.max(last, this.#ranges[to - 1]?.[1] ?? last);
    this.#ranges.splice(from, to - from, from === to ? [first, last] : [low, high]);
  }

  delete(ranges: Ranges): void {
    for (const [first, last] of ranges) {
      const from = this.#indexFrom(first);
      const to = this.#indexAfter(from, last);
      const [low] = this.#ranges[from] ?? [first];
      const [, high] = this.#ranges[to - 1] ?? [last, last];
      const left: (readonly [number, number])[] = [];
      if (from < to && low < first) left.push([low, first - 1]);
      if (from < to && high > last) left.push([last + 1, high]);
      this.#ranges.splice(from, to - from, ...left);
    }
  }

  /** Empties the set and returns its ranges. */
  take(): Ranges {
    const ranges = this.#ranges;
    this.#ranges = [];
    return ranges;
  }

  /** Index of the first range that ends at or after the ordinal. */
  #indexFrom(ordinal: number): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ranges[middle]?.[1] ?? 0) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Index of the first range, from `index`, that starts after the ordinal. */
  #indexAfter(index: number, ordinal: number): number {
    let after = index;
    while (after < this.#ranges.length && (this.#ranges[after]?.[0] ?? 0) <= ordinal) after += 1;
    return after;
  }
}

/** Returns the ordinal of a row in the run, counting unreadable records; see RowBlock.first. */
export function ordinalOfRow({ first, bounds, parseErrors }: RowBlock, row: number): number {
  if (parseErrors.length === 0) return first + row;
  const start = bounds[2 * row] ?? 0;
  return (
    first + row + countBefore(parseErrors.length, (index) => (parseErrors[index]?.at ?? 0) < start)
  );
}

/** Returns the ordinals of neighboring rows as runs: one, unless an unreadable record lies between. */
export function ordinalRuns(rows: RowBlock, row: number, count: number) {
  if (rows.parseErrors.length === 0) return [{ first: rows.first + row, count }];
  return Array.from({ length: count }, (_, n) => ({
    first: ordinalOfRow(rows, row + n),
    count: 1,
  }));
}

/** Returns the ordinal of an unreadable record in the run. */
export function ordinalOfParseError(
  { first, bounds, count, parseErrors }: RowBlock,
  parseError: RowParseError,
): number {
  const { at } = parseError;
  const rows = countBefore(count, (row) => (bounds[2 * row] ?? 0) < at);
  // Failures can share a position: the block of an overlong record has no text.
  const from = countBefore(parseErrors.length, (index) => (parseErrors[index]?.at ?? 0) < at);
  return first + rows + parseErrors.indexOf(parseError, from);
}

/** Counts the leading items for which `isBefore` is true, by binary search. */
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

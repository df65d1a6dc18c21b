/** Ordinals of records as sorted, disjoint ranges `[first, last]`, both inclusive. */
export type Ranges = readonly (readonly [first: number, last: number])[];

/** The ranges that hold exactly these ordinals, which may come in any order. */
export function rangesOf(ordinals: readonly number[]): Ranges {
  const collected = new CollectedRanges();
  for (const ordinal of ordinals) collected.add(ordinal);
  return collected.take();
}

/** Gathers ordinals: cheap for those of one request, most of which follow each other. */
export class CollectedRanges {
  #ranges: [first: number, last: number][] = [];
  #last: [first: number, last: number] | undefined;

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** Adds `count` ordinals from `first` on. */
  add(first: number, count = 1): void {
    const last = first + count - 1;
    if (this.#last && first === this.#last[1] + 1) {
      this.#last[1] = last;
      return;
    }
    this.#last = [first, last];
    this.#ranges.push(this.#last);
  }

  /** What was added since the last time. */
  take(): Ranges {
    const sorted = this.#ranges.sort((a, b) => a[0] - b[0]);
    this.#ranges = [];
    this.#last = undefined;
    return sorted.length > 1 ? joined(sorted) : sorted;
  }
}

function joined(sorted: readonly [first: number, last: number][]): Ranges {
  const ranges: [first: number, last: number][] = [];
  for (const range of sorted) {
    const before = ranges.at(-1);
    if (before && range[0] <= before[1] + 1) before[1] = Math.max(before[1], range[1]);
    else ranges.push(range);
  }
  return ranges;
}

/** A set of ordinals in memory per range, not per ordinal. */
export class OrdinalSet {
  /** Sorted, disjoint, and never touching each other. */
  #ranges: (readonly [first: number, last: number])[] = [];

  get isEmpty(): boolean {
    return this.#ranges.length === 0;
  }

  has(ordinal: number): boolean {
    const range = this.#ranges[this.#indexFrom(ordinal)];
    return range !== undefined && range[0] <= ordinal;
  }

  add(ranges: Ranges): void {
    for (const [first, last] of ranges) {
      const from = this.#indexFrom(first - 1);
      const to = this.#indexAfter(last + 1);
      const low = Math.min(first, this.#ranges[from]?.[0] ?? first);
      const high = Math.max(last, this.#ranges[to - 1]?.[1] ?? last);
      this.#ranges.splice(from, to - from, from === to ? [first, last] : [low, high]);
    }
  }

  delete(ranges: Ranges): void {
    for (const [first, last] of ranges) {
      const from = this.#indexFrom(first);
      const to = this.#indexAfter(last);
      const cut = this.#ranges.slice(from, to);
      const [low] = cut[0] ?? [first];
      const [, high] = cut.at(-1) ?? [last, last];
      const left: (readonly [number, number])[] = [];
      if (low < first) left.push([low, first - 1]);
      if (high > last) left.push([last + 1, high]);
      this.#ranges.splice(from, to - from, ...left);
    }
  }

  /** Index of the first range that ends at the ordinal or after it. */
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

  /** Index of the first range that starts after the ordinal. */
  #indexAfter(ordinal: number): number {
    let index = this.#indexFrom(ordinal);
    while (index < this.#ranges.length && (this.#ranges[index]?.[0] ?? 0) <= ordinal) index += 1;
    return index;
  }
}

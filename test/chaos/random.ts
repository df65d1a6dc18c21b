/** Numbers that a seed makes again. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** Whole, from 0 to below `limit`. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] ?? items[0],
  };
}

/** Consecutive seeds: the suite's own, so that it is the same every time, or from ENGAGECTL_SEED on. */
export function seeds(count: number): readonly number[] {
  const first = Number(process.env['ENGAGECTL_SEED'] ?? 20_261_121);
  return Array.from({ length: count }, (_, n) => first + n);
}

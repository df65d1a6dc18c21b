/** The one of the names that was probably meant, if one is close: at most a third of it is different. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const near = names
    .map((name) => ({ name, distance: distance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.ceil(name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** Levenshtein distance, with one row in memory. Longer names than any of ours are far from all of them. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > other.length) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let at = 0; at < one.length; at += 1) {
    const next = [at + 1];
    for (let index = 0; index < other.length; index += 1) {
      const changed = row[index]! + (one[at] === other[index] ? 0 : 1);
      next.push(Math.min(changed, row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

import { markdownTable, median } from './report.js';
import { differentWork } from './rounds.js';

/**
 * Evaluates a benchmark's guards against its results. A guard: { what, of?, to?, key = 'wall', most }. `of` is how the name of the
 * side begins that it is about (default: ours). With `to`, that side is divided by another one, and the median of the ratios
 * of each round counts. Without, the median of `key` does: seconds, or MiB.
 */
export const judged = (guards, results) =>
  guards.map((guard) => {
    const value = measured(guard, results, 'now');
    const before = measured(guard, results, 'before');
    return { ...guard, value, before, holds: value !== undefined && value <= guard.most };
  });

/** Undefined where there is no such side, or where the two did different work. */
function measured({ of, to, key = 'wall' }, results, version) {
  const sides = results.filter(({ side }) => (side.version ?? version) === version);
  const named = (start) => sides.find(({ side }) => side.name.startsWith(start));
  const one = of === undefined ? sides.find(({ side }) => side.version === version) : named(of);
  if (one === undefined) return undefined;
  if (to === undefined) return median(one.runs.map((run) => run[key] / (units[key] ?? 1)));
  const other = named(to);
  if (other === undefined || differentWork(one, other) !== undefined) return undefined;
  return median(one.runs.map((run, n) => run[key] / other.runs[n][key]));
}

const units = { peakBytes: 2 ** 20 };

/** The guards of all benchmarks of a run as a Markdown table; "before" only where another version ran beside ours. */
export function guardTable(guards) {
  const withBefore = guards.some(({ before }) => before !== undefined);
  const rows = guards.map(({ what, most, value, before, holds }) => [
    what,
    String(most),
    ...(withBefore ? [shown(before)] : []),
    shown(value),
    holds ? 'yes' : '**no**',
  ]);
  const head = ['guard', 'at most', ...(withBefore ? ['before'] : []), 'measured', 'holds'];
  return markdownTable(head, rows);
}

const shown = (value) => value?.toFixed(value < 20 ? 2 : 0) ?? 'not measured';

import { join } from 'node:path';
import { measure } from './measure.js';

/**
 * Runs every side once to see what it does (this is the warm-up too), then `rounds` times in turn, so that a
 * disturbance of the machine meets all of them. Returns per side { side, work, runs }.
 *
 * A side: { name, role: 'ours' | 'peer' | 'floor' | 'more', command, env? }. `watch(how, run)` runs it and
 * returns what arrived at the other end; with `instead: { wall }` where the end of the process is not
 * what is asked for.
 */
export async function runRounds({ sides, watch, rounds, folder, progress }) {
  const results = [];
  for (const side of sides) {
    progress(`${side.name}: checking what it does`);
    const output = join(folder, 'output');
    const work = await watch({ digest: true, output }, () =>
      measure({ ...side, stdout: output, folder }),
    );
    results.push({ side, work, runs: [] });
  }
  for (let round = 0; round < rounds; round++) {
    for (const { side, work, runs } of rotate(results, round)) {
      progress(`${side.name}: round ${round + 1} of ${rounds}`);
      let usage;
      const now = await watch({ digest: false }, async () => {
        usage = await measure({ ...side, folder });
        return usage;
      });
      if (now.records !== work.records || now.bytes !== work.bytes) {
        throw new Error(`${side.name} did not do the same work in every round`);
      }
      runs.push({ ...usage, ...now.instead, round });
    }
  }
  for (const { runs } of results) runs.sort((a, b) => a.round - b.round);
  return results;
}

const rotate = (items, by) => items.map((_, n) => items[(n + by) % items.length]);

/** Why two sides may not be compared, or undefined: the same records must have arrived from both. */
export function differentWork(ours, other) {
  if (other.side.role === 'more') return undefined; // it does what ours saves
  if (ours.work.records !== other.work.records) {
    return `${other.work.records} records arrived, from engagectl ${ours.work.records}`;
  }
  const isFloor = other.side.role === 'floor'; // sends or receives the bytes, does nothing with them
  if (!isFloor && ours.work.digest !== other.work.digest) return 'other records arrived';
  return undefined;
}

import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { EngagectlError, grouped } from '../errors.js';

/**
 * Refuses an input that is named twice, however its path is spelled: its records would be taken
 * twice, and some do harm then. Throws E-USAGE.
 */
export function refuseTwice(names: readonly string[], cwd: string): void {
  if (names.length < 2) return;
  const firstAt = new Map<string, string>();
  const faults: string[] = [];
  for (const name of names) {
    const place = placeOf(name, cwd);
    const first = firstAt.get(place);
    if (first === undefined) firstAt.set(place, name);
    else
      faults.push(
        first === name
          ? `${shown(name)} is named twice`
          : `${shown(name)} and ${shown(first)} are the same file`,
      );
  }
  if (faults.length === 0) return;
  const told = faults.slice(0, mostTold);
  const more = faults.length - told.length;
  const message = [...told, ...(more > 0 ? [`and ${grouped(more)} more`] : [])].join('; ');
  throw new EngagectlError('E-USAGE', message, {
    why: 'what is in it would be taken twice',
    fix: 'name each input once',
  });
}

/** Where it leads, links followed. */
function placeOf(name: string, cwd: string): string {
  const path = resolve(cwd, name === '-' ? '/dev/stdin' : name);
  try {
    return realpathSync.native(path);
  } catch {
    return path; // a pipe leads nowhere
  }
}

const shown = (name: string): string => (name === '-' ? 'standard input (-)' : name);

/** Files that a message names. */
const mostTold = 3;

import { formatDay, utcToDay, type Day } from '../../contract/dates.js';
import type { Zone } from '../../zone.js';

export interface Today {
  readonly zone: Zone;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The day it is in the account's zone. */
export const todayOf = ({ zone, now }: Today): Day =>
  utcToDay(now + zone.offsetAt(now / 1000) * 1000);

/**
 * The name of an output with the day on which the run begins in place of `{date}`. This comes before
 * anything else looks at the name: what is resumed, locked and refused is the file of that day.
 */
export const datedOutput = (output: string | undefined, today: Today): string | undefined =>
  output?.replaceAll('{date}', formatDay(todayOf(today)));

/** The command line with the name that is meant, so that it is found on a later day. */
export function datedArgv(
  argv: readonly string[],
  output: string | undefined,
  dated: string | undefined,
): readonly string[] {
  if (output === undefined || dated === undefined || output === dated) return argv;
  return argv.map((word) =>
    word.endsWith(output) ? word.slice(0, word.length - output.length) + dated : word,
  );
}

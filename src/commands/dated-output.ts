import { formatDay, utcToDay, type Day } from '../contract/dates.js';
import type { Zone } from '../zone.js';

interface WithOutput {
  readonly flags: { readonly output?: string };
}

export interface Today {
  readonly zone: Zone;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The day it is in the account's zone. */
export const todayOf = ({ zone, now }: Today): Day =>
  utcToDay(now + zone.offsetAt(now / 1000) * 1000);

/**
 * The command with the day on which the run begins in place of `{date}` in the name of its output.
 * This comes before anything else looks at the name: what is resumed, locked and refused is the
 * file of that day.
 */
export function withDatedOutput<C extends WithOutput>(command: C, today: Today): C {
  const { output } = command.flags;
  if (output === undefined) return command;
  const dated = output.replaceAll('{date}', formatDay(todayOf(today)));
  return { ...command, flags: { ...command.flags, output: dated } };
}

/** The command line with the name that is meant, so that `runs resume` finds it on a later day. */
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

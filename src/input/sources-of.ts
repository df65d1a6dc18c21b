import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';
import { fileSource, stdinSource, type Source } from './source.js';

/** The inputs by their names; `-` is standard input. Throws E-FILE-READ, which names all that are missing. */
export function sourcesOf(
  names: readonly string[],
  { stdin, cwd }: Pick<Runtime, 'stdin' | 'cwd'>,
): readonly Source[] {
  const faults: EngagectlError[] = [];
  const sources = names.flatMap((name) => {
    try {
      return name === '-' ? stdinSource(stdin) : fileSource(name, cwd);
    } catch (error) {
      if (!(error instanceof EngagectlError)) throw error;
      faults.push(error);
      return [];
    }
  });
  const [first] = faults;
  if (first === undefined) return sources;
  if (faults.length === 1) throw first;
  const told = faults.slice(0, mostTold).map(({ message }) => message);
  const more = faults.length - told.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  throw new EngagectlError(first.id, [...told, ...rest].join('; '), first.details);
}

/** Files that a message names. */
const mostTold = 10;

import { EngagectlError } from '../errors.js';
import { refuseTwice } from '../files/path-checks.js';
import { fileSource, foundFile, stdinSource, type Source } from './source.js';
import type { Runtime } from '../runtime.js';

type Place = Pick<Runtime, 'stdin' | 'cwd'>;

/** The inputs by number. Of a file no more is kept than its size: there may be many thousands. */
export class Sources {
  readonly names: readonly string[];
  readonly #cwd: string;
  readonly #sizes: Float64Array;
  /** Those that can be read only once. */
  readonly #pipes = new Map<number, Source>();

  /**
   * Finds them; `-` is standard input. Throws E-FILE-READ, which names all that are missing; E-USAGE
   * where one is named twice.
   */
  constructor(names: readonly string[], { stdin, cwd }: Place) {
    this.names = names.includes('-') ? names.map((name) => (name === '-' ? 'stdin' : name)) : names;
    this.#cwd = cwd;
    this.#sizes = new Float64Array(names.length);
    const faults: EngagectlError[] = [];
    for (const [input, name] of names.entries()) {
      try {
        const source = name === '-' ? stdinSource(stdin) : fileSource(name, cwd);
        if (source.size === undefined) this.#pipes.set(input, source);
        else this.#sizes[input] = source.size;
      } catch (error) {
        if (!(error instanceof EngagectlError)) throw error;
        faults.push(error);
      }
    }
    if (faults[0]) throw allOf(faults[0], faults);
    refuseTwice(names, cwd);
  }

  at(input: number): Source {
    return this.#pipes.get(input) ?? foundFile(this.names[input]!, this.#sizes[input]!, this.#cwd);
  }

  /** Bytes on disk; undefined when one of them is a pipe. */
  get totalBytes(): number | undefined {
    if (this.#pipes.size > 0) return undefined;
    return this.#sizes.reduce((sum, size) => sum + size, 0);
  }
}

function allOf(first: EngagectlError, faults: readonly EngagectlError[]): EngagectlError {
  if (faults.length === 1) return first;
  const told = faults
    .slice(0, mostTold)
    .map(({ message, details: { why } }) => [message, why].filter(Boolean).join(': '));
  const more = faults.length - told.length;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return new EngagectlError(first.id, [...told, ...rest].join('; '), {
    ...first.details,
    why: 'all inputs are looked at before the first of them is read',
  });
}

/** Files that a message names. */
const mostTold = 10;

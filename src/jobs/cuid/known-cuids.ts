import { CuidSet } from '../../bulk/cuid-set.js';
import { EngagectlError, grouped } from '../../errors.js';
import type { RowBlock } from '../../input/rows.js';
import type { Stretch } from './cuid-rules.js';

/** A row of an input. */
export interface Place {
  readonly source: string;
  readonly line: number;
}

/** A cuid that was met before: as it is, or with other letters in upper case. */
export interface MetBefore {
  readonly how: 'duplicate' | 'case-twin';
  readonly first: Place;
}

/** The cuids of all inputs so far, and where each of them was met first. */
export class KnownCuids {
  readonly #set: CuidSet;
  /** Of each input, and the lines of all that came before it. */
  readonly #sources: { readonly source: string; readonly before: number }[] = [];
  #input = -1;
  /** The last line of all inputs, counted through. */
  #last = 0;

  constructor(random: () => number) {
    this.#set = new CuidSet(random);
  }

  /** Adds the cuid of a row; says where the same one, or its twin, was before. */
  meet(
    { source, lines, end: { input } }: RowBlock,
    row: number,
    { bytes, start, end }: Stretch,
  ): MetBefore | undefined {
    if (input !== this.#input) {
      this.#input = input;
      this.#sources.push({ source, before: this.#last });
    }
    this.#last = this.#sources.at(-1)!.before + lines[row]!;
    const met = this.#set.add(bytes, start, end, this.#last);
    return met && { how: met.how, first: this.#placeOf(met.place) };
  }

  /** Throws E-TOO-MANY: duplicates of a run are found among so many, so that memory stays bounded. */
  refuseTooMany(): void {
    const { size, most } = this.#set;
    if (size <= most) return;
    throw new EngagectlError('E-TOO-MANY', `more than ${grouped(most)} cuids in one run`, {
      why: 'duplicates are found among at most so many',
      fix: 'split the input into several runs',
    });
  }

  #placeOf(place: number): Place {
    const { source, before } = this.#sources.findLast(({ before }) => before < place)!;
    return { source, line: place - before };
  }
}

import { EngagectlError, grouped } from '../../errors.js';
import { CuidSet, type Stretch } from '../../text/cuid-set.js';
import type { RowBlock } from '../../input/row-block.js';

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

/** One of those that were put together. */
interface PutCuid {
  readonly row: number;
  readonly cuid: string;
}

/** The cuids of all inputs so far, and where each of them was met first. */
export class KnownCuids {
  readonly #set: CuidSet;
  /** Of each input, and the lines of all that came before it. */
  readonly #sources: { readonly source: string; readonly before: number }[] = [];
  #input = -1;
  /** Of the cuids that were put. */
  readonly #rows: number[] = [];
  /** The last line of all inputs, counted through. */
  #last = 0;

  constructor(random: () => number) {
    this.#set = new CuidSet(random);
  }

  /** Goes on to the next rows, whose cuids lie in an area, but for some. */
  begin({ source, count, end: { input } }: RowBlock, area: Stretch): void {
    this.#set.begin(count, area);
    this.#rows.length = 0;
    if (input === this.#input) return;
    this.#input = input;
    this.#sources.push({ source, before: this.#last });
  }

  /** The cuid of a row. */
  put({ lines }: RowBlock, row: number, cuid: Stretch): void {
    this.#last = this.#sources.at(-1)!.before + lines[row]!;
    this.#rows.push(row);
    this.#set.put(cuid, this.#last);
  }

  /** Adds those that were put; tells in their order of those that were met before, or their twins. */
  meet(told: (cuid: PutCuid, met: MetBefore) => void): void {
    this.#set.add((index, { how, place }) => {
      const cuid = { row: this.#rows[index]!, cuid: this.#set.textOf(index) };
      told(cuid, { how, first: this.#placeOf(place) });
    });
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

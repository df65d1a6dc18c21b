/** A place in the records: what may stand there is a cell, an object of further places, or both. */
export interface Place {
  /** Index of its column; -1 while it has none. */
  column: number;
  /** Its name as a column: dotted. */
  readonly name: string;
  /** Members seen, in order of first appearance, by their spelling in the records. */
  readonly members: { readonly key: Buffer; readonly place: Place }[];
  readonly bySpelling: Map<string, number>;
  readonly byName: Map<string, Place>;
}

/** Names without a column that a place remembers: users may invent any number of them. */
const mostSpellings = 1000;

/**
 * The columns of a CSV and the tree of places they belong to. `profileData.City` is the member
 * City of profileData; a dot or backslash of a name itself is written with a backslash before
 * it, so that two places never share a column.
 */
export class CsvColumns {
  readonly root: Place = newPlace('');
  readonly names: string[] = [];
  /** Whether only the columns given at the start exist. */
  readonly fixed: boolean;

  constructor(names: readonly string[], { fixed }: { readonly fixed: boolean }) {
    this.fixed = false;
    for (const name of names) this.give(this.#placeOf(name));
    this.fixed = fixed;
  }

  /** Makes a column of a place that has none. */
  give(place: Place): number {
    place.column = this.names.push(place.name) - 1;
    return place.column;
  }

  /** Index in `parent.members` of the key between the quotes at `[start, end)`; -1: no column. */
  find(parent: Place, bytes: Buffer, start: number, end: number): number {
    const spelling = bytes.toString('latin1', start, end);
    const known = parent.bySpelling.get(spelling);
    if (known !== undefined) return known;
    const name = JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string;
    if (this.fixed && !parent.byName.has(name)) {
      if (parent.bySpelling.size < mostSpellings) parent.bySpelling.set(spelling, -1);
      return -1;
    }
    const key = Buffer.from(bytes.subarray(start, end));
    const index = parent.members.push({ key, place: this.#member(parent, name) }) - 1;
    parent.bySpelling.set(spelling, index);
    return index;
  }

  #placeOf(column: string): Place {
    return namesOf(column).reduce((parent, name) => this.#member(parent, name), this.root);
  }

  #member(parent: Place, name: string): Place {
    const known = parent.byName.get(name);
    if (known) return known;
    const part = name.replaceAll(/[.\\]/g, '\\$&');
    const place = newPlace(parent === this.root ? part : `${parent.name}.${part}`);
    parent.byName.set(name, place);
    return place;
  }
}

/** The names of a dotted path. */
function namesOf(column: string): string[] {
  const names = [''];
  for (const [part] of column.matchAll(/\\.|./gsu)) {
    if (part === '.') names.push('');
    else names.push(`${names.pop() ?? ''}${part.replace(/^\\(?=.)/su, '')}`);
  }
  return names;
}

const newPlace = (name: string): Place => ({
  column: -1,
  name,
  members: [],
  bySpelling: new Map(),
  byName: new Map(),
});

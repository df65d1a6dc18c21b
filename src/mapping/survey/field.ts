import { reservedEventNames } from '../../contract/codes.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/profile-fields.js';
import type { RowBlock } from '../../input/rows.js';
import { lookOf, type Look } from './looks.js';

/** Where a value stands: beside the data of a record, or in it. */
export type Part = 'record' | 'profileData' | 'evtData';

export type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';

/** What can be seen of one value. */
export type Trait = Look | 'unfit' | 'padded' | 'too long' | 'too many' | 'nested';

/** How often something was seen, and where first. */
export interface Sighting {
  count: number;
  readonly source: string;
  /** Physical line. */
  readonly line: number;
  /** The value there, cut short. */
  readonly example: string;
}

/** A row to point at. */
export interface Place {
  readonly rows: RowBlock;
  readonly row: number;
}

const longestExample = 40;

const bytesMaximum: Readonly<Record<Part, number>> = {
  record: Number.POSITIVE_INFINITY,
  profileData: limits.profileValueBytes,
  evtData: limits.eventPropertyValueBytes,
};
const reserved = new Set<string>(reservedEventNames);
const fitsAll = () => true;

/** What all records together hold under one key. */
export class Field {
  readonly part: Part;
  /** As it is sent. */
  readonly key: string;
  /** Records that have it. */
  count = 0;
  /** Of the values, in characters; of numbers, as they are written. */
  shortest = Number.POSITIVE_INFINITY;
  longest = 0;
  readonly types = new Map<JsonType, number>();
  readonly #traits = new Map<Trait, Sighting>();
  /** What its strings look like. */
  readonly looks = new Map<Look, number>();
  readonly #fits: (text: string) => boolean;

  constructor(part: Part, key: string) {
    this.part = part;
    this.key = key;
    this.#fits = fitOf(part, key);
  }

  /** A string, number, boolean or null: its text, and the bytes of it. */
  addScalar(type: JsonType, text: string, bytes: number, place: Place): void {
    this.#count(type, text.length);
    const look = lookOf(text);
    if (type === 'string') this.looks.set(look, (this.looks.get(look) ?? 0) + 1);
    if (type === 'string' || look === 'milliseconds') this.#see(look, text, place);
    if (type !== 'null' && !this.#fits(text)) this.#see('unfit', text, place);
    if (text.charCodeAt(0) <= 0x20 || text.charCodeAt(text.length - 1) <= 0x20) {
      this.#see('padded', text, place);
    }
    if (bytes > bytesMaximum[this.part]) this.#see('too long', text, place);
  }

  /** An object or an array, as JSON text. */
  addNested(type: 'object' | 'array', json: string, place: Place): void {
    this.#count(type, json.length);
    this.#see('nested', json, place);
    if (type === 'object') return;
    const { length } = JSON.parse(json) as unknown[];
    if (length > limits.multiValueStrings) this.#see('too many', `${length} values`, place);
  }

  /** Sightings of a trait; undefined where there are none. */
  saw(trait: Trait): Sighting | undefined {
    return this.#traits.get(trait);
  }

  #count(type: JsonType, length: number): void {
    this.count += 1;
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
    if (length < this.shortest) this.shortest = length;
    if (length > this.longest) this.longest = length;
  }

  #see(trait: Trait, text: string, { rows, row }: Place): void {
    const before = this.#traits.get(trait);
    if (before) {
      before.count += 1;
      return;
    }
    const example = text.length > longestExample ? `${text.slice(0, longestExample)}…` : text;
    this.#traits.set(trait, {
      count: 1,
      source: rows.source,
      line: rows.lines[row] ?? 0,
      example,
    });
  }
}

/** Whether the service takes a value under this key, as far as it says. */
function fitOf(part: Part, key: string): (text: string) => boolean {
  const field = part === 'profileData' ? profileFields.get(key) : undefined;
  if (field) return (text) => field.pattern.test(text);
  return part === 'record' && key === 'evtName' ? (text) => !reserved.has(text) : fitsAll;
}

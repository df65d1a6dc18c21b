import { reservedEventNames } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import { profileFields } from '../../contract/record-fields.js';

/** Where a value stands: beside the data of a record, or in it. */
export type Part = 'record' | 'profileData' | 'evtData';

export type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'object' | 'array';

/** What a text looks like. */
export type Look = 'empty' | 'text' | (typeof numeric | typeof verbal)[number][0];

/** What can be seen of one value. */
export type Trait = Look | 'unfit' | 'padded' | 'too long' | 'too many' | 'nested';

/** `line` is a physical one. */
export type Place = Pick<Sighting, 'source' | 'line'>;

/** How often something was seen, where first, and the value there. */
export interface Sighting {
  count: number;
  readonly source: string;
  readonly line: number;
  readonly example: string;
}

export class Sightings<Kind> extends Map<Kind, Sighting> {
  note(kind: Kind, { source, line }: Place, example: string): void {
    const before = this.get(kind);
    if (before) before.count += 1;
    else this.set(kind, { count: 1, source, line, example });
  }
}

const longestExample = 40;
const bytesMaximum: Readonly<Record<Part, number>> = {
  record: Number.POSITIVE_INFINITY,
  profileData: limits.profileValueBytes,
  evtData: limits.eventPropertyValueBytes,
};

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
  /** What its strings look like. */
  readonly looks = new Map<Look, number>();
  readonly traits = new Sightings<Trait>();
  /** Whether the service takes a value under this key, as far as it says. */
  readonly #fits: (text: string) => boolean;

  constructor(part: Part, key: string) {
    this.part = part;
    this.key = key;
    const pattern = part === 'profileData' ? profileFields.get(key)?.pattern : undefined;
    const isName = part === 'record' && key === 'evtName';
    const reserved: readonly string[] = isName ? reservedEventNames : [];
    this.#fits = (text) => pattern?.test(text) ?? !reserved.includes(text);
  }

  /** A string, number, boolean or null: its text, and the bytes of it. */
  addScalar(type: JsonType, text: string, bytes: number, place: Place): void {
    this.#count(type, text.length);
    const look = lookOf(text);
    if (type === 'string') this.looks.set(look, (this.looks.get(look) ?? 0) + 1);
    if (type === 'string' || look === 'milliseconds') this.#see(look, text, place);
    if (type !== 'null' && !this.#fits(text)) this.#see('unfit', text, place);
    const isPadded = text.charCodeAt(0) <= 0x20 || text.charCodeAt(text.length - 1) <= 0x20;
    if (isPadded) this.#see('padded', text, place);
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

  #count(type: JsonType, length: number): void {
    this.count += 1;
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
    this.shortest = Math.min(this.shortest, length);
    this.longest = Math.max(this.longest, length);
  }

  #see(trait: Trait, text: string, place: Place): void {
    const isLong = text.length > longestExample;
    this.traits.note(trait, place, isLong ? `${text.slice(0, longestExample)}…` : text);
  }
}

/** The first that fits is what a text looks like that begins like a number. */
const numeric = [
  // 2001 to 2033, as epoch milliseconds
  ['milliseconds', /^1\d{12}$/],
  ['phone', /^\+[1-9]\d{5,14}$/],
  // a leading zero is a code's, not a number's
  ['integer', /^-?(0|[1-9]\d{0,17})$/],
  ['number', /^-?(0|[1-9]\d*)\.\d+$/],
  ['scientific', /^-?\d(\.\d+)?[eE][+-]?\d+$/],
  ['day or time', /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/i],
  ['day or time', /^\d{1,2}[./]\d{1,2}[./]\d{4}( \d{1,2}:\d\d(:\d\d)?)?$/],
] as const;
/** The same of another text. */
const verbal = [
  ['date', /^\$D_/],
  ['boolean', /^(true|false|yes|no)$/i],
  // what programs write where there is no value
  ['placeholder', /^(null|none|nil|nan|n\/a|undefined|#n\/a)$/i],
  ['email', /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/],
] as const;

export function lookOf(text: string): Look {
  if (text === '') return 'empty';
  const patterns = /^[-+0-9]/.test(text) ? numeric : verbal;
  return patterns.find(([, pattern]) => pattern.test(text))?.[0] ?? 'text';
}

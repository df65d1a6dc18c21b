import { TextSlice } from '../../text/text-slice.js';
import { parseTimestamp } from '../timestamps.js';
import { patternOf, type ValuePattern } from './field-statistics.js';
import { normalizeName } from './field-spelling.js';
import type { TimeZone } from '../../time-zone.js';
import type { PlainType, UploadMapping } from '../upload-mapping.js';

/** Values of a column that are kept, to tell whether they differ, and how many there are. */
const mostKept = 1000;
/** A closed set has at most so many values, each seen so often on average. */
const mostInSet = 12;
const leastOfEach = 5;
/** A longer whole number is rather an id. */
const longestInteger = 15;

/** Columns whose digits are no quantity, letters only. */
const codeName = /(?:id|no|nr|pin|plz|sku|iban|fax)$|code|zip|postal|phone|mobile|number/;

/** Rows that were looked at, column by column. */
export interface SampledRows {
  readonly columns: readonly ColumnSample[];
  readonly rows: number;
  /** Cells have no types of their own. */
  readonly isCsv: boolean;
}

/** What the values of one column have in common, as far as rows were looked at. */
export class ColumnSample {
  readonly name: string;
  /** Rows in which it has a value. */
  filled = 0;
  /** Every value is a text, as in a CSV. */
  isText = true;
  readonly #looks = new Set<ValuePattern>();
  readonly #values = new Set<string>();
  /** Values that were looked up among those that are kept. */
  #looked = 0;
  #isDate = true;
  #isTime = true;
  #longest = 0;
  readonly #zone: TimeZone;
  readonly #cell = new TextSlice();

  constructor(name: string, zone: TimeZone) {
    this.name = name;
    this.#zone = zone;
  }

  /** A value of JSON; that of a CSV is a text. */
  add(value: unknown): void {
    if (value === '' || value === null) return;
    this.filled += 1;
    if (typeof value !== 'string') this.isText = false;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    this.#longest = Math.max(this.#longest, text.length);
    this.#looks.add(patternOf(text));
    if (this.#isDate) this.#lookAtTime(text);
    if (this.#values.size > mostKept) return;
    this.#looked += 1;
    this.#values.add(text);
  }

  /** No two rows, or hardly any, have the same value. */
  get isDistinct(): boolean {
    return this.#values.size >= 0.9 * this.#looked;
  }

  /** Every value is a time that an event may have. */
  get isTime(): boolean {
    return this.filled > 0 && this.#isDate && this.#isTime;
  }

  /** What all values can be sent as, other than text. Only the cells of a CSV have no types yet. */
  type(isCsv: boolean): PlainType | undefined {
    if (this.filled === 0 || !this.isText) return undefined;
    if (this.#isDate && this.#only('day or time')) return 'date';
    if (!isCsv) return undefined;
    if (this.#only('boolean')) return 'boolean';
    if (this.#isCode || this.#longest > longestInteger) return undefined;
    if (this.#only('integer')) return 'integer';
    return this.#only('integer', 'number') ? 'number' : undefined;
  }

  get #isCode(): boolean {
    return codeName.test(normalizeName(this.name));
  }

  /** All values, where they are few and come again and again; those of codes may always be others. */
  get closedSet(): string[] | undefined {
    if (this.#isCode) return undefined;
    const values = [...this.#values].toSorted();
    const isClosed = values.length > 1 && values.length <= mostInSet;
    return isClosed && this.#looked >= leastOfEach * values.length ? values : undefined;
  }

  #only(...looks: readonly ValuePattern[]): boolean {
    return [...this.#looks].every((look) => looks.includes(look));
  }

  #lookAtTime(text: string): void {
    const bytes = Buffer.from(text);
    const instant = parseTimestamp(this.#cell.of(bytes, 0, bytes.length), this.#zone);
    this.#isDate = typeof instant === 'number';
    this.#isTime &&= typeof instant === 'number' && instant >= 0;
  }
}

/** What identity columns are called, letters only: the likeliest first. */
const names = [
  'identity',
  'customerid',
  'userid',
  'useridentity',
  'memberid',
  'contactid',
  'clientid',
  'subscriberid',
  'accountid',
  'externalid',
  'crmid',
  'id',
  'uuid',
  'guid',
  'customer',
  'user',
];
/** `Customer No.`, `Kunden-Nr.` and the like. */
const numbered = /^(?:customer|client|member|user|contact|kunden)(?:no|nr|number|nummer)$/;
/** What stands in where nothing else does. */
const addresses = ['email', 'emailaddress', 'mail', 'phone', 'phonenumber', 'mobile', 'msisdn'];

const placeOf = (name: string): number => {
  const word = normalizeName(name);
  const isNumbered = word.endsWith('id') || numbered.test(word);
  const places = [names.indexOf(word), isNumbered ? 0 : -1, addresses.indexOf(word)];
  const kind = places.findIndex((place) => place >= 0);
  return kind < 0 ? Number.POSITIVE_INFINITY : 1000 * kind + places[kind]!;
};

/** By its name alone; undefined where no name tells. */
export const inferIdentityByName = (header: readonly string[]): string | undefined =>
  header
    .filter((name) => Number.isFinite(placeOf(name)))
    .toSorted((a, b) => placeOf(a) - placeOf(b))[0];

/**
 * The column that was named; else the likeliest by name of those that nearly every row has and,
 * of profiles, that hardly two rows share. Without any row the name alone tells.
 */
export function inferIdentity(
  { columns, rows }: SampledRows,
  { identity, identityGiven, objectId, drop, kind, map }: UploadMapping,
): string | undefined {
  if (identityGiven) return identity;
  const candidates = columns.filter(({ name, filled, isDistinct, isText }) => {
    const isTold = name === objectId || drop.has(name) || map.has(name);
    const isFit = isText && filled >= 0.9 * rows && (kind === 'event' || isDistinct);
    return !isTold && (name === 'identity' || (isFit && Number.isFinite(placeOf(name))));
  });
  return candidates.toSorted((a, b) => placeOf(a.name) - placeOf(b.name))[0]?.name;
}

import { TextSlice } from '../../text/text-slice.js';
import { parseTimestamp } from '../timestamps.js';
import { patternOf, type ValuePattern } from './field-statistics.js';
import { normalizeName } from './field-spelling.js';
import type { TimeZone } from '../../time-zone.js';
import type { PlainType, UploadMapping } from '../upload-mapping.js';

/** Maximum number of values of a column that are kept, to determine whether they are distinct. */
const maxKept = 1000;
/** Limits of a closed set: maximum number of values, and their minimum frequency on average. */
const maxSetSize = 12;
const minFrequency = 5;
/** Maximum digits of an integer; a longer one is probably an id. */
const longestInteger = 15;

/** Normalized names of columns whose digits are not a quantity. */
const codeName = /(?:id|no|nr|pin|plz|sku|iban|fax)$|code|zip|postal|phone|mobile|number/;

/** Sampled rows, column by column. */
export interface SampledRows {
  readonly columns: readonly ColumnSample[];
  readonly rows: number;
  /** Whether all rows are CSV, whose cells have no types. */
  readonly isCsv: boolean;
}

/** Statistics of the sampled values of one column. */
export class ColumnSample {
  readonly name: string;
  /** Number of rows with a value. */
  filled = 0;
  /** Whether every value is text, as in a CSV. */
  isText = true;
  readonly #patterns = new Set<ValuePattern>();
  readonly #values = new Set<string>();
  /** Number of values examined for distinctness. */
  #examined = 0;
  #isDate = true;
  #isTime = true;
  #longest = 0;
  readonly #zone: TimeZone;
  readonly #cell = new TextSlice();

  constructor(name: string, zone: TimeZone) {
    this.name = name;
    this.#zone = zone;
  }

  /** Adds a JSON value; a CSV cell is a string. */
  add(value: unknown): void {
    if (value === '' || value === null) return;
    this.filled += 1;
    if (typeof value !== 'string') this.isText = false;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    this.#longest = Math.max(this.#longest, text.length);
    this.#patterns.add(patternOf(text));
    if (this.#isDate) this.#lookAtTime(text);
    if (this.#values.size > maxKept) return;
    this.#examined += 1;
    this.#values.add(text);
  }

  /** Whether no or hardly any two rows have the same value. */
  get isDistinct(): boolean {
    return this.#values.size >= 0.9 * this.#examined;
  }

  /** Whether every value is a valid time of an event. */
  get isTime(): boolean {
    return this.filled > 0 && this.#isDate && this.#isTime;
  }

  /** Returns the type that all values fit, other than text. JSON values already have types. */
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

  /** All values, if they are few and repeat often; undefined for codes, which may always have new values. */
  get closedSet(): string[] | undefined {
    if (this.#isCode) return undefined;
    const values = [...this.#values].toSorted();
    const isClosed = values.length > 1 && values.length <= maxSetSize;
    return isClosed && this.#examined >= minFrequency * values.length ? values : undefined;
  }

  #only(...patterns: readonly ValuePattern[]): boolean {
    return [...this.#patterns].every((pattern) => patterns.includes(pattern));
  }

  #lookAtTime(text: string): void {
    const bytes = Buffer.from(text);
    const instant = parseTimestamp(this.#cell.of(bytes, 0, bytes.length), this.#zone);
    this.#isDate = typeof instant === 'number';
    this.#isTime &&= typeof instant === 'number' && instant >= 0;
  }
}

/** Normalized names of identity columns, the likeliest first. */
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
/** Normalized names such as `Customer No.` and `Kunden-Nr.` */
const numbered = /^(?:customer|client|member|user|contact|kunden)(?:no|nr|number|nummer)$/;
/** Normalized names of columns used as identity if there is no better one. */
const addresses = ['email', 'emailaddress', 'mail', 'phone', 'phonenumber', 'mobile', 'msisdn'];

const rankOf = (name: string): number => {
  const word = normalizeName(name);
  const isNumbered = word.endsWith('id') || numbered.test(word);
  const ranks = [names.indexOf(word), isNumbered ? 0 : -1, addresses.indexOf(word)];
  const kind = ranks.findIndex((rank) => rank >= 0);
  return kind < 0 ? Number.POSITIVE_INFINITY : 1000 * kind + ranks[kind]!;
};

/** Infers the identity column from its name alone; undefined if no name matches. */
export const inferIdentityByName = (header: readonly string[]): string | undefined =>
  header
    .filter((name) => Number.isFinite(rankOf(name)))
    .toSorted((a, b) => rankOf(a) - rankOf(b))[0];

/**
 * Returns the identity column that the options name; otherwise the likeliest by name of those that nearly every row
 * has and, for profiles, that has hardly any duplicates. Without rows, only the name counts.
 */
export function inferIdentity(
  { columns, rows }: SampledRows,
  { identity, identityGiven, objectId, drop, kind, map }: UploadMapping,
): string | undefined {
  if (identityGiven) return identity;
  const candidates = columns.filter(({ name, filled, isDistinct, isText }) => {
    const isTaken = name === objectId || drop.has(name) || map.has(name);
    const isFit = isText && filled >= 0.9 * rows && (kind === 'event' || isDistinct);
    return !isTaken && (name === 'identity' || (isFit && Number.isFinite(rankOf(name))));
  });
  return candidates.toSorted((a, b) => rankOf(a.name) - rankOf(b.name))[0]?.name;
}

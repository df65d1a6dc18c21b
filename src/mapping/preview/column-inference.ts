import { TextSlice } from '../../text/text-slice.js';
import { dateFormat, numberFormat, phoneFormat, utc } from '../cell-formats.js';
import { phonePattern } from '../../contract/record-fields.js';
import { parseTimestamp } from '../timestamps.js';
import { patternOf, type ValuePattern } from './field-statistics.js';
import { normalizeName } from './field-spelling.js';
import type { TimeZone } from '../../time-zone.js';
import type { CellType, PlainType, UploadMapping } from '../upload-mapping.js';

/** Maximum number of values of a column that are kept, to determine whether they are distinct. */
const maxKept = 1000;
/** Limits of a closed set: maximum number of values, and their minimum frequency on average. */
const maxSetSize = 12;
const minFrequency = 5;
/** Fewer values with whitespace around them may be texts of a few people. */
const minPadded = 10;
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

const placeholder = /^(?:null|none|nil|nan|nat|n\/a|<na>|#n\/a|undefined|\\N|-)$/i;

/** Types that fit nearly all values. With more than one, they mean different values. */
export interface FittingTypes {
  readonly types: readonly CellType[];
  /** Number of distinct values that fit, and of all. */
  readonly fits: number;
  readonly all: number;
  /** A value that only these types read, if there is one. */
  readonly example: string;
  /** The type that reads the most values besides these, and how many it does not read. */
  readonly rival?: { readonly type: CellType; readonly unread: number } | undefined;
  /** Up to three values, those that the types read differently if there are any, with what each type reads. */
  readonly readings: readonly { readonly text: string; readonly read: readonly unknown[] }[];
}

const maxReadings = 3;

const isRead = (value: unknown): boolean => value !== undefined;

/** Share of values that a format must fit. */
const nearlyAll = 0.9;

/**
 * Returns the types that read at least nine of ten values, those that read the most; one of each group that read the same
 * and for which `kindOf` returns the same.
 */
function fitting<Type extends string>(
  values: readonly string[],
  readers: ReadonlyMap<Type, (text: string) => unknown>,
  kindOf: (type: Type) => string = () => '',
): FittingTypes | undefined {
  const read = Array.from(readers, ([type, reader]) => {
    const found = values.map((text) => reader(text));
    return { type, found, fits: found.filter(isRead).length };
  });
  const fits = Math.max(0, ...read.map((each) => each.fits));
  if (values.length === 0 || fits < nearlyAll * values.length) return undefined;
  const best = new Map<string, (typeof read)[number]>();
  for (const each of read) {
    const meaning = kindOf(each.type) + JSON.stringify(each.found);
    if (each.fits === fits && !best.has(meaning)) best.set(meaning, each);
  }
  const kept = [...best.values()];
  const types = kept.map(({ type }) => type) as string[] as CellType[];
  const all = values.map((text, at) => ({ text, read: kept.map(({ found }) => found[at]) }));
  const differing = all.filter(({ read }) => new Set(read).size > 1);
  const readings = (differing.length > 0 ? differing : all).slice(0, maxReadings);
  const [rival] = read
    .filter((each) => each.fits > 0 && each.fits < fits)
    .toSorted((a, b) => b.fits - a.fits);
  const only = values.filter((_, at) => isRead(kept[0]?.found[at]) && !isRead(rival?.found[at]));
  return {
    types,
    fits,
    all: values.length,
    example: (rival && only[0]) ?? values[0]!,
    rival: rival && { type: rival.type as string as CellType, unread: only.length },
    readings,
  };
}

const datePattern =
  /^(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:(, |[ T])(\d{1,2}):\d\d(:\d\d)?( ?[AaPp][Mm])?)?$/;

/** Returns the formats of dates that are written with a year of four or two digits at either end. */
function fittingDates(values: readonly string[]): FittingTypes | undefined {
  const formats = new Map<string, number>();
  const isPadded = values.every((text) => !/(?:^|\D)\d(?:\D|$)/.test(text.slice(0, 10)));
  const [day, month] = isPadded ? ['DD', 'MM'] : ['D', 'M'];
  for (const text of values) {
    const [, first, mark, , last = '', gap = '', hour, seconds, noon] =
      datePattern.exec(text) ?? [];
    if (first === undefined || mark === undefined) continue;
    const clock = noon === undefined ? 'H' : 'h';
    const time =
      hour === undefined
        ? ''
        : `${gap}${clock}:mm${seconds ? ':ss' : ''}${noon ? noon.replace(/\w+/, 'A') : ''}`;
    const year = last.length === 4 ? 'YYYY' : 'YY';
    const orders =
      first.length === 4
        ? [['YYYY', month, day]]
        : [[day, month, year], ...(mark === '.' ? [] : [[month, day, year]])];
    for (const order of orders) {
      const format = `${order.join(mark)}${time}`;
      formats.set(format, (formats.get(format) ?? 0) + 1);
    }
  }
  const readers = [...formats].slice(0, maxFormats).map(([format]) => {
    const { read } = dateFormat(format);
    return [`date(${format})`, (text: string) => read(text, utc)] as const;
  });
  return fitting(values, new Map(readers), orderOf);
}

/** Returns the start of a type of dates. The order matters even if no value shows it, as in 01/01/1990: others will. */
export const orderOf = (type: string): string =>
  type.startsWith('date(') ? type.slice(0, 'date(D/M'.length) : '';

const maxFormats = 12;
// The body ends in a digit or mark: two adjacent repetitions of blanks would take quadratic time.
const signed =
  /^[-+]?([$€£¥₹]|[A-Z]{3}\s)?\s*[-+]?\d(?:[\d.,'’ \u00a0\u202f]*[\d.,'’])?\s*([$€£¥₹%]|[A-Z]{3})?$/u;

/** Returns the formats of numbers with separators of groups, a decimal comma, a currency or a percent sign. */
export function fittingNumbers(values: readonly string[]): FittingTypes | undefined {
  const found = values.flatMap((text) => {
    const [whole, before = '', after = ''] = signed.exec(text) ?? [];
    return whole === undefined ? [] : [{ text, before, after }];
  });
  const sign = found.find(({ before, after }) => before + after !== '');
  const isMarked = found.some(({ text }) =>
    /[,'’ \u00a0\u202f]|^[-+]?[1-9]\d{0,2}\.\d{3}$/.test(text),
  );
  if (!sign && !isMarked) return undefined;
  const { before = '', after = '' } = sign ?? {};
  const examples = ['1,234.56', '1.234,56', '1 234,56', "1'234.56"];
  const readers = examples.map((example) => {
    const format = `${before}${example}${after === '' ? '' : ` ${after}`}`;
    return [`number(${format})`, numberFormat(format, 'number').read] as const;
  });
  return fitting(values, new Map(readers));
}

/** Words for true and false; those of the type boolean are not among them. */
const wordPairs = [
  'ja,nein',
  'oui,non',
  'sí,no',
  'si,no',
  'sim,não',
  'wahr,falsch',
  'vrai,faux',
  'y,n',
  'j,n',
  'x,',
];

function fittingWords(values: readonly string[]): FittingTypes | undefined {
  const words = values.map((text) => text.toLowerCase());
  const pair = wordPairs.find((pair) => words.every((word) => pair.split(',').includes(word)));
  if (pair === undefined || values.length === 0) return undefined;
  return {
    types: [`boolean(${pair})`],
    fits: values.length,
    all: values.length,
    example: values[0]!,
    readings: [],
  };
}

/** Normalized names of columns whose numbers are probably times. */
const timeName =
  /date|datum|time|zeit|seen|login|birth|born|geburt|naissance|nacimiento|created|updated|joined|signup|signedup|since|day$|tag$|(?:fecha|data)(?:$|de|di)/;
/** Days that spreadsheets count from 1899-12-30: those of 1927 to 2064. */
const serialDay = /^[1-5]\d{4}(?:[.,]\d+)?$/;
const compactDay = /^(?:19|20)\d{6}$/;

/** Returns the format of times that are written as numbers: days of a spreadsheet, epoch time, or YYYYMMDD. */
export function fittingNumericTimes(
  values: readonly string[],
  name: string,
): FittingTypes | undefined {
  const isTimeName = timeName.test(normalizeName(name));
  const formats = {
    YYYYMMDD: isTimeName || values.length > 2 ? compactDay : undefined,
    excel: isTimeName ? serialDay : undefined,
    epoch: isTimeName ? /^\d{9,10}$/ : undefined,
    epochMillis: isTimeName ? /^\d{12,13}$/ : undefined,
  };
  const all = Object.entries(formats).filter(([, pattern]) =>
    values.every((text) => pattern?.test(text)),
  );
  const readers = all.map(([format]) => {
    const { read } = dateFormat(format);
    return [`date(${format})`, (text: string) => read(text, utc)] as const;
  });
  const found = fitting(values, new Map(readers));
  return found?.fits === values.length ? found : undefined;
}

const countries = [
  'DE',
  'US',
  'GB',
  'FR',
  'ES',
  'IT',
  'NL',
  'AT',
  'CH',
  'BE',
  'PL',
  'SE',
  'IN',
  'BR',
  'AU',
];

function fittingCountries(values: readonly string[]): FittingTypes | undefined {
  const readers = countries.map((country) => {
    const { read } = phoneFormat(country);
    const reader = (text: string) => {
      const number = read(text);
      return number.startsWith('+') ? number : undefined;
    };
    return [`phone(${country})`, reader] as const;
  });
  return fitting(values, new Map(readers));
}

/** Statistics of the sampled values of one column. */
export class ColumnSample {
  readonly name: string;
  /** Whether its values are in nested objects of JSON. */
  readonly isNested: boolean;
  /** Number of rows with a value. */
  filled = 0;
  /** Whether every value is text, as in a CSV. */
  isText = true;
  /** Whether every value is a number of JSON. */
  isNumeric = true;
  /** Number of values with whitespace around them, or of nothing else. */
  padded = 0;
  /** Texts that stand for missing values, with their counts: of all, and of those without whitespace around. */
  readonly #placeholders = new Map<string, { all: number; plain: number }>();
  readonly #patterns = new Set<ValuePattern>();
  readonly #values = new Set<string>();
  /** Number of values examined for distinctness. */
  #examined = 0;
  #isDate = true;
  #isTime = true;
  #longest = 0;
  readonly #zone: TimeZone;
  readonly #cell = new TextSlice();

  constructor(name: string, zone: TimeZone, isNested = false) {
    this.name = name;
    this.isNested = isNested;
    this.#zone = zone;
  }

  /** Adds a JSON value; a CSV cell is a string. */
  add(value: unknown): void {
    if (value === '' || value === null) return;
    const text = typeof value === 'string' ? value.trim() : JSON.stringify(value);
    const isPadded = text !== value && typeof value === 'string';
    if (isPadded) this.padded += 1;
    if (text === '') return;
    if (placeholder.test(text)) {
      const { all, plain } = this.#placeholders.get(text) ?? { all: 0, plain: 0 };
      this.#placeholders.set(text, { all: all + 1, plain: plain + (isPadded ? 0 : 1) });
      return;
    }
    this.filled += 1;
    if (typeof value !== 'string') this.isText = false;
    if (typeof value !== 'number') this.isNumeric = false;
    this.#longest = Math.max(this.#longest, text.length);
    this.#patterns.add(patternOf(text));
    if (this.#isDate) this.#lookAtTime(text);
    if (this.#values.size > maxKept) return;
    this.#examined += 1;
    this.#values.add(text);
  }

  /** Whether most rows have whitespace around their value, as only a program writes it. */
  isPaddedByProgram(rows: number): boolean {
    return this.padded >= minPadded && this.padded > rows / 2;
  }

  /** Returns the texts that stand for missing values, with their counts. */
  placeholders(isTrimmed: boolean): (readonly [text: string, count: number])[] {
    return Array.from(
      this.#placeholders,
      ([text, { all, plain }]) => [text, isTrimmed ? all : plain] as const,
    ).filter(([, count]) => count > 0);
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

  /** Returns the formats that fit the values, as types, if they are dates, numbers or booleans in a notation of people. */
  get formats(): FittingTypes | undefined {
    if (this.filled === 0 || !this.isText) return undefined;
    const values = [...this.#values];
    return (
      fittingDates(values) ??
      (this.#isCode ? undefined : fittingNumbers(values)) ??
      fittingWords(values)
    );
  }

  /** Returns the format of times that are written as numbers. */
  get numericTimes(): FittingTypes | undefined {
    if (this.filled === 0 || this.#isCode || !this.#only('integer', 'number', 'milliseconds'))
      return undefined;
    return fittingNumericTimes([...this.#values], this.name);
  }

  /** Returns the types of countries in whose notation the values are phone numbers; none if they have country codes. */
  get phoneTypes(): FittingTypes | undefined {
    const values = [...this.#values];
    return values.every((text) => phonePattern.test(text)) ? undefined : fittingCountries(values);
  }

  get isCode(): boolean {
    return this.#isCode;
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
  if (name === 'identity') return -1; // before `Identity`: upload takes it without a mapping
  const word = normalizeName(name);
  const isNumbered = word.endsWith('id') || numbered.test(word);
  const isIdentity = word.endsWith('identity'); // such as profile.identity of an export
  const ranks = [
    names.indexOf(word),
    isIdentity ? 0 : -1,
    isNumbered ? 0 : -1,
    addresses.indexOf(word),
  ];
  const kind = ranks.findIndex((rank) => rank >= 0);
  return kind < 0 ? Number.POSITIVE_INFINITY : 1000 * kind + ranks[kind]!;
};

/** Infers the identity column from its name alone; undefined if no name matches. */
export const inferIdentityByName = (header: readonly string[]): string | undefined =>
  header
    .filter((name) => Number.isFinite(rankOf(name)))
    .toSorted((a, b) => rankOf(a) - rankOf(b))[0];

/** Whether it is named like a key of the record, but in an object, such as the answer to a question of a form. */
const isNestedKey = ({ name, isNested }: ColumnSample): boolean =>
  isNested && /(?:identity|objectid)$/.test(normalizeName(name));

/** Whether visitors may have named it: `user.id` is a program's name, `answers.customer id` may be that of a question. */
const isNamedByVisitors = ({ name, isNested }: ColumnSample): boolean =>
  isNested && !names.includes(normalizeName(name));

/**
 * Returns the identity column that the options name; otherwise the likeliest by name of those that nearly every row
 * has and, for profiles, that has hardly any duplicates. Without rows, only the name counts.
 */
export function inferIdentity(
  { columns, rows }: SampledRows,
  { identity, identityGiven, objectId, drop, kind, map }: UploadMapping,
): string | undefined {
  if (identityGiven) return identity;
  const candidates = columns.filter((column) => {
    if (isNestedKey(column)) return false;
    const { name, filled, isDistinct, isText, isNumeric } = column;
    const isTaken = name === objectId || drop.has(name) || map.has(name);
    const isId = isText || isNumeric;
    const isFit = isId && filled >= 0.9 * rows && (kind === 'event' || isDistinct);
    return !isTaken && (name === 'identity' || (isFit && Number.isFinite(rankOf(name))));
  });
  const ranked = candidates.toSorted((a, b) => rankOf(a.name) - rankOf(b.name));
  return (ranked.find((column) => !isNamedByVisitors(column)) ?? ranked[0])?.name;
}

import { EngagectlError } from '../errors.js';
import type * as PhoneNumbers from 'libphonenumber-js/min';
import type { PhoneNumber } from 'libphonenumber-js/min';
import type { TimeZone } from '../time-zone.js';

/** Reads a text in a format; undefined if it does not fit. */
export interface DateFormat {
  readonly read: (text: string, zone: TimeZone) => number | undefined;
}

/** The plausible epoch seconds: 1980-01-01 to the end of 2100. Numbers outside are mostly something else. */
export const earliest = Date.UTC(1980, 0) / 1000;
export const latest = Date.UTC(2101, 0) / 1000 - 1;

/** Days from 1899-12-30, the first day of spreadsheets, to 1970-01-01. */
const excelDays = 25_569;
const secondsPerDay = 86_400;

const fields: Readonly<Record<string, string>> = {
  YYYY: String.raw`(?<year>\d{4})`,
  YY: String.raw`(?<year>\d{2})`,
  MM: String.raw`(?<month>\d{2})`,
  M: String.raw`(?<month>\d{1,2})`,
  DD: String.raw`(?<day>\d{2})`,
  D: String.raw`(?<day>\d{1,2})`,
  HH: String.raw`(?<hour>\d{2})`,
  H: String.raw`(?<hour>\d{1,2})`,
  hh: String.raw`(?<half>\d{2})`,
  h: String.raw`(?<half>\d{1,2})`,
  mm: String.raw`(?<minute>\d{2})`,
  ss: String.raw`(?<second>\d{2})`,
  A: '(?<noon>[AaPp][Mm])',
};

/** Returns the format of `date(…)`. Throws EngagectlError E-USAGE for an unknown format. */
export function dateFormat(format: string): DateFormat {
  if (format === 'excel') return { read: readExcel };
  if (format === 'epoch') return { read: (text) => readEpoch(text, 1) };
  if (format === 'epochMillis') return { read: (text) => readEpoch(text, 1000) };
  const tokens = format.match(/YYYY|YY|MM|M|DD|D|HH|H|hh|h|mm|ss|A|T|[^A-Za-z]|[A-Za-z]+/g) ?? [];
  const names = tokens.flatMap((token) => /<(\w+)>/.exec(fields[token] ?? '')?.[1] ?? []);
  const isWhole = ['year', 'month', 'day'].every((name) => names.includes(name));
  const isUnique = new Set(names).size === names.length;
  const isKnown = tokens.every(
    (token) => fields[token] !== undefined || /^[^A-Za-z]$|^T$/.test(token),
  );
  if (!isWhole || !isUnique || !isKnown)
    throw unknownFormat(
      `date(${format})`,
      'such as date(DD.MM.YYYY), date(M/D/YYYY H:mm), date(excel), date(epoch) or date(epochMillis)',
    );
  const pattern = new RegExp(
    `^${tokens.map((token) => fields[token] ?? escaped(token)).join('')}$`,
  );
  return {
    read(text, zone) {
      const local = localSeconds(pattern.exec(text)?.groups);
      return local === undefined ? undefined : zone.toEpoch(local);
    },
  };
}

/** Returns the seconds of a date and time as if it were in UTC; undefined if it does not exist. */
function localSeconds(found: Readonly<Record<string, string>> | undefined): number | undefined {
  if (!found) return undefined;
  const { year = '', month, day, hour, half, minute = 0, second = 0, noon } = found;
  if (half !== undefined && (noon === undefined || Number(half) < 1 || Number(half) > 12))
    return undefined;
  const isPm = noon?.toLowerCase() === 'pm';
  const h = half === undefined ? Number(hour ?? 0) : (Number(half) % 12) + (isPm ? 12 : 0);
  if (h > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const y = year.length === 2 ? Number(year) + (Number(year) < 70 ? 2000 : 1900) : Number(year);
  const [m, d] = [Number(month), Number(day)];
  if (m < 1 || m > 12 || d < 1 || d > daysOf(y, m)) return undefined;
  return Date.UTC(y, m - 1, d, h, Number(minute), Number(second)) / 1000;
}

const daysOf = (year: number, month: number): number => {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
};

function readExcel(text: string, zone: TimeZone): number | undefined {
  if (!/^\d{1,5}(?:[.,]\d+)?$/.test(text)) return undefined;
  const days = Number(text.replace(',', '.'));
  if (days < 1) return undefined;
  return zone.toEpoch(Math.round((days - excelDays) * secondsPerDay));
}

function readEpoch(text: string, unit: number): number | undefined {
  const seconds = /^\d{1,15}$/.test(text) ? Math.floor(Number(text) / unit) : -1;
  return seconds >= earliest && seconds <= latest ? seconds : undefined;
}

/** Formats that people use, to suggest one for a value that does not fit. */
const common = ['YYYY-MM-DD', 'DD.MM.YYYY', 'D.M.YYYY', 'M/D/YYYY', 'D/M/YYYY', 'M/D/YYYY H:mm', 'D/M/YYYY H:mm', 'D.M.YYYY H:mm', 'YYYYMMDD', 'YYYY/MM/DD', 'D-M-YYYY', 'M-D-YYYY', 'epochMillis', 'excel']; // prettier-ignore
export const utc: TimeZone = { name: 'UTC', offsetAt: () => 0, toEpoch: (seconds) => seconds };

/** Returns the date formats that a text fits and that give different times, as `date(…) or date(…)`; undefined if none. */
export function fittingDate(text: string): string | undefined {
  const found = new Map<number, string>();
  for (const format of common) {
    const seconds = dateFormat(format).read(text, utc);
    if (seconds !== undefined && !found.has(seconds)) found.set(seconds, `date(${format})`);
  }
  return found.size > 0 ? [...found.values()].join(' or ') : undefined;
}

/** A format of numbers, derived from an example. */
export interface NumberFormat {
  /** Returns the number as JSON; undefined if the text does not fit. */
  readonly read: (text: string) => string | undefined;
}

/** Separators of groups that programs write for one another. */
const blanks = ' \u00a0\u202f';
const apostrophes = "'’";

/** Returns the format of `number(1.234,56)` or `integer(1.234)`. Throws EngagectlError E-USAGE for an unclear example. */
export function numberFormat(example: string, kind: 'number' | 'integer'): NumberFormat {
  const type = `${kind}(${example})`;
  const body = /\d(?:[\d.,'’ \u00a0\u202f]*\d)?/.exec(example)?.[0];
  if (body === undefined) throw unknownFormat(type, 'an example such as number(1.234,56)');
  const marks = body.replaceAll(/\d/g, '');
  const last = marks.at(-1);
  const isGroup = (mark: string): boolean =>
    new RegExp(`${escaped(mark)}\\d{3}(?:\\D|$)`).test(body);
  let [group, decimal] = ['', ''];
  if (last !== undefined) {
    const first = marks[0]!;
    if (first !== last) [group, decimal] = [first, last];
    else if (kind === 'integer' || marks.length > 1) group = last;
    else if (isGroup(last))
      throw unknownFormat(
        type,
        'an example with both separators, such as number(1.234,56) or number(1,234.56)',
      );
    else decimal = last;
  }
  if (kind === 'integer' && decimal !== '')
    throw unknownFormat(type, 'an example such as integer(1.234)');
  if (kind === 'number' && decimal === '') decimal = group === '.' ? ',' : '.';
  const signs = example.replace(body, '').replaceAll(/[+-]/g, '');
  const around = signs.trim() === '' ? '' : `[${escapedSet(signs.trim() + blanks)}]*`;
  const grouped = group === '' ? '' : `|[1-9]\\d{0,2}(?:${groupPattern(group)}\\d{3})+`;
  const fraction = decimal === '' ? '' : `(?:${escaped(decimal)}(\\d+))?`;
  const pattern = new RegExp(
    `^${around}([-+]?)${around}(0|[1-9]\\d*${grouped})${fraction}${around}$`,
  );
  return {
    read(text) {
      const [, sign, whole, part] = pattern.exec(text) ?? [];
      if (whole === undefined) return undefined;
      const digits = whole.replaceAll(/\D/g, '');
      return `${sign === '-' ? '-' : ''}${digits}${part === undefined ? '' : `.${part}`}`;
    },
  };
}

const groupPattern = (group: string): string => {
  const alike = [blanks, apostrophes].find((marks) => marks.includes(group));
  return alike === undefined ? escaped(group) : `[${alike}]`;
};

/** Number formats that people use, to suggest one. */
const commonNumbers = [
  '1,234.56',
  '1.234,56',
  '1 234,56',
  '$1,234.56',
  '1.234,56 €',
  '12.5 %',
  '12,5 %',
];

/** Returns a number format that a text fits, as a type; undefined if none or if several do, which differ. */
export function fittingNumber(text: string): string | undefined {
  const found = commonNumbers.flatMap((example) => {
    const value = numberFormat(example, 'number').read(text);
    return value === undefined ? [] : [{ example, value }];
  });
  const isClear = new Set(found.map(({ value }) => value)).size === 1;
  return isClear ? `number(${found[0]!.example})` : undefined;
}

/** Parser of phone numbers. It has rules of all countries, so only `phone(…)` loads it. */
let phoneNumbers: typeof PhoneNumbers | undefined;

/** Loads the parser that the formats of these types need, if any. */
export async function loadFormats(types: Iterable<string>): Promise<void> {
  if ([...types].some((type) => type.startsWith('phone(')))
    phoneNumbers ??= await import('libphonenumber-js/min');
}

/** A format of phone numbers: national spellings of one country, and international ones of all. */
export interface PhoneFormat {
  /** Returns the number in E.164, or why the text is not one, without a + at its start. */
  readonly read: (text: string) => string;
}

/**
 * Returns the format of `phone(DE)`; `loadFormats` must have ended. A number that could start with an area code or with
 * the country code is not accepted. Throws EngagectlError E-USAGE for an unknown country.
 */
export function phoneFormat(country: string): PhoneFormat {
  const { parsePhoneNumberFromString: parse, isSupportedCountry } = phoneNumbers!;
  if (!isSupportedCountry(country))
    throw unknownFormat(
      `phone(${country})`,
      'the two capital letters of a country, such as phone(DE)',
    );
  const options = { defaultCountry: country, extract: false };
  const isAmbiguous = (text: string, { nationalNumber, countryCallingCode }: PhoneNumber) => {
    const digits = text.replaceAll(/\D/g, '');
    const hasPrefix = text.includes('+') || nationalNumber !== digits;
    return !hasPrefix && digits.startsWith(countryCallingCode) && parse(`+${digits}`)?.isValid();
  };
  return {
    read(text) {
      const number = parse(text, options);
      if (!number?.isValid() || number.ext !== undefined)
        return `is not a phone number of ${country}, nor one with + and a country code`;
      if (isAmbiguous(text, number))
        return `can be a number with or without the country code ${number.countryCallingCode}: write + before the code`;
      return number.number;
    },
  };
}

const words: Readonly<Record<string, string>> = {
  de: 'ja,nein',
  en: 'yes,no',
  es: 'sí,no',
  fr: 'oui,non',
  it: 'sì,no',
  nl: 'ja,nee',
  pl: 'tak,nie',
  pt: 'sim,não',
  sv: 'ja,nej',
};

/** Returns a type without a format in the format of a locale. Throws EngagectlError E-USAGE for an unknown locale. */
export function localizedType(type: string, locale: string): string {
  const [tag] = supported(locale);
  if (type === 'date') {
    const parts = new Intl.DateTimeFormat(tag, { timeZone: 'UTC' }).formatToParts(0);
    const tokens: Readonly<Record<string, string>> = { day: 'D', month: 'M', year: 'YYYY' };
    return `date(${parts.map(({ type, value }) => tokens[type] ?? value).join('')})`;
  }
  if (type === 'number' || type === 'integer') {
    const parts = new Intl.NumberFormat(tag).formatToParts(1_234_567.5);
    const mark = (name: string) => parts.find(({ type }) => type === name)?.value ?? '';
    return type === 'number'
      ? `number(1${mark('group')}234${mark('decimal')}5)`
      : `integer(1${mark('group')}234)`;
  }
  const language = words[tag!.split('-')[0]!];
  return type === 'boolean' && language !== undefined ? `boolean(${language})` : type;
}

function supported(locale: string): string[] {
  let found: string[] = [];
  try {
    found = Intl.NumberFormat.supportedLocalesOf(locale);
  } catch {
    // not a language tag
  }
  if (found.length > 0) return found;
  throw new EngagectlError('E-USAGE', `unknown locale "${locale}"`, {
    why: 'expected a language and a country',
    fix: '--locale de-DE',
  });
}

const unknownFormat = (type: string, expected: string): EngagectlError =>
  new EngagectlError('E-USAGE', `the type ${type} has an unknown format`, {
    why: `expected ${expected}`,
    fix: 'correct it in --types, or in the mapping file',
  });

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
const escapedSet = (text: string): string => text.replaceAll(/[\\\]^-]/g, String.raw`\$&`);

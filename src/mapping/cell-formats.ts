import { EngagectlError } from '../errors.js';
import type * as PhoneNumbers from 'libphonenumber-js/min';
import type { PhoneNumber } from 'libphonenumber-js/min';
import type { JsonWriter } from '../text/json-writer.js';
import type { TimeZone } from '../time-zone.js';

/** Reads a text in a format; undefined if it does not fit. */
export interface DateFormat {
  readonly read: (text: string, zone: TimeZone) => number | undefined;
  /** See `ByteReader`; undefined if the format cannot be read in this way. */
  readonly readBytes?: ByteReader | undefined;
}

/**
 * Reads the date and time `bytes[start, end)` without making a string of it, as seconds as if in UTC. Undefined does not
 * mean that the text is not a date: `read` decides.
 */
type ByteReader = (bytes: Buffer, start: number, end: number) => number | undefined;

/** The plausible epoch seconds: 1980-01-01 to the end of 2100. Numbers outside are mostly something else. */
export const earliest = Date.UTC(1980, 0) / 1000;
export const latest = Date.UTC(2101, 0) / 1000 - 1;

/** Days from 1899-12-30, the first day of spreadsheets, to 1970-01-01. */
const excelDays = 25_569;
/** 1 March 1900: Excel counts a 29 February before it, so programs differ about smaller numbers. */
const firstSureDay = 61;
const secondsPerDay = 86_400;
const digitZero = 0x30;

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
const escapedSet = (text: string): string => text.replaceAll(/[\\\]^-]/g, String.raw`\$&`);

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
    readBytes: byteReader(tokens),
    read(text, zone) {
      const local = localSeconds(pattern.exec(text)?.groups);
      return local === undefined ? undefined : zone.toEpoch(local);
    },
  };
}

/** Digits of tokens, and which of the six parts from year to second they are. */
const digitTokens: Readonly<Record<string, readonly [least: number, most: number, part: number]>> =
  {
    YYYY: [4, 4, 0],
    YY: [2, 2, 0],
    MM: [2, 2, 1],
    M: [1, 2, 1],
    DD: [2, 2, 2],
    D: [1, 2, 2],
    HH: [2, 2, 3],
    H: [1, 2, 3],
    mm: [2, 2, 4],
    ss: [2, 2, 5],
  };

/** Returns a reader of a format; undefined for one with AM and PM, or in which the digits of two numbers may touch. */
function byteReader(tokens: readonly string[]): ByteReader | undefined {
  const isFixed = tokens.every((token, at) => {
    const [least, most] = digitTokens[token] ?? [];
    const next = tokens[at + 1];
    if (least === undefined) return /^[^A-Za-z\u0080-\uffff]$|^T$/.test(token);
    return least === most || next === undefined || digitTokens[next] === undefined;
  });
  if (!isFixed) return undefined;
  const numbers = tokens.flatMap((token) => digitTokens[token] ?? [0, token.charCodeAt(0), -1]);
  const steps = Int32Array.from(numbers);
  const century = tokens.includes('YY');
  const parts = new Int32Array(6);
  return (bytes, start, end) => {
    let at = start;
    parts.fill(0);
    for (let step = 0; step < steps.length; step += 3) {
      const most = steps[step + 1]!;
      const part = steps[step + 2]!;
      if (part < 0) {
        if (bytes[at++] !== most) return undefined;
        continue;
      }
      const from = at;
      const limit = Math.min(end, from + most);
      let value = 0;
      for (; at < limit; at++) {
        const digit = bytes[at]! - digitZero;
        if (digit < 0 || digit > 9) break;
        value = 10 * value + digit;
      }
      if (at - from < steps[step]!) return undefined;
      parts[part] = value;
    }
    if (at !== end) return undefined;
    const year = century ? fullYear(parts[0]!) : parts[0]!;
    return secondsOf(year, parts[1]!, parts[2]!, parts[3]!, parts[4]!, parts[5]!);
  };
}

const readIsoTime = dateFormat('YYYY-MM-DDTHH:mm:ss').readBytes!;
const dash = 0x2d;

/** Returns the number of two digits; NaN for other bytes. */
function twoDigits(bytes: Buffer, at: number): number {
  const [tens, ones] = [bytes[at]! - digitZero, bytes[at + 1]! - digitZero];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN;
}

/** Reads `YYYY-MM-DD`, the most frequent form, without the steps of a `byteReader`. */
function readIsoDay(bytes: Buffer, start: number): number | undefined {
  if (bytes[start + 4] !== dash || bytes[start + 7] !== dash) return undefined;
  const year = 100 * twoDigits(bytes, start) + twoDigits(bytes, start + 2);
  const month = twoDigits(bytes, start + 5);
  const day = twoDigits(bytes, start + 8);
  return Number.isNaN(year + month + day) ? undefined : secondsOf(year, month, day, 0, 0, 0);
}

/** Reads a day, or a day and a time with seconds and perhaps `Z`, like a `ByteReader`; with `Z`, the time is in UTC. */
export const readIsoBytes: ByteReader = (bytes, start, end) => {
  const length = end - start;
  if (length === 10) return readIsoDay(bytes, start);
  return length === 19 || (length === 20 && bytes[end - 1] === 0x5a)
    ? readIsoTime(bytes, start, start + 19)
    : undefined;
};

/** Returns the seconds of a date and time as if it were in UTC; undefined if it does not exist, or its year has a leading zero. */
function localSeconds(found: Readonly<Record<string, string>> | undefined): number | undefined {
  if (!found) return undefined;
  const { year = '', month, day, hour, half, minute = 0, second = 0, noon } = found;
  if (half !== undefined && (noon === undefined || Number(half) < 1 || Number(half) > 12))
    return undefined;
  const isPm = noon?.toLowerCase() === 'pm';
  const h = half === undefined ? Number(hour ?? 0) : (Number(half) % 12) + (isPm ? 12 : 0);
  const y = year.length === 2 ? fullYear(Number(year)) : Number(year);
  return secondsOf(y, Number(month), Number(day), h, Number(minute), Number(second));
}

/** Returns the year of two digits: 1970 to 2069. */
const fullYear = (year: number): number => year + (year < 70 ? 2000 : 1900);

// oxlint-disable-next-line eslint/max-params -- an object for each cell would cost more than the rest
function secondsOf(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number | undefined {
  if (year < 1000 || hour > 23 || minute > 59 || second > 59) return undefined;
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined;
  // years begin in March, so that a leap day is the last of a year
  const marchYear = month > 2 ? year : year - 1;
  const leapDays =
    Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const days = 365 * marchYear + leapDays + dayOfYear - daysTo1970;
  return secondsPerDay * days + 3600 * hour + 60 * minute + second;
}

/** Days from 0000-03-01 to 1970-01-01. */
const daysTo1970 = 719_468;

const daysOf = (year: number, month: number): number => {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2) return isLeap ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
};

function readExcel(text: string, zone: TimeZone): number | undefined {
  if (!/^\d{1,5}(?:[.,]\d+)?$/.test(text)) return undefined;
  const days = Number(text.replace(',', '.'));
  if (days < firstSureDay) return undefined;
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
  /**
   * Writes the number `bytes[start, end)` as JSON. False does not mean that the text does not fit: `read` decides. Undefined
   * if the separators are not ASCII.
   */
  readonly writeBytes?: NumberWriter | undefined;
}

type NumberWriter = (bytes: Buffer, start: number, end: number, out: JsonWriter) => boolean;

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
    // Two adjacent repetitions of the same characters would take quadratic time.
    `^${around}(?:([-+])${around})?(0|[1-9]\\d*${grouped})${fraction}${around}$`,
  );
  return {
    writeBytes: numberWriter(group, decimal),
    read(text) {
      const [, sign, whole, part] = pattern.exec(text) ?? [];
      if (whole === undefined) return undefined;
      const digits = whole.replaceAll(/\D/g, '');
      return `${sign === '-' ? '-' : ''}${digits}${part === undefined ? '' : `.${part}`}`;
    },
  };
}

const minus = 0x2d;

/** Returns a writer of numbers with these separators, which may be empty. */
export function numberWriter(group: string, decimal: string): NumberWriter | undefined {
  const [mark = -1, point = -1] = [group.codePointAt(0), decimal.codePointAt(0)];
  if (mark > 0x7f || point > 0x7f) return undefined;
  return (bytes, start, end, out) => {
    out.reserve(end - start);
    const to = out.bytes;
    let length = out.length;
    let at = start;
    if (bytes[at] === minus) to[length++] = bytes[at++]!;
    const first = at;
    let groups = 0;
    let digits = 0;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (byte >= digitZero && byte <= digitZero + 9) {
        to[length++] = byte;
        digits += 1;
      } else if (byte === mark && (groups === 0 ? digits > 0 && digits < 4 : digits === 3)) {
        groups += 1;
        digits = 0;
      } else break;
    }
    if (groups > 0 ? digits !== 3 : digits === 0) return false;
    if (bytes[first] === digitZero && at - first > 1) return false;
    if (at < end) {
      if (bytes[at] !== point || at + 1 === end) return false;
      to[length++] = 0x2e;
      for (at += 1; at < end; at++) {
        const byte = bytes[at]!;
        if (byte < digitZero || byte > digitZero + 9) return false;
        to[length++] = byte;
      }
    }
    out.length = length;
    return true;
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

/** Digits beside a phone number: `1. `, `2) `, ` (2)`, `/8`, and `/1235` behind `1234`. */
const beside = [
  /^(?:\(\d\)|\d{1,2}[.)])\s+(?=\(?[+0])/,
  /\s*\(\s*\d{1,2}\s*\)\s*$/,
  /(?<=\d{3})\s*\/\s*\d{1,2}\s*$/,
  /(?<=\b(\d{2,})\d)\s*\/\s*\1\d\s*$/,
];

/**
 * Returns a text with digits and marks of ASCII for full-width ones, and for Arabic digits: the library reads those digits,
 * which the checks beside it would not see, and drops a full-width plus.
 */
const withAsciiDigits = (text: string): string =>
  text.replaceAll(/[\uff08-\uff19\u0660-\u0669\u06f0-\u06f9]/g, (character) => {
    const code = character.charCodeAt(0);
    return code < 0xff00 ? String(code & 15) : String.fromCharCode(code - 0xfee0);
  });

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
  /** Whether a text can be cut into two numbers, such as `030 12345 / 030 99999`, which make one where lengths vary. */
  const holdsTwoNumbers = (text: string): boolean =>
    [...text.matchAll(/[^\d+(](?=\(?[+0])/g)].some(({ index }) =>
      [text.slice(0, index), text.slice(index + 1)].every((part) =>
        parse(part, options)?.isValid(),
      ),
    );
  /** Whether a text has more digits than its number: that of a list before it, such as `1. 030 1234 (2)`, or other last ones. */
  const hasMoreDigits = (text: string): boolean =>
    beside.some((digits) => {
      const number = text.replace(digits, '');
      return number !== text && parse(number, options)?.isValid();
    });
  return {
    read(given) {
      const text = withAsciiDigits(given);
      const number = parse(text, options);
      if (!number?.isValid() || number.ext !== undefined)
        return `is not a phone number of ${country}, nor one with + and a country code`;
      if (holdsTwoNumbers(text)) return 'can be two numbers: write one of them';
      if (hasMoreDigits(text)) return 'can be a number with others beside it: write it alone';
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

/** Returns a type without a format in the format of a locale. Throws EngagectlError E-USAGE for an unknown locale or calendar. */
export function localizedType(type: string, locale: string): string {
  const [tag] = supported(locale);
  if (type === 'date') {
    const format = new Intl.DateTimeFormat(tag, { timeZone: 'UTC' });
    const { calendar } = format.resolvedOptions();
    if (calendar !== 'gregory') throw otherCalendar(locale, calendar);
    const parts = format.formatToParts(0);
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

const otherCalendar = (locale: string, calendar: string): EngagectlError =>
  new EngagectlError('E-USAGE', `--locale ${locale} has dates of the ${calendar} calendar`, {
    why: 'its years would be read as years of the Gregorian calendar',
    fix: 'convert such dates; for Gregorian ones, set a type with a format, such as date(D/M/YYYY)',
  });

const unknownFormat = (type: string, expected: string): EngagectlError =>
  new EngagectlError('E-USAGE', `the type ${type} has an unknown format`, {
    why: `expected ${expected}`,
    fix: 'correct it in --types, or in the mapping file',
  });

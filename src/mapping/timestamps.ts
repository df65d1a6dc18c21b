import { earliest, fittingDate, latest } from './cell-formats.js';
import { dayOf, dayToUtc } from '../contract/dates.js';
import type { TimeZone } from '../time-zone.js';
import type { TextSlice } from '../text/text-slice.js';

/** Maximum digits of epoch seconds; longer numbers are milliseconds or 14-digit times. */
export const epochDigits = 11;

/** Epoch seconds, or the reason why a text is not a time. */
type Timestamp = number | string;

const iso =
  /^([1-9]\d{3})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:(Z)|([-+])(\d\d)(?::?(\d\d))?)?)?$/i;

/**
 * Parses epoch seconds between 1980 and 2100, or ISO 8601: a day (its midnight), or a day and time with minutes, optional
 * seconds, a fraction (ignored) and `Z` or an offset; without an offset it is a time in `zone`.
 */
export function parseTimestamp(cell: TextSlice, zone: TimeZone): Timestamp {
  const text = cell.toString();
  if (/^-?\d+$/.test(text)) return epochOf(text);
  const parts = iso.exec(text) ?? [];
  const [utc, sign] = parts.slice(7, 9);
  const local = secondsOf(parts.slice(1, 7));
  const ahead = timeOf(parts.slice(9, 11));
  if (local === undefined || ahead === undefined) {
    const fitting = fittingDate(text);
    const hint = fitting === undefined ? '' : `; ${fitting} would fit`;
    return `is neither ISO 8601 nor epoch seconds${hint}`;
  }
  if (utc === undefined && sign === undefined) return zone.toEpoch(local);
  return sign === '-' ? local + ahead : local - ahead;
}

/** Parses the 14 digits yyyyMMddHHmmSS of an exported event (specification, Event record). */
export function parseExportedTimestamp(cell: TextSlice, zone: TimeZone): Timestamp {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(cell.toString()) ?? [];
  const local = secondsOf(parts.slice(1));
  return local === undefined ? 'is not a time of 14 digits, yyyyMMddHHmmSS' : zone.toEpoch(local);
}

function epochOf(text: string): Timestamp {
  if (text.length > epochDigits) {
    return `has more than ${epochDigits} digits: expected epoch seconds${text.length === 13 ? '; use date(epochMillis) for milliseconds' : ''}`;
  }
  const seconds = Number(text);
  if (seconds >= earliest && seconds <= latest) return seconds;
  return `is not epoch seconds between 1980 and 2100: ${likelyMeaning(text)}`;
}

/** Returns what a number that is not epoch seconds probably means, as a fix. */
function likelyMeaning(text: string): string {
  const [, year, month, day] = /^((?:19|20)\d\d)(\d\d)(\d\d)$/.exec(text) ?? [];
  if (dayOf(Number(year), Number(month), Number(day)) !== undefined) return 'use date(YYYYMMDD)';
  if (/^(?:19|20)\d\d$/.test(text)) return 'use integer for a year';
  if (/^[1-9]\d{4}$/.test(text)) return 'use date(excel) for day numbers of a spreadsheet';
  return 'write ISO 8601';
}

/** Converts year to seconds to epoch seconds as if in UTC; undefined for a day or time that does not exist. */
function secondsOf([year, month, day, ...time]: readonly (string | undefined)[]) {
  const date = dayOf(Number(year), Number(month), Number(day));
  const seconds = timeOf(time);
  if (date === undefined || seconds === undefined) return undefined;
  return dayToUtc(date) / 1000 + seconds;
}

/** Returns seconds since midnight; missing parts are 0. */
function timeOf([hours = '0', minutes = '0', seconds = '0']: readonly (string | undefined)[]) {
  const [h, m, s] = [Number(hours), Number(minutes), Number(seconds)];
  return h > 23 || m > 59 || s > 59 ? undefined : h * 3600 + m * 60 + s;
}

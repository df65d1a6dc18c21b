import { dayOf, dayToUtc } from '../contract/dates.js';
import type { Zone } from '../zone.js';
import type { CellText } from './cell-text.js';
import { isDigit, skipDigits, token } from './json-tokens.js';

/** Digits of epoch seconds; more are milliseconds or a 14-digit time. */
export const epochDigits = 11;

/** Epoch seconds of a text, or the reason why it has none. */
export type Instant = number | string;

/**
 * Reads epoch seconds or ISO 8601: a day (its midnight) or a day and time with minutes, maybe
 * seconds, a fraction (cut off) and `Z` or an offset; without one it is a time in `zone`.
 */
export function instantOf({ bytes, start, end }: CellText, zone: Zone): Instant {
  const digits = bytes[start] === token.minus ? start + 1 : start;
  if (digits < end && skipDigits(bytes, digits, end) === end) return epochOf(bytes, start, end);
  return isoOf(bytes, start, end, zone) ?? 'is neither ISO 8601 nor epoch seconds';
}

/** Reads the 14 digits yyyyMMddHHmmSS of an exported event (specification, Event record). */
export function exportedInstantOf({ bytes, start, end }: CellText, zone: Zone): Instant {
  const pair = (index: number): number => digitsAt(bytes, start + index, 2);
  const isTime = end - start === 14 && skipDigits(bytes, start, end) === end;
  const day = isTime ? dayOf(digitsAt(bytes, start, 4), pair(4), pair(6)) : undefined;
  if (day === undefined || pair(8) > 23 || pair(10) > 59 || pair(12) > 59) {
    return 'is not a time of 14 digits, yyyyMMddHHmmSS';
  }
  return zone.toEpoch(dayToUtc(day) / 1000 + pair(8) * 3600 + pair(10) * 60 + pair(12));
}

function epochOf(bytes: Buffer, start: number, end: number): Instant {
  const text = bytes.toString('latin1', start, end);
  if (end - start > epochDigits) {
    return `has more than ${epochDigits} characters: epoch seconds are wanted, not milliseconds`;
  }
  if (/^(19|20)\d{6}$/.test(text)) {
    const [year, month, day] = [text.slice(0, 4), text.slice(4, 6), text.slice(6)];
    if (dayOf(Number(year), Number(month), Number(day)) !== undefined) {
      return `may be a day or epoch seconds: write ${year}-${month}-${day}, or 0${text}`;
    }
  }
  return Number(text);
}

/** Bytes behind the end are looked at, but then the end was passed, which is found out last. */
function isoOf(bytes: Buffer, start: number, end: number, zone: Zone): number | undefined {
  const pair = (index: number): number => digitsAt(bytes, start + index, 2);
  if (end < start + 10) return undefined;
  if (bytes[start + 4] !== token.minus || bytes[start + 7] !== token.minus) return undefined;
  const day = dayOf(digitsAt(bytes, start, 4), pair(5), pair(8));
  if (day === undefined) return undefined;
  const midnight = dayToUtc(day) / 1000;
  if (end === start + 10) return zone.toEpoch(midnight);
  const separator = bytes[start + 10]! | 0x20; // T, t or a space
  if (separator !== token.t && separator !== 0x20) return undefined;
  if (bytes[start + 13] !== token.colon) return undefined;
  const [hours, minutes] = [pair(11), pair(14)];
  let [seconds, at] = [0, start + 16];
  if (at < end && bytes[at] === token.colon) {
    [seconds, at] = [pair(17), start + 19];
    if (at < end && (bytes[at] === token.point || bytes[at] === token.comma)) {
      const fraction = skipDigits(bytes, at + 1, end);
      if (fraction === at + 1) return undefined;
      at = fraction;
    }
  }
  if (at > end || !(hours <= 23 && minutes <= 59 && seconds <= 59)) return undefined;
  const local = midnight + hours * 3600 + minutes * 60 + seconds;
  if (at === end) return zone.toEpoch(local);
  const offset = offsetAt(bytes, at, end);
  return offset === undefined ? undefined : local - offset;
}

/** Seconds of `Z`, `±HH`, `±HHMM` or `±HH:MM`, which must reach to the end. */
function offsetAt(bytes: Buffer, at: number, end: number): number | undefined {
  const sign = bytes[at];
  if (end - at === 1) return sign === 0x5a || sign === 0x7a ? 0 : undefined;
  if (sign !== token.plus && sign !== token.minus) return undefined;
  const hasColon = bytes[at + 3] === token.colon && end - at === 6;
  if (!hasColon && end - at !== 5 && end - at !== 3) return undefined;
  const hours = digitsAt(bytes, at + 1, 2);
  const minutes = end - at === 3 ? 0 : digitsAt(bytes, at + (hasColon ? 4 : 3), 2);
  if (!(hours <= 23 && minutes <= 59)) return undefined;
  return (hours * 3600 + minutes * 60) * (sign === token.plus ? 1 : -1);
}

/** The number of `count` digits, or NaN. */
function digitsAt(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index++) {
    const byte = bytes[index]!;
    if (!isDigit(byte)) return Number.NaN;
    value = 10 * value + byte - token.zero;
  }
  return value;
}

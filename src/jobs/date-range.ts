import {
  addDays,
  dayOf,
  daysBetween,
  dayToUtc,
  formatDay,
  utcToDay,
  type Day,
  type DayRange as DateRange,
} from '../contract/dates.js';
import { EngagectlError } from '../errors.js';
import { didYouMean } from '../did-you-mean.js';
import type { Wording } from './job-context.js';
import type { TimeZone } from '../time-zone.js';

export type { DateRange };

/**
 * Parses a range of days in the account's time zone: `YYYY-MM-DD`, `YYYYMMDD`, `today`,
 * `yesterday`, `7d` (seven days before today), or `last-week`, `last-month` and `this-month`, which
 * stand for their first or last day. `now` is in milliseconds. Throws E-DATE.
 */
export function parseDateRange(
  { from, to }: { readonly from: string; readonly to: string },
  when: Today,
  { option }: Wording,
): DateRange {
  const today = todayOf(when);
  const [first, last] = [option('from'), option('to')];
  const range = {
    from: spanOf(from, today)?.from ?? parseDay(first, from, today),
    to: spanOf(to, today)?.to ?? parseDay(last, to, today),
  };
  if (range.from <= range.to) return range;
  if (from === 'this-month' && to === from) throw noDayYet(today);
  throw new EngagectlError(
    'E-DATE',
    `${first} ${formatDay(range.from)} is after ${last} ${formatDay(range.to)}`,
    { why: 'a range runs from the earlier to the later day', fix: `swap ${first} and ${last}` },
  );
}

/** Lists the days of a range in order. */
export function daysOf({ from, to }: DateRange): Day[] {
  return Array.from({ length: daysBetween(from, to) + 1 }, (_, index) => addDays(from, index));
}

/** Lists the days of a range as ranges. */
export const dayRanges = (range: DateRange): DateRange[] =>
  daysOf(range).map((day) => ({ from: day, to: day }));

/** Resolves a keyword to days. Weeks begin on Monday, and `this-month` ends yesterday. */
function spanOf(word: string, today: Day): DateRange | undefined {
  const thisMonth = firstOfMonth(today);
  const lastOfMonth = addDays(thisMonth, -1);
  const thisWeek = addDays(today, -weekdayOf(today));
  switch (word) {
    case 'last-week':
      return { from: addDays(thisWeek, -7), to: addDays(thisWeek, -1) };
    case 'last-month':
      return { from: firstOfMonth(lastOfMonth), to: lastOfMonth };
    case 'this-month':
      return { from: thisMonth, to: addDays(today, -1) };
    default:
      return undefined;
  }
}

const firstOfMonth = (day: Day): Day => day - (day % 100) + 1;

/** Returns the day of the week; 0 is Monday. */
const weekdayOf = (day: Day): number => (new Date(dayToUtc(day)).getUTCDay() + 6) % 7;

function parseDay(name: string, text: string, today: Day): Day {
  if (text === 'today') return today;
  if (text === 'yesterday') return addDays(today, -1);
  const daysAgo = /^(\d{1,5})d$/.exec(text)?.[1];
  if (daysAgo !== undefined) return addDays(today, -Number(daysAgo));
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? /^(\d{4})(\d{2})(\d{2})$/.exec(text);
  if (parts === null) throw badDate(`${name} "${text}" is not a date${didYouMean(text, words)}`);
  const [, year, month, day] = parts.map(Number);
  const found = dayOf(year ?? 0, month ?? 0, day ?? 0);
  // Date.UTC would read a year below 100 as one of the 20th century.
  if (found === undefined || found < 1000_01_01) throw badDate(`${name} ${text} does not exist`);
  return found;
}

const words = ['today', 'yesterday', 'last-week', 'last-month', 'this-month'];

const badDate = (message: string): EngagectlError =>
  new EngagectlError('E-DATE', message, {
    why: 'expected a calendar day or a keyword',
    fix: 'use YYYY-MM-DD, YYYYMMDD, today, yesterday, 7d (seven days ago), last-week, last-month or this-month',
  });

const noDayYet = (today: Day): EngagectlError =>
  new EngagectlError('E-DATE', 'this-month has no complete day yet', {
    why: `this-month ends yesterday, and today is ${formatDay(today)}`,
    fix: 'start the range at last-month',
  });

export interface Today {
  readonly zone: TimeZone;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns the current day in the account's time zone. */
export const todayOf = ({ zone, now }: Today): Day =>
  utcToDay(now + zone.offsetAt(now / 1000) * 1000);

/**
 * Replaces `{date}` in the name of an output with the day on which the run starts. Must run before
 * the name is used to resume, lock or check the file.
 */
export const expandDate = (output: string | undefined, today: Today): string | undefined =>
  output?.replaceAll('{date}', formatDay(todayOf(today)));

/** Replaces the output in a command line by its dated name, so that it can be resumed later. */
export function expandDateInArgv(
  argv: readonly string[],
  output: string | undefined,
  dated: string | undefined,
): readonly string[] {
  if (output === undefined || dated === undefined || output === dated) return argv;
  return argv.map((word) =>
    word.endsWith(output) ? word.slice(0, word.length - output.length) + dated : word,
  );
}

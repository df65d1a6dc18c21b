/** A calendar day as the number YYYYMMDD, the format of `from` and `to` of endpoints 3 and 6. */
export type Day = number;

const dayMilliseconds = 86_400_000;

/** Returns the day; undefined if the date does not exist. */
export function dayOf(year: number, month: number, day: number): Day | undefined {
  const date = new Date(Date.UTC(year, month - 1, day));
  const exists =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return exists ? year * 10_000 + month * 100 + day : undefined;
}

/** Returns midnight UTC of the day, in milliseconds since 1970. */
export function dayToUtc(day: Day): number {
  return Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100);
}

/** A range of days, both inclusive. */
export interface DayRange {
  readonly from: Day;
  readonly to: Day;
}

/** Returns the number of days from one day to a later one. */
export const daysBetween = (from: Day, to: Day): number =>
  (dayToUtc(to) - dayToUtc(from)) / dayMilliseconds;

/** Splits a range into at most `parts` contiguous ranges of nearly equal length. */
export function splitDays({ from, to }: DayRange, parts: number): DayRange[] {
  const days = daysBetween(from, to) + 1;
  const count = Math.min(parts, days);
  const startOf = (part: number) => addDays(from, Math.floor((part * days) / count));
  return Array.from({ length: count }, (_, part) => ({
    from: startOf(part),
    to: addDays(startOf(part + 1), -1),
  }));
}

export function addDays(day: Day, days: number): Day {
  return utcToDay(dayToUtc(day) + days * dayMilliseconds);
}

/** Returns the UTC day of an instant in milliseconds since 1970. */
export function utcToDay(milliseconds: number): Day {
  const date = new Date(milliseconds);
  return date.getUTCFullYear() * 10_000 + (date.getUTCMonth() + 1) * 100 + date.getUTCDate();
}

/** Formats a day as `YYYY-MM-DD`. */
export function formatDay(day: Day): string {
  const text = String(day);
  return `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6, 8)}`;
}

/** Describes a bulk read, such as `Charged of 2026-01-01 to 2026-01-31`. */
export function spanOf({ eventName, from, to }: { eventName: string; from: Day; to: Day }) {
  const [first, last] = [formatDay(from), formatDay(to)];
  return first === last ? `${eventName} of ${first}` : `${eventName} of ${first} to ${last}`;
}

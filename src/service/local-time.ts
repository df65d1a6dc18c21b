import { addDays, dayToUtc, utcToDay, type Day } from '../contract/dates.js';
import type { Zone } from '../contract/zones.js';

/** Epoch seconds of the first instant of the day, and of the day after `to`, in the zone. */
export function rangeOf(zone: Zone, from: Day, to: Day): { start: number; stop: number } {
  return { start: midnight(zone, from), stop: midnight(zone, addDays(to, 1)) };
}

const midnight = (zone: Zone, day: Day): number => zone.toEpoch(dayToUtc(day) / 1000);

/** The instant's local time as the number of 14 digits yyyyMMddHHmmSS. */
export function localDigits(zone: Zone, epochSeconds: number): number {
  const local = epochSeconds + zone.offsetAt(epochSeconds);
  const second = ((local % 86_400) + 86_400) % 86_400;
  const time =
    Math.floor(second / 3600) * 10_000 + (Math.floor(second / 60) % 60) * 100 + (second % 60);
  return utcToDay(local * 1000) * 1_000_000 + time;
}

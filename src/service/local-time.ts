import type { Day } from '../contract/dates.js';
import { addDays, dayToUtc } from '../contract/dates.js';
import type { Zone } from '../contract/zones.js';

/** Epoch seconds of the first instant of the day, and of the day after `to`, in the zone. */
export function rangeOf(zone: Zone, from: Day, to: Day): { start: number; stop: number } {
  return { start: midnight(zone, from), stop: midnight(zone, addDays(to, 1)) };
}

const midnight = (zone: Zone, day: Day): number => zone.toEpoch(dayToUtc(day) / 1000);

/** The instant's local time as the 14 digits yyyyMMddHHmmSS. */
export function localDigits(zone: Zone, epochSeconds: number): string {
  const local = new Date((epochSeconds + zone.offsetAt(epochSeconds)) * 1000).toISOString();
  return local.slice(0, 19).replaceAll(/[-T:]/g, '');
}

import { membersOf, spaceEnd } from '../text/raw-json.js';
import type { Zone } from '../zone.js';
import type { RecordPage } from './output.js';

const closeBrace = 0x7d;

/**
 * Adds `"event_name"` and `"ts_utc"` as the last members of each record: event records do not
 * name their event, and their `ts` is the 14-digit local time of the account's zone. `ts_utc` is
 * null where there is no such `ts`.
 */
export function eventNamer(zone: Zone): (page: RecordPage, eventName: string) => RecordPage {
  return (page, eventName) => {
    const name = `"event_name":${JSON.stringify(eventName)}`;
    const parts: Buffer[] = [];
    const bounds = new Int32Array(2 * page.count);
    let length = 0;
    for (let i = 0; i < page.count; i += 1) {
      const record = page.bytes.subarray(page.bounds[2 * i], page.bounds[2 * i + 1]);
      const comma = record[spaceEnd(record, 1)] === closeBrace ? '' : ',';
      const added = Buffer.from(`${comma}${name},"ts_utc":${tsUtc(record, zone)}}\n`);
      parts.push(record.subarray(0, -1), added);
      bounds[2 * i] = length;
      length += record.length + added.length - 1;
      bounds[2 * i + 1] = length - 1;
    }
    return { bytes: Buffer.concat(parts, length), bounds, count: page.count };
  };
}

/** The JSON text of the record's time in UTC. */
function tsUtc(record: Buffer, zone: Zone): string {
  const digits = /^"?(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)"?$/.exec(tsText(record));
  if (digits === null) return 'null';
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = digits
    .slice(1)
    .map(Number);
  const local = Date.UTC(year, month - 1, day, hour, minute, second) / 1000;
  return JSON.stringify(new Date(zone.toEpoch(local) * 1000).toISOString().replace('.000Z', 'Z'));
}

/** As it is written; empty when there is none. */
function tsText(record: Buffer): string {
  for (const { key, value } of membersOf(record)) {
    if (key.length === 4 && key.toString('latin1') === '"ts"') return value.toString('latin1');
  }
  return '';
}

import { createHash } from 'node:crypto';
import { utcToDay } from '../../contract/dates.js';
import { joinMembers, membersOf } from '../raw-json.js';
import type { Zone } from '../../time-zone.js';

/** Stands on both sides of a gap; JSON holds no such character. */
const gapMark = '\x1f';
/** Stands before epoch seconds of 13 digits, so that the 14 of a local time take its place exactly. */
const timeMark = 0x1e;
const timeDigits = 14;

/** What a record shows and SQL cannot say, besides times, by the letter that marks it. */
const fillers = {
  /** objectId → members of the device; the other one has the app fields as well (endpoints 3 and 6). */
  d: (objectId: string) => deviceMembers(objectId, false),
  a: (objectId: string) => deviceMembers(objectId, true),
  /** Members → the same with keys in lower case without spaces. */
  k: foldKeys,
} as const;

/** SQL of a gap with this value; NULL for NULL. */
export const gap = (kind: keyof typeof fillers, value: string): string =>
  `'${gapMark}${kind}' || ${value} || '${gapMark}'`;

/** Format of a gap that is given epoch seconds and becomes their local time. */
export const timeGap = `${String.fromCharCode(timeMark)}%0${timeDigits - 1}d`;

/** Records from the store with their gaps filled. Changes `bytes`. */
export function fillGaps(bytes: Buffer, zone: Zone): Buffer {
  for (let at = bytes.indexOf(timeMark); at >= 0; at = bytes.indexOf(timeMark, at + timeDigits)) {
    const seconds = Number(bytes.toString('latin1', at + 1, at + timeDigits));
    bytes.write(localTime(zone, seconds), at, 'latin1');
  }
  return bytes.includes(gapMark) ? fillOthers(bytes) : bytes;
}

function fillOthers(bytes: Buffer): Buffer {
  const pieces = bytes.toString().split(gapMark);
  for (let at = 1; at < pieces.length; at += 2) {
    const piece = pieces[at] ?? '';
    pieces[at] = fillers[piece[0] as keyof typeof fillers](piece.slice(1));
  }
  return Buffer.from(pieces.join(''));
}

/** The instant's local time as yyyyMMddHHmmSS. */
function localTime(zone: Zone, epochSeconds: number): string {
  const local = epochSeconds + zone.offsetAt(epochSeconds);
  const second = ((local % 86_400) + 86_400) % 86_400;
  const time =
    Math.floor(second / 3600) * 10_000 + (Math.floor(second / 60) % 60) * 100 + (second % 60);
  return String(utcToDay(local * 1000) * 1_000_000 + time);
}

const devices = [
  { platform: 'Android', os_version: '14', app_version: '5.2.1', make: 'Fairphone', model: '5' },
  { platform: 'Android', os_version: '12', app_version: '5.0.0', make: 'Nokia', model: 'G22' },
  { platform: 'iOS', os_version: '17.4', app_version: '5.2.0', make: 'Apple', model: 'iPhone15,2' },
  { platform: 'Web', os_version: '10', app_version: '124', make: 'Firefox', model: 'Desktop' },
] as const;

/**
 * No upload tells what an objectId's device is, and no app reports it here: the service makes one
 * up that is always the same for an objectId.
 */
function deviceMembers(objectId: string, hasApp: boolean): string {
  const index = createHash('sha256').update(objectId).digest().readUInt32BE() % devices.length;
  const { platform, ...app } = devices[index] ?? devices[0];
  return JSON.stringify({ objectId, platform, ...(hasApp ? app : {}) }).slice(1, -1);
}

function foldKeys(members: string): string {
  const folded = [...membersOf(`{${members}}`)].map(
    ([key, value]) => [key.toLowerCase().replaceAll(' ', ''), value] as const,
  );
  return joinMembers(folded);
}

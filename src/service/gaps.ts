import type { Zone } from '../contract/zones.js';
import { deviceFields } from './devices.js';
import { localDigits } from './local-time.js';
import { joinMembers, membersOf } from './raw-json.js';

/** What a record shows and SQL cannot say, besides times. The first letter marks the kind. */
export type Gap =
  /** objectId → members of the device. */
  | 'device'
  /** Members → the same with keys in lower case without spaces. */
  | 'keys';

/** Stands on both sides of a gap; JSON holds no such character. */
const gapMark = 0x1f;
/** Stands before epoch seconds of 13 digits, so that the 14 of a local time take its place exactly. */
const timeMark = 0x1e;
const timeDigits = 14;

/** SQL of a gap with this value; NULL for NULL. */
export const gap = (kind: Gap, value: string): string =>
  `'${String.fromCharCode(gapMark)}${kind[0]}' || ${value} || '${String.fromCharCode(gapMark)}'`;

/** Format of a gap that is given epoch seconds and becomes their local time. */
export const timeGap = `${String.fromCharCode(timeMark)}%0${timeDigits - 1}d`;

/** Records from the store with their gaps filled. `app` adds the app fields of devices. Changes `bytes`. */
export function fillGaps(bytes: Buffer, zone: Zone, app: boolean): Buffer {
  fillTimes(bytes, zone);
  return bytes.includes(gapMark) ? fillOthers(bytes, app) : bytes;
}

function fillTimes(bytes: Buffer, zone: Zone): void {
  let at = bytes.indexOf(timeMark);
  while (at >= 0) {
    const end = at + timeDigits;
    const seconds = Number(bytes.toString('latin1', at + 1, end));
    bytes.write(String(localDigits(zone, seconds)), at, 'latin1');
    at = bytes.indexOf(timeMark, end);
  }
}

function fillOthers(bytes: Buffer, app: boolean): Buffer {
  const pieces = bytes.toString().split(String.fromCharCode(gapMark));
  for (let at = 1; at < pieces.length; at += 2) {
    const piece = pieces[at] ?? '';
    pieces[at] = filled(piece[0] ?? '', piece.slice(1), app);
  }
  return Buffer.from(pieces.join(''));
}

const filled = (kind: string, value: string, app: boolean): string =>
  kind === 'd' ? JSON.stringify(deviceFields(value, app)).slice(1, -1) : foldKeys(value);

const foldKeys = (members: string): string =>
  joinMembers(
    [...membersOf(`{${members}}`)].map(([key, value]) => [
      key.toLowerCase().replaceAll(' ', ''),
      value,
    ]),
  );

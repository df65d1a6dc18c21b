import type { Zone } from '../contract/zones.js';
import { deviceFields } from './devices.js';
import { localDigits } from './local-time.js';
import { joinMembers, membersOf } from './raw-json.js';

/** What a record shows and SQL cannot say. The first letter marks the kind. */
export type Gap =
  /** Epoch seconds → local time. */
  | 'time'
  /** objectId → members of the device. */
  | 'device'
  /** Members → the same with keys in lower case without spaces. */
  | 'keys';

/** Stands on both sides of a gap; JSON holds no such character. */
const mark = '\u001f';

/** SQL of a gap with this value; NULL for NULL. */
export const gap = (kind: Gap, value: string): string =>
  `'${mark}${kind[0]}' || ${value} || '${mark}'`;

/** Records from the store with their gaps filled. `app` adds the app fields of devices. */
export function fillGaps(text: string, zone: Zone, app: boolean): string {
  const pieces = text.split(mark);
  for (let at = 1; at < pieces.length; at += 2) {
    const piece = pieces[at] ?? '';
    pieces[at] = filled(piece[0] ?? '', piece.slice(1), zone, app);
  }
  return pieces.join('');
}

function filled(kind: string, value: string, zone: Zone, app: boolean): string {
  if (kind === 't') return String(localDigits(zone, Number(value)));
  if (kind === 'd') return JSON.stringify(deviceFields(value, app)).slice(1, -1);
  return foldKeys(value);
}

const foldKeys = (members: string): string =>
  joinMembers(
    [...membersOf(`{${members}}`)].map(([key, value]) => [
      key.toLowerCase().replaceAll(' ', ''),
      value,
    ]),
  );

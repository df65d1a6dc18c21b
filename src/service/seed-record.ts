import { dayOf, dayToUtc } from '../contract/dates.js';
import {
  elementsOf,
  isArray,
  isObject,
  joinMembers,
  membersOf,
  objectText,
  stringOf,
  type Members,
} from './raw-json.js';
import type { Zone } from '../time-zone.js';

/** An upload record of what stands in a seed: itself, or a profile or event as the reads return it. */
export function uploadRecordOf(text: string, zone: Zone): string {
  const record = isObject(text) ? membersOf(text) : undefined;
  if (!record || record.has('type')) return text;
  if (record.has('event_props')) return objectText(eventMembers(record, zone));
  if (record.has('profileData') || record.has('all_identities'))
    return objectText(profileMembers(record));
  return text;
}

function profileMembers(profile: Members): [string, string][] {
  const data = new Map(membersOf(profile.get('profileData') ?? '{}'));
  for (const [from, to] of [
    ['email', 'Email'],
    ['name', 'Name'],
    ['phone', 'Phone'],
  ] as const) {
    const value = profile.get(from);
    if (value !== undefined && !data.has(to)) data.set(to, value);
  }
  const fields = `{${joinMembers(data)}}`;
  return [['type', '"profile"'], ...keyMembers(profile), ['profileData', fields]];
}

function eventMembers(event: Members, zone: Zone): [string, string][] {
  const user = event.get('profile');
  const ts = localSeconds(event.get('ts') ?? '', zone);
  return [
    ['type', '"event"'],
    ...keyMembers(isObject(user) ? membersOf(user) : new Map()),
    ['evtName', event.get('event_name') ?? '""'],
    ['evtData', event.get('event_props') ?? '{}'],
    ...(ts === undefined ? [] : [['ts', String(ts)] as [string, string]]),
  ];
}

/** The identity, else the first device. */
function keyMembers(user: Members): [string, string][] {
  const identity = user.get('identity');
  if (identity !== undefined) return [['identity', identity]];
  const devices = user.get('platformInfo');
  const [device = '{}'] = isArray(devices) ? elementsOf(devices) : [];
  const objectId = user.get('objectId') ?? membersOf(device).get('objectId');
  return stringOf(objectId) === undefined ? [] : [['objectId', objectId ?? '']];
}

/** Epoch seconds of a local time as yyyyMMddHHmmSS; undefined when it is none. */
function localSeconds(text: string, zone: Zone): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text)?.map(Number) ?? [];
  const date = dayOf(year ?? 0, month ?? 0, day ?? 0);
  if (date === undefined) return undefined;
  const time = (hour ?? 0) * 3600 + (minute ?? 0) * 60 + (second ?? 0);
  return zone.toEpoch(dayToUtc(date) / 1000 + time);
}

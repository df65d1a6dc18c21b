import { dayOf, dayToUtc } from '../contract/dates.js';
import { channels } from '../contract/record-fields.js';
import {
  integerOf,
  isArray,
  isObject,
  joinMembers,
  parseElements,
  parseMembers,
  stringOf,
  type Members,
} from './raw-json.js';
import {
  parseUploadRecord,
  saveUpload,
  uploadMembers,
  type Stores,
} from './rest/upload-user-profiles.js';
import {
  addressOf,
  setBlocked,
  updateProfile,
  type AddressFlag,
  type Profile,
  type ProfileKey,
} from './store/profiles.js';
import { restoreEvent, restoreSummary, type EventSummary } from './store/events.js';
import type { TimeZone } from '../time-zone.js';

/** Thrown for a record of a seed that cannot be restored exactly. The message names the member. */
export class RestoreError extends Error {}

/**
 * Stores a record of a seed: an upload record, which may also raise standard events and set address-level flags,
 * or a profile or event as the reads return it, which is restored field by field. Throws RestoreError or
 * RecordError for anything that would not be kept.
 */
export function restoreRecord(service: Stores, text: string): void {
  const record = isObject(text) ? parseMembers(text) : new Map<string, string>();
  const isProfile = ['profileData', 'all_identities', 'platformInfo'].some((name) =>
    record.has(name),
  );
  if (record.has('type')) restoreUpload(service, text, record);
  else if (record.has('event_props')) restoreEventRecord(service, record);
  else if (isProfile) restoreProfileRecord(service, record);
  else parseUploadRecord(text);
}

function restoreUpload(service: Stores, text: string, record: Members): void {
  const upload = parseUploadRecord(text);
  rejectUnknown(record, uploadMembers[upload.type]);
  if (upload.type === 'event') return saveUpload(service, upload);
  const flags = new Map([...upload.data].filter(([key]) => flagsByName.has(key.toLowerCase())));
  for (const [key, value] of flags)
    if (!isBoolean(value)) throw new RestoreError(`${key}: must be true or false`);
  saveUpload(service, upload);
  if (flags.size === 0) return;
  updateProfile(service.store, upload.keys, (profile) => restoreFields(service, profile, flags));
}

/** A record of endpoints 4 and 5. */
function restoreProfileRecord(service: Stores, record: Members): void {
  rejectUnknown(record, [
    'identity',
    'email',
    'name',
    'phone',
    'profileData',
    'all_identities',
    'events',
    'platformInfo',
  ]);
  const platforms = elementsOf(record, 'platformInfo');
  for (const platform of platforms ?? [])
    if (!isObject(platform)) throw new RestoreError('platformInfo: an entry is not an object');
  const identities = (elementsOf(record, 'all_identities') ?? []).map((text) =>
    keyOf('identity', 'all_identities', text),
  );
  const devices = (platforms ?? []).flatMap((platform) =>
    optionalKey('objectId', parseMembers(platform).get('objectId')),
  );
  const keys = [...optionalKey('identity', record.get('identity')), ...identities, ...devices];
  restoreUser(service, keys, record, (profile) => ({
    ...profile,
    name: record.get('name') ?? profile.name,
    phone: textOf(record, 'phone') ?? profile.phone,
    platforms: platforms ? `[${platforms.join(',')}]` : profile.platforms,
  }));
}

/** Members of the user in an event record. All others describe the device. */
const userMembers = new Set(['identity', 'email', 'profileData', 'id']);

/** A record of endpoint 7 with its `event_name`. */
function restoreEventRecord(service: Stores, record: Members): void {
  rejectUnknown(record, [
    'profile',
    'events',
    'ts',
    'event_props',
    'session_props',
    'event_name',
    'ts_utc',
  ]);
  const user = membersOf(record, 'profile');
  const name = textOf(record, 'event_name');
  if (!user) throw new RestoreError('profile: missing');
  if (!name)
    throw new RestoreError(
      'event_name: missing; event records do not contain the name of their event: export them with --with-event-name',
    );
  if (!isObject(record.get('event_props'))) throw new RestoreError('event_props: is not an object');
  const ts = epochSeconds(record, service.zone);
  const device = new Map([...user].filter(([key]) => !userMembers.has(key)));
  const keys = ['identity', 'objectId'] as const;
  const id = restoreUser(
    service,
    keys.flatMap((kind) => optionalKey(kind, user.get(kind))),
    new Map([
      ...user,
      ...(record.has('events') ? [['events', record.get('events')!] as const] : []),
    ]),
    (profile) => withDevice({ ...profile, public_id: publicId(user) ?? profile.public_id }, device),
  );
  membersOf(record, 'session_props');
  restoreEvent(service.store, {
    name,
    profile: id,
    ts,
    props: record.get('event_props') ?? '{}',
    device: joinMembers(device),
    session: record.get('session_props'),
  });
}

/** Restores what profiles and events have of a user. Returns the id of the profile. */
function restoreUser(
  service: Stores,
  keys: readonly ProfileKey[],
  user: Members,
  change: (profile: Profile) => Profile,
): number {
  if (keys.length === 0)
    throw new RestoreError('identity: missing, and no objectId identifies the user either');
  const data = membersOf(user, 'profileData') ?? new Map<string, string>();
  const email = textOf(user, 'email');
  const summaries = [...(membersOf(user, 'events') ?? [])].map(summaryOf);
  const distinct = [...new Map(keys.map((key) => [`${key.kind} ${key.value}`, key])).values()];
  const { id } = updateProfile(service.store, distinct, (profile) =>
    unlessEqual(
      restoreFields(service, change({ ...profile, email: email ?? profile.email }), data),
      profile,
    ),
  );
  for (const [name, summary] of summaries) restoreSummary(service.store, id, name, summary);
  return id;
}

/** Avoids a write: each event of an export repeats its user. */
const unlessEqual = (after: Profile, before: Profile): Profile =>
  before.id !== null && JSON.stringify(after) === JSON.stringify(before) ? before : after;

/** Returns the profile with these fields of profileData; stores the flags of its addresses. */
function restoreFields({ store }: Stores, profile: Profile, data: Members): Profile {
  const fields = parseMembers(`{${profile.data}}`);
  let { email, phone, name } = profile;
  for (const [key, value] of data) {
    if (key === 'Email') email ??= stringOf(value) ?? null;
    else if (key === 'Phone') phone ??= stringOf(value) ?? null;
    else if (key === 'Name') name ??= value;
    const isKept =
      (key === 'Email' && stringOf(value) === email) ||
      (key === 'Phone' && stringOf(value) === phone) ||
      (key === 'Name' && value === name);
    if (!isKept && !flagsByName.has(key.toLowerCase())) fields.set(key, value);
  }
  const addressFor = (type: Flag['type']) =>
    type && addressOf(type, (type === 'email' ? email : phone) ?? undefined);
  // An earlier record had no address, as events have no phone number. From now on the flags of the address count.
  for (const flag of flagsByName.values()) if (addressFor(flag.type)) fields.delete(flag.name);
  for (const [key, value] of data) {
    const flag = flagsByName.get(key.toLowerCase());
    if (!flag) continue;
    const { type } = flag;
    const address = addressFor(type);
    if (!type || !address) fields.set(flag.name, value);
    else if (!isBoolean(value)) throw new RestoreError(`${key}: must be true or false`);
    // Users may share the address: a block of one of them counts.
    else if (value === 'true') setBlocked(store, { type, address, isBlocked: true });
  }
  return { ...profile, email, phone, name, data: joinMembers(fields) };
}

interface Flag {
  /** Stored spelling. */
  readonly name: string;
  /** Type of the address of an address-level flag. */
  readonly type?: AddressFlag['type'];
}

/** Flags by name in lower case: `keyStyle: 'folded'` returns them so. */
const flagsByName: ReadonlyMap<string, Flag> = new Map<string, Flag>(
  (['sms', 'whatsapp', 'email'] as const).flatMap((channel) => {
    const { address, user } = channels[channel];
    const type = channel === 'sms' ? 'phone' : channel;
    return [
      [address[0].toLowerCase(), { name: address[0], type }] as const,
      [user[0].toLowerCase(), { name: user[0] }] as const,
    ];
  }),
);

/** Adds the device of an event to the platforms of the user unless they contain it. */
function withDevice(profile: Profile, device: Members): Profile {
  const objectId = stringOf(device.get('objectId'));
  const platforms = parseElements(profile.platforms ?? '[]');
  const isKnown = platforms.some((one) => stringOf(parseMembers(one).get('objectId')) === objectId);
  if (objectId === undefined || isKnown) return profile;
  return { ...profile, platforms: `[${[...platforms, `{${joinMembers(device)}}`].join(',')}]` };
}

const isBoolean = (text: string): boolean => text === 'true' || text === 'false';

function rejectUnknown(record: Members, known: readonly string[]): void {
  for (const name of record.keys())
    if (!known.includes(name))
      throw new RestoreError(`${name}: unknown member, which cannot be kept`);
}

function membersOf(record: Members, name: string): Members | undefined {
  const text = record.get(name);
  if (text === undefined) return undefined;
  if (!isObject(text)) throw new RestoreError(`${name}: is not an object`);
  return parseMembers(text);
}

function elementsOf(record: Members, name: string): string[] | undefined {
  const text = record.get(name);
  if (text === undefined) return undefined;
  if (!isArray(text)) throw new RestoreError(`${name}: is not an array`);
  return parseElements(text);
}

function textOf(record: Members, name: string): string | undefined {
  const text = record.get(name);
  if (text === undefined) return undefined;
  const decoded = stringOf(text);
  if (decoded === undefined) throw new RestoreError(`${name}: is not a string`);
  return decoded;
}

const optionalKey = (kind: 'identity' | 'objectId', text: string | undefined): ProfileKey[] =>
  text === undefined ? [] : [keyOf(kind, kind, text)];

function keyOf(kind: ProfileKey['kind'], name: string, text: string): ProfileKey {
  const value = stringOf(text);
  if (value && value.isWellFormed()) return { kind, value };
  throw new RestoreError(`${name}: ${text} is not an identifier`);
}

function publicId(user: Members): number | undefined {
  const text = user.get('id');
  if (text === undefined) return undefined;
  const id = integerOf(text);
  if (id !== undefined && id >= 0) return id;
  throw new RestoreError(`id: ${text} is not a whole number`);
}

function summaryOf([name, text]: readonly [string, string]): [string, EventSummary] {
  const members = isObject(text) ? parseMembers(text) : new Map<string, string>();
  const [count, first, last] = ['count', 'first_seen', 'last_seen'].map((member) => {
    const value = integerOf(members.get(member));
    if (value !== undefined) return value;
    throw new RestoreError(`events: ${member} of "${name}" is not a whole number`);
  }) as [number, number, number];
  rejectUnknown(members, ['count', 'first_seen', 'last_seen']);
  return [name, { count, first, last }];
}

/** Returns the time of an event: `ts`, local time, and `ts_utc`, which resolves ambiguous hours, must agree. */
function epochSeconds(record: Members, zone: TimeZone): number {
  const ts = integerOf(record.get('ts'));
  const local = localSeconds(String(ts));
  if (local === undefined)
    throw new RestoreError(`ts: ${record.get('ts') ?? 'missing'} is not a time, yyyyMMddHHmmSS`);
  const utc = Date.parse(stringOf(record.get('ts_utc')) ?? '') / 1000;
  const seconds = Number.isNaN(utc) ? zone.toEpoch(local) : utc;
  if (seconds + zone.offsetAt(seconds) === local) return seconds;
  throw new RestoreError(
    `ts: ${ts} ${Number.isNaN(utc) ? 'does not exist' : `is not ${record.get('ts_utc')}`} in the time zone ${zone.name} of the service`,
  );
}

/** Converts a time as yyyyMMddHHmmSS to the epoch seconds of the same time in UTC; undefined if it is not one. */
function localSeconds(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)([01]\d|2[0-3])([0-5]\d)([0-5]\d)$/.exec(text)?.map(Number) ?? [];
  const date = dayOf(year ?? 0, month ?? 0, day ?? 0);
  if (date === undefined) return undefined;
  return dayToUtc(date) / 1000 + (hour ?? 0) * 3600 + (minute ?? 0) * 60 + (second ?? 0);
}

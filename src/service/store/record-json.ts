import { channels } from '../../contract/record-fields.js';
import { createHash } from 'node:crypto';
import { utcToDay } from '../../contract/dates.js';
import { joinMembers, parseElements, parseMembers, stringOf } from '../raw-json.js';
import type { ServiceContext } from '../service.js';
import type { Variants } from '../settings.js';
import type { TimeZone } from '../../time-zone.js';

/** Requested parts of a profile (endpoints 3 and 6), as 1 or 0. */
export interface ProfileParts {
  /** OS and app version, make and model of devices (`app=true`). */
  readonly app: number;
  /** Event summaries. */
  readonly summaries: number;
  /** profileData. */
  readonly properties: number;
}

/**
 * SQL expressions over `profiles` as p and `events` as e that return the records of the reads as JSON text.
 * Concatenating in SQL halves the time of an export. Placeholders in the text are filled in below. Optional
 * members end with a comma, or are NULL, which `format` omits.
 */

/** Returns the records of all rows joined by commas, as bytes to avoid decoding and encoding the text. */
export function readRecords(
  { store, zone }: ServiceContext,
  record: string,
  from: string,
  values: readonly (number | string)[],
): Buffer {
  const joined = `CAST(coalesce(group_concat(${record}), '') AS BLOB)`;
  return fillPlaceholders(store.bytes(`SELECT ${joined} FROM ${from}`, values), zone);
}

/** Spelling of the keys of profileData. */
type KeyStyle = Pick<Variants, 'keyStyle' | 'flags'>;

/** SQL of the user profile object of endpoints 4 and 5. */
export const profileRecordSql = (parts: ProfileParts, style: KeyStyle): string =>
  `format('{%s%s%s%s%s"all_identities":%s,%s"platformInfo":[%s]}',
    ${identity}, ${email}, ${name}, ${phone}, ${profileData(parts, style)},
    p.identities, ${summaries(parts)}, ${allDevices(parts)})`;

/** SQL of the event record of endpoint 7; its profile has the current values. */
export const eventRecordSql = (parts: ProfileParts, style: KeyStyle): string =>
  `format('{"profile":{%s%s%s%s"id":%d},%s"ts":${timePlaceholder},"event_props":%s,"session_props":%s}',
    ${eventDevice(parts)}, ${email}, ${profileData(parts, style)}, ${identity},
    coalesce(p.public_id, p.id), ${summaries(parts)}, e.ts, e.props, coalesce(e.session, '${unsetSession}'))`;

/** Uploads have no session, so its source is unset (specification, Event record). */
const unsetSession = '{"session_source":"Unavailable"}';

/** Missing for users who never logged in; the first identity of a merged profile. */
const identity = `'"identity":' || (p.identities -> 0) || ','`;
const name = `'"name":' || p.name || ','`;
const textMember = (column: 'email' | 'phone'): string =>
  `iif(p.${column} IS NULL, NULL, '"${column}":' || json_quote(p.${column}) || ',')`;
const email = textMember('email');
const phone = textMember('phone');

const device = ({ app }: ProfileParts, objectId: string): string =>
  placeholder(app ? 'a' : 'd', objectId);
const firstDevice = (parts: ProfileParts): string =>
  `${device(parts, '(p.object_ids ->> 0)')} || ','`;
const eventDevice = (parts: ProfileParts): string =>
  `iif(e.device IS NULL, ${firstDevice(parts)}, ${placeholder(parts.app ? 'E' : 'e', 'e.device')})`;
const allDevices = (parts: ProfileParts): string =>
  `iif(p.platforms IS NULL,
    (SELECT group_concat('{' || ${device(parts, 'o.value')} || '}') FROM json_each(p.object_ids) o),
    ${placeholder(parts.app ? 'P' : 'p', `'[' || p.object_ids || ',' || p.platforms || ']'`)})`;

/** SQL of an address-level flag; true means blocked. */
const flag = (name: string, type: string, column: 'email' | 'phone'): string =>
  `',"${name}":' || iif(EXISTS (SELECT 1 FROM blocked
    WHERE type = '${type}' AND address = p.${column}), 'true', 'false')`;

const { sms, whatsapp } = channels;
/** SQL of the flags of the profile's addresses, each after a comma. */
const addressFlags = ({ flags }: KeyStyle): string => `iif(p.phone IS NULL, '',
    ${flag(sms.address[0], 'phone', 'phone')} || ${flag(whatsapp.address[flags === 'specification' ? 1 : 0], 'whatsapp', 'phone')})
  || iif(p.email IS NULL, '', ${flag(channels.email.address[0], 'email', 'email')})`;

function profileData({ properties }: ProfileParts, style: KeyStyle): string {
  if (!properties) return 'NULL';
  const members = `ltrim(p.data || ${addressFlags(style)}, ',')`;
  const isSpecified = style.flags === 'specification';
  const kind = style.keyStyle === 'folded' ? 'k' : isSpecified ? 'f' : undefined;
  return `'"profileData":{' || ${kind ? placeholder(kind, members) : members} || '},'`;
}

const summaries = (parts: ProfileParts): string =>
  parts.summaries ? `'"events":{' || coalesce(${summaryMembers}, '') || '},'` : 'NULL';

const summaryMembers = `(SELECT group_concat(format('%s:{"count":%d,"first_seen":%d,"last_seen":%d}',
    json_quote(n.name), s.count, s.first_seen, s.last_seen))
  FROM summaries s JOIN event_names n ON n.id = s.event WHERE s.profile = p.id)`;

/** Delimits a placeholder; JSON text cannot contain it unescaped. */
const placeholderMark = '\x1f';
/** Precedes epoch seconds of 13 digits, so that the 14 digits of a local time have the same length. */
const timeMark = 0x1e;
const timeDigits = 14;

/** Functions that fill placeholders which SQL cannot compute, by letter. */
const fillers = {
  /** objectId → members of the device; `a` includes the app fields (endpoints 3 and 6). */
  d: (objectId: string) => deviceMembers(objectId, false),
  a: (objectId: string) => deviceMembers(objectId, true),
  /** Members of the device of an event → the same with a comma; `E` includes the app fields. */
  e: (members: string) => memberPrefix(withoutAppFields(members)),
  E: memberPrefix,
  /** JSON array of objectIds and seeded platform entries → entries of platformInfo; `P` includes the app fields. */
  p: (lists: string) => platformEntries(lists, false),
  P: (lists: string) => platformEntries(lists, true),
  /** Members → members with folded keys. */
  k: foldKeys,
  /** Members → members with flags as the specification spells them. */
  f: (members: string) => renameMember(members, whatsapp.user[0], whatsapp.user[1]),
} as const;

/** SQL of a placeholder with this value; NULL for NULL. */
export const placeholder = (kind: keyof typeof fillers, value: string): string =>
  `'${placeholderMark}${kind}' || ${value} || '${placeholderMark}'`;

/** Format of a placeholder with epoch seconds that becomes their local time. */
const timePlaceholder = `${String.fromCharCode(timeMark)}%0${timeDigits - 1}d`;

/** Fills the placeholders of records. Modifies `bytes`. */
function fillPlaceholders(bytes: Buffer, zone: TimeZone): Buffer {
  for (let at = bytes.indexOf(timeMark); at >= 0; at = bytes.indexOf(timeMark, at + timeDigits)) {
    const seconds = Number(bytes.toString('latin1', at + 1, at + timeDigits));
    bytes.write(localTime(zone, seconds), at, 'latin1');
  }
  return bytes.includes(placeholderMark) ? fillOthers(bytes) : bytes;
}

function fillOthers(bytes: Buffer): Buffer {
  const pieces = bytes.toString().split(placeholderMark);
  for (let at = 1; at < pieces.length; at += 2) {
    const piece = pieces[at] ?? '';
    pieces[at] = fillers[piece[0] as keyof typeof fillers](piece.slice(1));
  }
  return Buffer.from(pieces.join(''));
}

/** Formats an instant as local time, yyyyMMddHHmmSS. */
function localTime(zone: TimeZone, epochSeconds: number): string {
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
 * Returns the members of a device. Uploads contain no data of devices, so the service derives them from the
 * objectId.
 */
function deviceMembers(objectId: string, hasApp: boolean): string {
  const index = createHash('sha256').update(objectId).digest().readUInt32BE() % devices.length;
  const { platform, ...app } = devices[index] ?? devices[0];
  return JSON.stringify({ objectId, platform, ...(hasApp ? app : {}) }).slice(1, -1);
}

function memberPrefix(members: string): string {
  return members === '' ? '' : `${members},`;
}

const appFields = new Set(['os_version', 'app_version', 'make', 'model']);

const withoutAppFields = (members: string): string =>
  joinMembers([...parseMembers(`{${members}}`)].filter(([key]) => !appFields.has(key)));

/** Returns the seeded entries, then those of objectIds that the seed does not describe. */
function platformEntries(lists: string, hasApp: boolean): string {
  const [objectIds = '[]', platforms = '[]'] = parseElements(lists);
  const seeded = parseElements(platforms);
  const described = new Set(seeded.map((entry) => stringOf(parseMembers(entry).get('objectId'))));
  const others = (JSON.parse(objectIds) as string[]).filter((id) => !described.has(id));
  return [
    ...seeded.map((entry) => (hasApp ? entry : `{${withoutAppFields(entry.slice(1, -1))}}`)),
    ...others.map((id) => `{${deviceMembers(id, hasApp)}}`),
  ].join(',');
}

function renameMember(members: string, from: string, to: string): string {
  const renamed = [...parseMembers(`{${members}}`)].map(
    ([key, value]) => [key === from ? to : key, value] as const,
  );
  return joinMembers(renamed);
}

function foldKeys(members: string): string {
  const folded = [...parseMembers(`{${members}}`)].map(
    ([key, value]) => [key.toLowerCase().replaceAll(' ', ''), value] as const,
  );
  return joinMembers(folded);
}

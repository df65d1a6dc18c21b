import { channels } from '../../contract/record-fields.js';
import { createHash } from 'node:crypto';
import { utcToDay } from '../../contract/dates.js';
import { joinMembers, parseMembers } from '../raw-json.js';
import type { ServiceContext } from '../service.js';
import type { Variants } from '../variants.js';
import type { TimeZone } from '../../time-zone.js';

/** Which parts of a profile a read asks for (endpoints 3 and 6): 1 or 0, as the store has it. */
export interface ProfileParts {
  /** OS and app version, make and model of devices. */
  readonly app: number;
  /** Event summaries. */
  readonly summaries: number;
  /** profileData. */
  readonly properties: number;
}

/**
 * Records of the reads, concatenated by the store itself: SQL expressions over table `profiles` as p
 * and `events` as e. Handing columns over and joining them here took twice the time of an export.
 * Their values are JSON texts with gaps (filled in below). Optional members end with a comma or are NULL,
 * which `format` leaves out.
 */

/** Records of several rows joined by commas, as bytes: a text would be decoded and encoded again. */
export function readRecords(
  { store, zone }: ServiceContext,
  record: string,
  from: string,
  values: readonly (number | string)[],
): Buffer {
  const joined = `CAST(coalesce(group_concat(${record}), '') AS BLOB)`;
  return fillPlaceholders(store.bytes(`SELECT ${joined} FROM ${from}`, values), zone);
}

/** The user profile object of endpoints 4 and 5. */
export const profileRecordSql = (parts: ProfileParts, style: Variants['keyStyle']): string =>
  `format('{%s%s%s%s%s"all_identities":%s,%s"platformInfo":[%s]}',
    ${identity}, ${email}, ${name}, ${phone}, ${profileData(parts, style)},
    p.identities, ${summaries(parts)}, ${allDevices(parts)})`;

/** The event record of endpoint 7; its profile shows today's values. */
export const eventRecordSql = (parts: ProfileParts, style: Variants['keyStyle']): string =>
  `format('{"profile":{%s%s%s%s"id":%d},%s"ts":${timeGap},"event_props":%s,"session_props":${sessionProps}}',
    ${firstDevice(parts)}, ${email}, ${profileData(parts, style)}, ${identity}, p.id,
    ${summaries(parts)}, e.ts, e.props)`;

/** Uploads carry no session, so its source is what the specification calls unset. */
const sessionProps = '{"session_source":"Unavailable"}';

/** Missing for users who never logged in. A merged profile shows its first identity. */
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
const allDevices = (parts: ProfileParts): string =>
  `(SELECT group_concat('{' || ${device(parts, 'o.value')} || '}') FROM json_each(p.object_ids) o)`;

/** An address-level flag: true blocks. */
const flag = (name: string, type: string, column: 'email' | 'phone'): string =>
  `',"${name}":' || iif(EXISTS (SELECT 1 FROM blocked
    WHERE type = '${type}' AND address = p.${column}), 'true', 'false')`;

const { sms, whatsapp } = channels;
/** The flags of the addresses this profile has, each after a comma. */
const addressFlags = `iif(p.phone IS NULL, '',
    ${flag(sms.address[0], 'phone', 'phone')} || ${flag(whatsapp.address[0], 'whatsapp', 'phone')})
  || iif(p.email IS NULL, '', ${flag(channels.email.address[0], 'email', 'email')})`;

function profileData({ properties }: ProfileParts, style: Variants['keyStyle']): string {
  if (!properties) return 'NULL';
  const members = `ltrim(p.data || ${addressFlags}, ',')`;
  return `'"profileData":{' || ${style === 'folded' ? placeholder('k', members) : members} || '},'`;
}

const summaries = (parts: ProfileParts): string =>
  parts.summaries ? `'"events":{' || coalesce(${summaryMembers}, '') || '},'` : 'NULL';

const summaryMembers = `(SELECT group_concat(format('%s:{"count":%d,"first_seen":%d,"last_seen":%d}',
    json_quote(n.name), s.count, s.first_seen, s.last_seen))
  FROM summaries s JOIN event_names n ON n.id = s.event WHERE s.profile = p.id)`;

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
export const placeholder = (kind: keyof typeof fillers, value: string): string =>
  `'${gapMark}${kind}' || ${value} || '${gapMark}'`;

/** Format of a gap that is given epoch seconds and becomes their local time. */
const timeGap = `${String.fromCharCode(timeMark)}%0${timeDigits - 1}d`;

/** Records from the store with their gaps filled. Changes `bytes`. */
function fillPlaceholders(bytes: Buffer, zone: TimeZone): Buffer {
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
 * No upload tells what an objectId's device is, and no app reports it here: the service makes one
 * up that is always the same for an objectId.
 */
function deviceMembers(objectId: string, hasApp: boolean): string {
  const index = createHash('sha256').update(objectId).digest().readUInt32BE() % devices.length;
  const { platform, ...app } = devices[index] ?? devices[0];
  return JSON.stringify({ objectId, platform, ...(hasApp ? app : {}) }).slice(1, -1);
}

function foldKeys(members: string): string {
  const folded = [...parseMembers(`{${members}}`)].map(
    ([key, value]) => [key.toLowerCase().replaceAll(' ', ''), value] as const,
  );
  return joinMembers(folded);
}

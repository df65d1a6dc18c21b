import { channels } from '../../contract/record-fields.js';
import { fillGaps, gap, timeGap } from './record-json.js';
import type { Service } from '../service.js';
import type { Variants } from '../variants.js';
import type { ProfileParts } from './exports.js';

/**
 * Records of the reads, concatenated by the store itself: SQL expressions over table `profiles` as p
 * and `events` as e. Handing columns over and joining them here took twice the time of an export.
 * Their values are JSON texts with gaps (see gaps.ts). Optional members end with a comma or are NULL,
 * which `format` leaves out.
 */

/** Records of several rows joined by commas, as bytes: a text would be decoded and encoded again. */
export function readRecords(
  { store, zone }: Service,
  record: string,
  from: string,
  values: readonly (number | string)[],
): Buffer {
  const joined = `CAST(coalesce(group_concat(${record}), '') AS BLOB)`;
  return fillGaps(store.bytes(`SELECT ${joined} FROM ${from}`, values), zone);
}

/** The user profile object of endpoints 4 and 5. */
export const profileRecord = (parts: ProfileParts, style: Variants['keyStyle']): string =>
  `format('{%s%s%s%s%s"all_identities":%s,%s"platformInfo":[%s]}',
    ${identity}, ${email}, ${name}, ${phone}, ${profileData(parts, style)},
    p.identities, ${summaries(parts)}, ${allDevices(parts)})`;

/** The event record of endpoint 7; its profile shows today's values. */
export const eventRecord = (parts: ProfileParts, style: Variants['keyStyle']): string =>
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

const device = ({ app }: ProfileParts, objectId: string): string => gap(app ? 'a' : 'd', objectId);
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
  return `'"profileData":{' || ${style === 'folded' ? gap('k', members) : members} || '},'`;
}

const summaries = (parts: ProfileParts): string =>
  parts.summaries ? `'"events":{' || coalesce(${summaryMembers}, '') || '},'` : 'NULL';

const summaryMembers = `(SELECT group_concat(format('%s:{"count":%d,"first_seen":%d,"last_seen":%d}',
    json_quote(n.name), s.count, s.first_seen, s.last_seen))
  FROM summaries s JOIN event_names n ON n.id = s.event WHERE s.profile = p.id)`;

import { channels } from '../contract/subscriptions.js';
import { deviceFields } from './devices.js';
import type { Variants } from './options.js';
import { blockedBits, type ProfileParts, type ProfileRow } from './profile-rows.js';
import { stringsIn } from './profiles.js';
import { joinMembers, membersOf } from './raw-json.js';

/** The user profile object of endpoints 4 and 5 as JSON text. */
export function renderProfile(
  row: ProfileRow,
  parts: ProfileParts,
  style: Variants['keyStyle'],
): string {
  const devices = stringsIn(row.object_ids).map((id) =>
    JSON.stringify(deviceFields(id, parts.app)),
  );
  const members = [
    ...identityMember(row),
    ...textMember('email', row.email),
    ...(row.name === null ? [] : [`"name":${row.name}`]),
    ...textMember('phone', row.phone),
    ...profileDataMember(row, parts, style),
    `"all_identities":${row.identities}`,
    ...summariesMember(row, parts),
    `"platformInfo":[${devices.join(',')}]`,
  ];
  return `{${members.join(',')}}`;
}

/** `profile` of an event record (endpoint 7): today's values. */
export function renderEventProfile(
  row: ProfileRow,
  parts: ProfileParts,
  style: Variants['keyStyle'],
): string {
  const [objectId] = row.object_ids === '[]' ? [] : stringsIn(row.object_ids);
  const device = objectId === undefined ? undefined : deviceFields(objectId, parts.app);
  const members = [
    ...(device ? [JSON.stringify(device).slice(1, -1)] : []),
    ...textMember('email', row.email),
    ...profileDataMember(row, parts, style),
    ...identityMember(row),
    `"id":${row.id}`,
  ];
  return `{${members.join(',')}}`;
}

export const summariesMember = (row: ProfileRow, { summaries }: ProfileParts): string[] =>
  summaries ? [`"events":{${row.event_summaries ?? ''}}`] : [];

const textMember = (name: string, text: string | null): string[] =>
  text === null ? [] : [`"${name}":${JSON.stringify(text)}`];

/** Missing for users who never logged in. A merged profile shows its first identity. */
function identityMember({ identities }: ProfileRow): string[] {
  const [identity] = identities === '[]' ? [] : stringsIn(identities);
  return textMember('identity', identity ?? null);
}

function profileDataMember(
  row: ProfileRow,
  { properties }: ProfileParts,
  style: Variants['keyStyle'],
): string[] {
  if (!properties) return [];
  const members = [...(row.data === '' ? [] : [row.data]), ...addressFlags(row)].join(',');
  return [`"profileData":{${style === 'folded' ? foldKeys(members) : members}}`];
}

/** The address-level flags of the addresses this profile has: true blocks. */
function addressFlags({ phone, email, blocked }: ProfileRow): string[] {
  const flag = (name: string, bit: number): string => `"${name}":${(blocked & bit) !== 0}`;
  const { sms, whatsapp } = channels;
  return [
    ...(phone === null ? [] : [flag(sms.address[0], blockedBits.phone)]),
    ...(phone === null ? [] : [flag(whatsapp.address[0], blockedBits.whatsapp)]),
    ...(email === null ? [] : [flag(channels.email.address[0], blockedBits.email)]),
  ];
}

const foldKeys = (members: string): string =>
  joinMembers(
    [...membersOf(`{${members}}`)].map(([key, value]) => [
      key.toLowerCase().replaceAll(' ', ''),
      value,
    ]),
  );

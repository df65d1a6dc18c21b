import { channels } from '../contract/subscriptions.js';
import { deviceFields } from './devices.js';
import type { Variants } from './options.js';
import type { ProfileParts, ProfileRow } from './profile-rows.js';
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
function addressFlags(row: ProfileRow): string[] {
  const flags: string[] = [];
  if (row.phone !== null) {
    flags.push(
      flag(channels.sms.address[0], row.phone_blocked),
      flag(channels.whatsapp.address[0], row.whatsapp_blocked),
    );
  }
  if (row.email !== null) flags.push(flag(channels.email.address[0], row.email_blocked));
  return flags;
}

const flag = (name: string, blocked: number): string => `"${name}":${blocked === 1}`;

const foldKeys = (members: string): string =>
  joinMembers(
    [...membersOf(`{${members}}`)].map(([key, value]) => [
      key.toLowerCase().replaceAll(' ', ''),
      value,
    ]),
  );

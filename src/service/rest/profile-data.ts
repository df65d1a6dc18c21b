import { recordCodes } from '../../contract/error-codes.js';
import { limits } from '../../contract/limits.js';
import { channels } from '../../contract/record-fields.js';
import { joinMembers, membersOf, stringOf, type Members } from '../raw-json.js';
import { changedField } from './operators.js';
import { isCustomKey } from './record-validation.js';
import { RecordFault } from './record-fault.js';
import type { Profile } from '../store/profiles.js';

/**
 * The profile after an upload of these values and operators (checked before). `gapsOnly`: what it has
 * already stays. Throws a RecordFault when it would have too many fields.
 */
export function applyData(profile: Profile, upload: Members, gapsOnly = false): Profile {
  const fields = membersOf(`{${profile.data}}`);
  if (profile.email !== null) fields.set('Email', JSON.stringify(profile.email));
  if (profile.phone !== null) fields.set('Phone', JSON.stringify(profile.phone));
  if (profile.name !== null) fields.set('Name', profile.name);
  for (const [key, value] of upload) {
    if (gapsOnly && fields.has(userFlags.get(key) ?? key)) continue;
    if (key.startsWith('MSG-')) setFlag(fields, key, value);
    else setField(fields, key, value);
  }
  if (fields.size > limits.profileKeys) checkCount(fields.keys());
  const email = stringOf(taken(fields, 'Email')) ?? null;
  const phone = stringOf(taken(fields, 'Phone')) ?? null;
  const name = taken(fields, 'Name') ?? 'null';
  if (phone !== null) subscribeUnlessSet(fields, ['sms', 'whatsapp']);
  if (email !== null) subscribeUnlessSet(fields, ['email']);
  const data = joinMembers(fields);
  return { ...profile, email, phone, name: name === 'null' ? null : name, data };
}

function checkCount(keys: Iterable<string>): void {
  if ([...keys].filter(isCustomKey).length <= limits.profileKeys) return;
  const what = 'Profile data is incorrect. More than 256 custom keys.';
  throw new RecordFault(recordCodes.eventStructure, what);
}

function taken(fields: Members, key: string): string | undefined {
  const value = fields.get(key);
  fields.delete(key);
  return value;
}

function setField(fields: Members, key: string, value: string): void {
  const changed = changedField(fields.get(key), value);
  if (changed === undefined) fields.delete(key);
  else fields.set(key, changed);
}

/** Both spellings of a user-level flag (States; service-facts, Upload) → the one it is stored under. */
const userFlags: ReadonlyMap<string, string> = new Map(
  Object.values(channels).flatMap(({ user }) => user.map((name) => [name, user[0]] as const)),
);
const addressFlags = new Set<string>(Object.values(channels).flatMap(({ address }) => address));

/**
 * A user-level flag is true or false, nothing else. Address-level flags are set by endpoint 2 and
 * Channel Unsubscribed alone: those in an upload (of an exported profile, say) are passed over.
 */
function setFlag(fields: Members, key: string, value: string): void {
  if (addressFlags.has(key)) return;
  const flag = userFlags.get(key);
  if (flag === undefined) setField(fields, key, value);
  else if (value === 'true' || value === 'false') fields.set(flag, value);
}

/** Who has an address is subscribed at the user level until an upload says otherwise. */
function subscribeUnlessSet(fields: Members, names: readonly (keyof typeof channels)[]): void {
  for (const name of names) {
    const [flag] = channels[name].user;
    if (!fields.has(flag)) fields.set(flag, 'true');
  }
}

import { channels } from '../contract/subscriptions.js';
import { applyOperator, isOperator, storedValue } from './operators.js';
import type { Profile } from './profiles.js';
import { joinMembers, membersOf, stringOf, type Members } from './raw-json.js';

/** The profile after an upload of these values and operators (validated before). */
export function applyData(profile: Profile, upload: Members): Profile {
  const data = profile.data === '' ? new Map<string, string>() : membersOf(`{${profile.data}}`);
  const fields = { email: profile.email, name: profile.name, phone: profile.phone };
  for (const [key, value] of upload) {
    if (key === 'Email') fields.email = decoded(fields.email, value);
    else if (key === 'Phone') fields.phone = decoded(fields.phone, value);
    else if (key === 'Name') fields.name = named(fields.name, value);
    else if (key.startsWith('MSG-')) setFlag(data, key, value);
    else setField(data, key, value);
  }
  if (fields.phone !== null)
    subscribeUnlessSet(data, [...channels.sms.user, ...channels.whatsapp.user]);
  if (fields.email !== null) subscribeUnlessSet(data, channels.email.user);
  return { ...profile, ...fields, data: joinMembers(data) };
}

function setField(data: Members, key: string, value: string): void {
  const stored = changed(data.get(key), value);
  if (stored === undefined) data.delete(key);
  else data.set(key, stored);
}

/** The field's new JSON text; undefined: it is gone. */
const changed = (current: string | undefined, value: string): string | undefined =>
  isOperator(value) ? applyOperator(current, value) : storedValue(value);

function named(current: string | null, value: string): string | null {
  const name = changed(current ?? undefined, value) ?? 'null';
  return name === 'null' ? null : name;
}

function decoded(current: string | null, value: string): string | null {
  const now = current === null ? undefined : JSON.stringify(current);
  return stringOf(changed(now, value)) ?? null;
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
function setFlag(data: Members, key: string, value: string): void {
  if (addressFlags.has(key)) return;
  const flag = userFlags.get(key);
  if (flag === undefined) setField(data, key, value);
  else if (value === 'true' || value === 'false') data.set(flag, value);
}

/** Who has an address is subscribed at the user level until an upload says otherwise. */
function subscribeUnlessSet(data: Members, flags: readonly string[]): void {
  for (const flag of flags) {
    const stored = userFlags.get(flag) ?? flag;
    if (!data.has(stored)) data.set(stored, 'true');
  }
}

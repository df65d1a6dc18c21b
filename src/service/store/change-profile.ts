import { joinMembers, membersOf, type Members } from '../raw-json.js';
import type { Database } from './database.js';
import { moveEvents } from './events.js';
import {
  blankProfile,
  addKey,
  keysOf,
  moveKey,
  profileByKey,
  saveProfile,
  withKeys,
  type Profile,
  type ProfileKey,
  type StoredProfile,
} from './profiles.js';

/**
 * Stores what `change` makes of the profile that the keys name; when it throws, nothing is stored. An unknown
 * one is created; keys that name different profiles make them one (the specification's merging by a second
 * identity): the oldest survives and its values win, the others fill its gaps.
 */
export function changeProfile(
  store: Database,
  keys: readonly ProfileKey[],
  change: (profile: Profile) => Profile,
): StoredProfile {
  const named = keys.map((key) => profileByKey(store, key));
  const [before = blankProfile, ...others] = oldestFirst(named);
  const keyed = withKeys(others.reduce<Profile>(filledBy, before), keys);
  const after = change(keyed);
  if (after === before) return after as StoredProfile;
  const stored = saveProfile(store, after, before);
  for (const other of others) replace(store, other, stored.id);
  for (const [at, key] of keys.entries()) if (!named[at]) addKey(store, key, stored.id);
  return stored;
}

/** Each once. */
const oldestFirst = (profiles: readonly (StoredProfile | undefined)[]): StoredProfile[] =>
  profiles
    .filter((profile) => profile !== undefined)
    .sort((a, b) => a.id - b.id)
    .filter(({ id }, at, sorted) => id !== sorted[at - 1]?.id);

const filledBy = (survivor: Profile, other: Profile): Profile => ({
  ...withKeys(survivor, keysOf(other)),
  email: survivor.email ?? other.email,
  name: survivor.name ?? other.name,
  phone: survivor.phone ?? other.phone,
  ts: Math.max(survivor.ts, other.ts),
  data: joinMembers(new Map([...dataOf(other), ...dataOf(survivor)])),
});

/** Its keys, events and summaries go to the survivor. */
function replace(store: Database, other: StoredProfile, survivor: number): void {
  for (const key of keysOf(other)) moveKey(store, key, survivor);
  moveEvents(store, other.id, survivor);
  store.run('DELETE FROM profiles WHERE id = ?', [other.id]);
}

const dataOf = ({ data }: Profile): Members => membersOf(`{${data}}`);

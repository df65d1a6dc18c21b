import { joinMembers, membersOf, type Members } from '../raw-json.js';
import type { Database } from './database.js';
import { moveEvents } from './events.js';
import {
  blankProfile,
  claimKey,
  keysOf,
  profileByKey,
  saveProfile,
  withKeys,
  type Profile,
  type ProfileKey,
  type StoredProfile,
} from './profiles.js';

/**
 * Stores what `change` makes of the profile that the keys name. An unknown one is created; keys
 * that name different profiles make them one (the specification's merging by a second identity).
 */
export function changeProfile(
  store: Database,
  keys: readonly ProfileKey[],
  change: (profile: Profile) => Profile,
): StoredProfile {
  // Several may make profiles one, which must not stay when the change is refused.
  if (keys.length > 1) return store.nested(() => changeNamed(store, keys, change));
  return changeNamed(store, keys, change);
}

function changeNamed(
  store: Database,
  keys: readonly ProfileKey[],
  change: (profile: Profile) => Profile,
): StoredProfile {
  const before = namedBy(store, keys);
  const keyed = withKeys(before, keys);
  const after = change(keyed);
  if (after === before) return after as StoredProfile;
  const stored = saveProfile(store, after, before);
  if (keyed !== before) for (const key of keys) claimKey(store, key, stored.id);
  return stored;
}

/** The oldest of the profiles survives and its values win; the others fill its gaps. */
function namedBy(store: Database, keys: readonly ProfileKey[]): Profile {
  const byId = new Map<number, StoredProfile>();
  for (const key of keys) {
    const profile = profileByKey(store, key);
    if (profile) byId.set(profile.id, profile);
  }
  const [oldest, ...others] = [...byId.values()].sort((a, b) => a.id - b.id);
  if (!oldest) return blankProfile;
  return others.reduce((survivor, other) => mergeInto(store, survivor, other), oldest);
}

/** Events and their summaries move along. */
function mergeInto(store: Database, survivor: StoredProfile, other: StoredProfile): StoredProfile {
  const keys = keysOf(other);
  for (const key of keys) claimKey(store, key, survivor.id);
  moveEvents(store, other.id, survivor.id);
  store.run('DELETE FROM profiles WHERE id = ?', [other.id]);
  const merged = {
    ...withKeys(survivor, keys),
    email: survivor.email ?? other.email,
    name: survivor.name ?? other.name,
    phone: survivor.phone ?? other.phone,
    ts: Math.max(survivor.ts, other.ts),
    data: joinMembers(new Map([...dataOf(other), ...dataOf(survivor)])),
  };
  return saveProfile(store, merged, survivor);
}

const dataOf = ({ data }: Profile): Members => membersOf(`{${data}}`);

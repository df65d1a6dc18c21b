import { mergeProfiles } from './merge-profiles.js';
import type { ProfileKey } from './profile-keys.js';
import {
  blankProfile,
  claimKey,
  profileByKey,
  saveProfile,
  withKeys,
  type Profile,
  type StoredProfile,
} from './profiles.js';
import type { Store } from './store.js';

/**
 * Stores what `change` makes of the profile that the keys name. An unknown one is created; keys
 * that name different profiles make them one (the specification's merging by a second identity).
 */
export function changeProfile(
  store: Store,
  keys: readonly ProfileKey[],
  change: (profile: Profile) => Profile,
): StoredProfile {
  const named = distinct(keys.map((key) => profileByKey(store, key)));
  const before = named.length > 1 ? mergeProfiles(store, named) : (named[0] ?? blankProfile);
  const keyed = withKeys(before, keys);
  const after = change(keyed);
  if (after === before) return after as StoredProfile;
  const stored = saveProfile(store, after, before);
  if (keyed !== before) for (const key of keys) claimKey(store, key, stored.id);
  return stored;
}

function distinct(profiles: readonly (StoredProfile | undefined)[]): StoredProfile[] {
  const byId = new Map<number, StoredProfile>();
  for (const profile of profiles) if (profile) byId.set(profile.id, profile);
  return [...byId.values()];
}

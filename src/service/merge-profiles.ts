import { joinMembers, membersOf } from './raw-json.js';
import {
  claimKey,
  keysOf,
  removeEmail,
  saveProfile,
  withKeys,
  type StoredProfile,
} from './profiles.js';
import type { Store } from './store.js';

/**
 * Makes several profiles one. The oldest survives and its values win; the others fill its gaps.
 * Events and their summaries move to it.
 */
export function mergeProfiles(store: Store, profiles: readonly StoredProfile[]): StoredProfile {
  const [survivor, ...others] = [...profiles].sort((a, b) => a.id - b.id);
  if (!survivor) throw new Error('nothing to merge');
  return others.reduce((merged, other) => mergeInto(store, merged, other), survivor);
}

function mergeInto(store: Store, survivor: StoredProfile, other: StoredProfile): StoredProfile {
  const keys = keysOf(other);
  for (const key of keys) claimKey(store, key, survivor.id);
  moveEvents(store, other.id, survivor.id);
  if (other.email !== null) removeEmail(store, other.email, other.id);
  store.run('DELETE FROM profiles WHERE id = ?', [other.id]);
  const merged = {
    ...withKeys(survivor, keys),
    email: survivor.email ?? other.email,
    name: survivor.name ?? other.name,
    phone: survivor.phone ?? other.phone,
    data: joinMembers([...membersOf(`{${other.data}}`), ...membersOf(`{${survivor.data}}`)]),
  };
  return saveProfile(store, merged, survivor);
}

function moveEvents(store: Store, from: number, to: number): void {
  const performed = store.all<{ event: number }>('SELECT event FROM summaries WHERE profile = ?', [
    from,
  ]);
  for (const { event } of performed) {
    store.run('UPDATE events SET profile = ? WHERE event = ? AND profile = ?', [to, event, from]);
  }
  store.run(
    `INSERT INTO summaries (profile, event, count, first_seen, last_seen)
     SELECT ?, event, count, first_seen, last_seen FROM summaries WHERE profile = ?
     ON CONFLICT DO UPDATE SET count = count + excluded.count,
       first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`,
    [to, from],
  );
  store.run('DELETE FROM summaries WHERE profile = ?', [from]);
}

import { keyColumns, type ProfileKey } from './profile-keys.js';
import type { Store } from './store.js';

/** A row of table `profiles`; see schema.ts for what the texts hold. */
export interface Profile {
  /** undefined: not stored yet. */
  readonly id: number | undefined;
  readonly identities: string;
  readonly object_ids: string;
  readonly social_ids: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly data: string;
}
export type StoredProfile = Profile & { readonly id: number };

export const blankProfile: Profile = {
  id: undefined,
  identities: '[]',
  object_ids: '[]',
  social_ids: '[]',
  email: null,
  name: null,
  phone: null,
  data: '',
};

export const profileByKey = (store: Store, key: ProfileKey): StoredProfile | undefined =>
  store.get(
    'SELECT p.* FROM keys k JOIN profiles p ON p.id = k.profile WHERE k.kind = ? AND k.value = ?',
    [key.kind, key.value],
  );

/** Several profiles may share an address: the one created first. */
export const profileByEmail = (store: Store, email: string): StoredProfile | undefined =>
  store.get(
    `SELECT * FROM profiles
     WHERE id = (SELECT profile FROM emails WHERE email = ? ORDER BY profile LIMIT 1)`,
    [email],
  );

/** The profile with the keys in its lists; the very same one when they all are. saveProfile stores it. */
export const withKeys = <P extends Profile>(profile: P, keys: readonly ProfileKey[]): P =>
  keys.reduce(withKey, profile);

function withKey<P extends Profile>(profile: P, { kind, value }: ProfileKey): P {
  const column = keyColumns[kind];
  const list = withText(profile[column], value);
  return list === profile[column] ? profile : { ...profile, [column]: list };
}

/** A JSON array of strings with one more, unless it is in there. */
function withText(list: string, text: string): string {
  const item = JSON.stringify(text);
  if (list === '[]') return `[${item}]`;
  if (list === `[${item}]` || stringsIn(list).includes(text)) return list;
  return `${list.slice(0, -1)},${item}]`;
}

/** All keys of a profile, in the order it got them. */
export const keysOf = (profile: Profile): ProfileKey[] =>
  (Object.keys(keyColumns) as ProfileKey['kind'][]).flatMap((kind) =>
    stringsIn(profile[keyColumns[kind]]).map((value) => ({ kind, value })),
  );

export const stringsIn = (list: string): string[] => JSON.parse(list) as string[];

/** Makes the key lead to the profile, wherever it led before. */
export function claimKey(store: Store, key: ProfileKey, profile: number): void {
  store.run('INSERT OR REPLACE INTO keys (kind, value, profile) VALUES (?, ?, ?)', [
    key.kind,
    key.value,
    profile,
  ]);
}

/** Inserts or updates the row and its email entry; `before` is what the store holds of it. */
export function saveProfile(store: Store, profile: Profile, before: Profile): StoredProfile {
  const values = [
    profile.identities,
    profile.object_ids,
    profile.social_ids,
    profile.email,
    profile.name,
    profile.phone,
    profile.data,
  ];
  const id = profile.id ?? store.run(insertProfile, values);
  if (profile.id !== undefined) store.run(updateProfile, [...values, id]);
  if (profile.email !== before.email) {
    if (before.email !== null) removeEmail(store, before.email, id);
    if (profile.email !== null) {
      store.run('INSERT OR IGNORE INTO emails (email, profile) VALUES (?, ?)', [profile.email, id]);
    }
  }
  return { ...profile, id };
}

const insertProfile = `INSERT INTO profiles
  (identities, object_ids, social_ids, email, name, phone, data) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const updateProfile = `UPDATE profiles SET
  identities = ?, object_ids = ?, social_ids = ?, email = ?, name = ?, phone = ?, data = ?
  WHERE id = ?`;

export const removeEmail = (store: Store, email: string, profile: number): void =>
  void store.run('DELETE FROM emails WHERE email = ? AND profile = ?', [email, profile]);

import type { Database } from './database.js';
import { inRuns } from './runs.js';

/** What identifies a profile in an upload. `social`: `FBID:…` or `GPID:…`. */
export interface ProfileKey {
  readonly kind: 'identity' | 'objectId' | 'social';
  readonly value: string;
}

/** A row of table `profiles`; see tables.ts for what the texts hold. */
export interface Profile {
  /** null: not stored yet. */
  readonly id: number | null;
  readonly identities: string;
  readonly object_ids: string;
  readonly social_ids: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly data: string;
  /** Epoch seconds of the newest upload; 0 of none. */
  readonly ts: number;
}
export type StoredProfile = Profile & { readonly id: number };

export const blankProfile: Profile = {
  id: null,
  identities: '[]',
  object_ids: '[]',
  social_ids: '[]',
  email: null,
  name: null,
  phone: null,
  data: '',
  ts: 0,
};

/** The column that lists the profile's keys of each kind. */
const keyColumns = {
  identity: 'identities',
  objectId: 'object_ids',
  social: 'social_ids',
} as const;
const kinds = ['identity', 'objectId', 'social'] as const;
/** As table `keys` has it: 0 takes no byte of a row. */
export const kindNumber = (kind: ProfileKey['kind']): number => kinds.indexOf(kind);

export const profileByKey = (store: Database, key: ProfileKey): StoredProfile | undefined =>
  store.get(
    `SELECT p.* FROM keys k JOIN profiles p ON p.id = k.profile WHERE ${isKey}`,
    columnsOf(key),
  );

const isKey = 'hash = ? AND kind = ? AND value = ?';
const columnsOf = ({ kind, value }: ProfileKey) => [fnv1a(value), kindNumber(kind), value];

/** FNV-1a, 32 bits with a sign, over code units. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash;
}

/** Several profiles may share an address: the one created first. */
export const profileByEmail = (store: Database, email: string): StoredProfile | undefined =>
  store.get(
    `SELECT * FROM profiles WHERE id = (SELECT min(id) FROM (${inRuns('profiles', 'id', 'email = ?')}))`,
    [email],
  );

/** All keys of a profile, in the order of their kinds and then in that in which it got them. */
export const keysOf = (profile: Profile): ProfileKey[] =>
  kinds.flatMap((kind) => stringsIn(profile[keyColumns[kind]]).map((value) => ({ kind, value })));

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

const stringsIn = (list: string): string[] => JSON.parse(list) as string[];

/** Makes a key that led nowhere lead to the profile. */
export const addKey = (store: Database, key: ProfileKey, profile: number): void =>
  store.run('INSERT INTO keys (hash, kind, value, profile) VALUES (?, ?, ?, ?)', [
    ...columnsOf(key),
    profile,
  ]);

/** Makes a key that led to another profile lead to this one. */
export const moveKey = (store: Database, key: ProfileKey, profile: number): void =>
  store.run(`UPDATE keys SET profile = ? WHERE ${isKey}`, [profile, ...columnsOf(key)]);

/** Inserts or updates the row; `before` is what the store holds of it. */
export function saveProfile(store: Database, profile: Profile, before: Profile): StoredProfile {
  const { identities, object_ids, social_ids, name, phone, data, ts, email } = profile;
  const values = [identities, object_ids, social_ids, name, phone, data, ts];
  if (profile.id === null) return { ...profile, id: store.insert(insertion, [...values, email]) };
  const { id } = profile;
  store.run(update, [...values, id]);
  // Apart from the others: its index is written where it changes, and nowhere else.
  if (email !== before.email) store.run('UPDATE profiles SET email = ? WHERE id = ?', [email, id]);
  return { ...profile, id };
}

const columns = 'identities, object_ids, social_ids, name, phone, data, ts';
const insertion = `INSERT INTO profiles (${columns}, email) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
const update = `UPDATE profiles SET (${columns}) = (?, ?, ?, ?, ?, ?, ?) WHERE id = ?`;

import { rowsByIndexRun } from './schema.js';
import { joinMembers, parseMembers, type Members } from '../raw-json.js';
import { moveEvents } from './events.js';
import type { Database } from './database.js';

/** What identifies a profile in an upload. `social`: `FBID:…` or `GPID:…`. */
export interface ProfileKey {
  readonly kind: 'identity' | 'objectId' | 'social';
  readonly value: string;
}

/** A row of table `profiles`; see schema.ts for what the texts hold. */
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
const kindNumber = (kind: ProfileKey['kind']): number => kinds.indexOf(kind);

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
    `SELECT * FROM profiles WHERE id = (SELECT min(id) FROM (${rowsByIndexRun('profiles', 'id', 'email = ?')}))`,
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
const addKey = (store: Database, key: ProfileKey, profile: number): void =>
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

/**
 * Stores what `change` makes of the profile that the keys name; when it throws, nothing is stored. An unknown
 * one is created; keys that name different profiles make them one (the specification's merging by a second
 * identity): the oldest survives and its values win, the others fill its gaps.
 */
export function updateProfile(
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

const dataOf = ({ data }: Profile): Members => parseMembers(`{${data}}`);

/** Ids of users after this one, at most so many, in order. */
type UserSearch = (store: Database, after: number, most: number) => number[];

const ids = (rows: { readonly id: number }[]): number[] => rows.map(({ id }) => id);

export const usersAfter: UserSearch = (store, after, most) =>
  ids(store.all('SELECT id FROM profiles WHERE id > ? ORDER BY id LIMIT ?', [after, most]));

/** No text of a key comes after this character. */
const last = '\u{10FFFF}';
/** Of so many that begin alike the first ids are found; what is typed on finds the others. */
const mostAlike = 10_000;

/** Users with an identity, objectId or email that begins so: by the indexes, whatever the store's size. */
export function searchUsers(start: string): UserSearch {
  const sql = `SELECT DISTINCT id FROM (
      ${some(keysLike('identity'))}
      UNION ALL ${some(keysLike('objectId'))}
      UNION ALL ${some(rowsByIndexRun('profiles', 'id', alike('email')))}
    ) WHERE id > ?3 ORDER BY id LIMIT ?4`;
  return (store, after, most) => ids(store.all(sql, [start, start + last, after, most]));
}

const keysLike = (kind: ProfileKey['kind']): string =>
  rowsByIndexRun('keys', 'profile', `kind = ${kindNumber(kind)} AND ${alike('value')}`);
const alike = (column: string): string => `${column} >= ?1 AND ${column} < ?2`;
const some = (users: string): string => `SELECT * FROM (${users} LIMIT ${mostAlike})`;

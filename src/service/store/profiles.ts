import { rowsByIndexRun } from './schema.js';
import { joinMembers, parseElements, parseMembers, type Members } from '../raw-json.js';
import { moveEvents } from './events.js';
import type { Database } from './database.js';
import { subscriptionTypes } from '../../contract/record-fields.js';

/** An identifier of a profile in an upload. `social`: `FBID:…` or `GPID:…`. */
export interface ProfileKey {
  readonly kind: 'identity' | 'objectId' | 'social';
  readonly value: string;
}

/** A row of table `profiles`, see schema.ts. */
export interface Profile {
  /** Null: not stored yet. */
  readonly id: number | null;
  readonly identities: string;
  readonly object_ids: string;
  readonly social_ids: string;
  readonly email: string | null;
  readonly name: string | null;
  readonly phone: string | null;
  readonly data: string;
  /** Epoch seconds of the newest upload; 0 before the first. */
  readonly ts: number;
  readonly platforms: string | null;
  readonly public_id: number | null;
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
  platforms: null,
  public_id: null,
};

/** Column with the keys of each kind. */
const keyColumns = {
  identity: 'identities',
  objectId: 'object_ids',
  social: 'social_ids',
} as const;
const kinds = ['identity', 'objectId', 'social'] as const;
/** Value of column `kind` in table `keys`. The most frequent kind is 0, which SQLite stores without a byte. */
const kindNumber = (kind: ProfileKey['kind']): number => kinds.indexOf(kind);

export const profileByKey = (store: Database, key: ProfileKey): StoredProfile | undefined =>
  store.get(
    `SELECT p.* FROM keys k JOIN profiles p ON p.id = k.profile WHERE ${isKey}`,
    columnsOf(key),
  );

const isKey = 'hash = ? AND kind = ? AND value = ?';
const columnsOf = ({ kind, value }: ProfileKey) => [fnv1a(value), kindNumber(kind), value];

/** FNV-1a hash of the UTF-16 code units, as a signed 32-bit number. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash;
}

/** Returns the oldest profile with this email address. */
export const profileByEmail = (store: Database, email: string): StoredProfile | undefined =>
  store.get(
    `SELECT * FROM profiles WHERE id = (SELECT min(id) FROM (${rowsByIndexRun('profiles', 'id', 'email = ?')}))`,
    [email],
  );

/** Returns all keys of a profile, ordered by kind, then by age. */
export const keysOf = (profile: Profile): ProfileKey[] =>
  kinds.flatMap((kind) => stringsIn(profile[keyColumns[kind]]).map((value) => ({ kind, value })));

/** Adds keys to the lists of a profile; returns the same object if it has them all. saveProfile stores it. */
export const withKeys = <P extends Profile>(profile: P, keys: readonly ProfileKey[]): P =>
  keys.reduce(withKey, profile);

function withKey<P extends Profile>(profile: P, { kind, value }: ProfileKey): P {
  const column = keyColumns[kind];
  const list = withText(profile[column], value);
  return list === profile[column] ? profile : { ...profile, [column]: list };
}

/** Appends a text to a JSON array of strings unless the array contains it. */
function withText(list: string, text: string): string {
  const item = JSON.stringify(text);
  if (list === '[]') return `[${item}]`;
  if (list === `[${item}]` || stringsIn(list).includes(text)) return list;
  return `${list.slice(0, -1)},${item}]`;
}

const stringsIn = (list: string): string[] => JSON.parse(list) as string[];

/** Assigns an unused key to a profile. */
const addKey = (store: Database, key: ProfileKey, profile: number): void =>
  store.run('INSERT INTO keys (hash, kind, value, profile) VALUES (?, ?, ?, ?)', [
    ...columnsOf(key),
    profile,
  ]);

/** Reassigns a key to another profile. */
export const moveKey = (store: Database, key: ProfileKey, profile: number): void =>
  store.run(`UPDATE keys SET profile = ? WHERE ${isKey}`, [profile, ...columnsOf(key)]);

/** Inserts or updates a profile; `before` is its stored state. */
export function saveProfile(store: Database, profile: Profile, before: Profile): StoredProfile {
  const { identities, object_ids, social_ids, name, phone, data, ts, email } = profile;
  const { platforms, public_id } = profile;
  const values = [identities, object_ids, social_ids, name, phone, data, ts, platforms, public_id];
  if (profile.id === null) return { ...profile, id: store.insert(insertion, [...values, email]) };
  const { id } = profile;
  store.run(update, [...values, id]);
  // Updated separately, so that its index is written only if the address changes.
  if (email !== before.email) store.run('UPDATE profiles SET email = ? WHERE id = ?', [email, id]);
  return { ...profile, id };
}

const columns = 'identities, object_ids, social_ids, name, phone, data, ts, platforms, public_id';
const insertion = `INSERT INTO profiles (${columns}, email) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const update = `UPDATE profiles SET (${columns}) = (?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?`;

/**
 * Applies `change` to the profile of the keys and stores the result; if `change` throws, nothing is stored.
 * Creates an unknown profile. If the keys belong to different profiles, they are merged (specification, merging
 * by a second identity): the oldest profile survives and its values win, the others fill its gaps.
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
  for (const other of others) mergeInto(store, other, stored.id);
  for (const [at, key] of keys.entries()) if (!named[at]) addKey(store, key, stored.id);
  return stored;
}

/** Sorts distinct profiles by id. */
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
  platforms: joinArrays(survivor.platforms, other.platforms),
  public_id: survivor.public_id ?? other.public_id,
  data: joinMembers(new Map([...dataOf(other), ...dataOf(survivor)])),
});

const joinArrays = (one: string | null, other: string | null): string | null =>
  one === null || other === null
    ? (one ?? other)
    : `[${[...parseElements(one), ...parseElements(other)].join(',')}]`;

/** Moves keys, events and summaries to the survivor and deletes the other profile. */
function mergeInto(store: Database, other: StoredProfile, survivor: number): void {
  for (const key of keysOf(other)) moveKey(store, key, survivor);
  moveEvents(store, other.id, survivor);
  store.run('DELETE FROM profiles WHERE id = ?', [other.id]);
}

const dataOf = ({ data }: Profile): Members => parseMembers(`{${data}}`);

/** Returns at most `most` ids of users after an id, in order. */
type UserSearch = (store: Database, after: number, most: number) => number[];

const ids = (rows: { readonly id: number }[]): number[] => rows.map(({ id }) => id);

export const usersAfter: UserSearch = (store, after, most) =>
  ids(store.all('SELECT id FROM profiles WHERE id > ? ORDER BY id LIMIT ?', [after, most]));

/** Sorts after every key. */
const last = '\u{10FFFF}';
/** Maximum matches of a prefix that are considered; a longer prefix finds the others. */
const mostAlike = 10_000;

/** Finds users whose identity, objectId or email has this prefix. Uses indexes only. */
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

/** An address-level subscription, which applies to every user with the address. */
export interface AddressFlag {
  readonly type: keyof typeof subscriptionTypes;
  readonly address: string;
  readonly isBlocked: boolean;
}

/** Whether the text has the shape of an email address. */
export const isEmail = (text: string): boolean =>
  text.length <= 254 &&
  /^[^\s@"\p{Cc}\p{Cs}]+@[^\s@.\p{Cc}\p{Cs}]+(\.[^\s@.\p{Cc}\p{Cs}]+)+$/u.test(text);

/** Whether the text is `+`, country code and digits, as in profiles. */
export const isPhone = (text: string): boolean => /^\+[1-9]\d{5,14}$/.test(text);

/** Parses the type of an address, in any case. */
export function addressTypeOf(word: string | undefined): AddressFlag['type'] | undefined {
  const type = word?.toLowerCase() ?? '';
  return Object.hasOwn(subscriptionTypes, type) ? (type as AddressFlag['type']) : undefined;
}

/** Normalizes an address to its stored form; undefined if it is not an address of this type. */
export function addressOf(
  type: AddressFlag['type'],
  value: string | undefined,
): string | undefined {
  if (value === undefined) return undefined;
  if (type === 'email') return isEmail(value) ? value : undefined;
  const phone = value.startsWith('+') ? value : `+${value}`;
  return isPhone(phone) ? phone : undefined;
}

export function setBlocked(store: Database, { type, address, isBlocked }: AddressFlag): void {
  const sql = isBlocked
    ? 'INSERT OR IGNORE INTO blocked (type, address) VALUES (?, ?)'
    : 'DELETE FROM blocked WHERE type = ? AND address = ?';
  store.run(sql, [type, address]);
}

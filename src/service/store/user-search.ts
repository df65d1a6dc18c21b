import type { Database } from './database.js';
import { kindNumber, type ProfileKey } from './profiles.js';
import { inRuns } from './runs.js';

/** Ids of users after this one, at most so many, in order. */
export type UserSearch = (store: Database, after: number, most: number) => number[];

const ids = (rows: { readonly id: number }[]): number[] => rows.map(({ id }) => id);

export const usersAfter: UserSearch = (store, after, most) =>
  ids(store.all('SELECT id FROM profiles WHERE id > ? ORDER BY id LIMIT ?', [after, most]));

/** No text of a key comes after this character. */
const last = '\u{10FFFF}';
/** Of so many that begin alike the first ids are found; what is typed on finds the others. */
const mostAlike = 10_000;

/** Users with an identity, objectId or email that begins so: by the indexes, whatever the store's size. */
export function usersLike(start: string): UserSearch {
  const sql = `SELECT DISTINCT id FROM (
      ${some(keysLike('identity'))}
      UNION ALL ${some(keysLike('objectId'))}
      UNION ALL ${some(inRuns('profiles', 'id', alike('email')))}
    ) WHERE id > ?3 ORDER BY id LIMIT ?4`;
  return (store, after, most) => ids(store.all(sql, [start, start + last, after, most]));
}

const keysLike = (kind: ProfileKey['kind']): string =>
  inRuns('keys', 'profile', `kind = ${kindNumber(kind)} AND ${alike('value')}`);
const alike = (column: string): string => `${column} >= ?1 AND ${column} < ?2`;
const some = (users: string): string => `SELECT * FROM (${users} LIMIT ${mostAlike})`;

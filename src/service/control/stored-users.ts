import { refused } from '../refusal.js';
import { profileByKey } from '../store/profiles.js';
import { profileRecord, readRecords } from '../store/record-sql.js';
import { usersAfter, usersLike } from '../store/user-search.js';
import { numberOf, type Control } from './control-route.js';
import { reachabilityOf } from './user-reachability.js';
import { eventsText } from './stored-data.js';
import type { Service } from '../service.js';

const mostUsers = 500;

/**
 * `GET /_local/profiles?q=&after=&limit=`: users whose identity, email or objectId begins with `q`, or
 * all of them, in the order in which they came. `next` is where to go on: the next `after`.
 */
export const listUsers: Control = ({ query }, service) => {
  const limit = numberOf(query, 'limit', { fallback: 50, most: mostUsers });
  const after = numberOf(query, 'after', { fallback: 0 });
  const wanted = query.get('q') ?? '';
  const search = wanted === '' ? usersAfter : usersLike(wanted);
  const ids = search(service.store, after, limit + 1);
  const shown = ids.slice(0, limit);
  const next = ids.length > limit ? shown.at(-1) : undefined;
  const records = shown.map((id) => userText(service, id)).join(',');
  return `{"profiles":[${records}]${next === undefined ? '' : `,"next":${next}`}}`;
};

/** `GET /_local/profiles/<identity>`: one user, with the latest events. */
export const showUser: Control = ({ rest }, service) => {
  const user = profileByKey(service.store, { kind: 'identity', value: rest });
  if (!user) throw refused(404, `nobody has the identity ${rest}`);
  const events = eventsText(service, { profile: user.id, limit: 100 });
  return `${userText(service, user.id).slice(0, -1)},"latestEvents":[${events.join(',')}]}`;
};

/** The record of endpoint 5, with `reachability` and the number under which the service has the user. */
function userText(service: Service, id: number): string {
  const sql = profileRecord({ app: 1, summaries: 1, properties: 1 }, 'verbatim');
  const text = readRecords(service, sql, 'profiles p WHERE p.id = ?', [id]).toString();
  const reachability = JSON.stringify(reachabilityOf(JSON.parse(text) as object));
  return `${text.slice(0, -1)},"id":${id},"reachability":${reachability}}`;
}

import { objectText } from '../raw-json.js';
import { profileByKey, usersAfter, searchUsers } from '../store/profiles.js';
import { latestEvents, type EventQuery, type ListedEvent } from '../store/events.js';
import { integerParameter, badRequest, type ControlHandler } from './control-route.js';
import { requestError } from '../response.js';
import { profileRecordSql, readRecords } from '../store/record-json.js';
import { channels } from '../../contract/record-fields.js';
import { yieldToEventLoop } from '../concurrency.js';
import { expiryOf, type Position, type Export } from '../store/exports.js';
import { defaultVariants } from '../settings.js';
import type { ServiceContext } from '../service.js';
import type { Database } from '../store/database.js';

const mostEvents = 1000;

/** Handles `GET /_local/events?event=&identity=&after=&limit=`: latest first. Pass `next` as the next `after`. */
export const listEvents: ControlHandler = ({ query }, service) => {
  const limit = integerParameter(query, 'limit', { fallback: 100, most: mostEvents });
  const name = query.get('event') ?? undefined;
  const identity = query.get('identity');
  const user =
    identity === null
      ? undefined
      : profileByKey(service.store, { kind: 'identity', value: identity });
  if (identity !== null && !user) return '{"events":[]}';
  const after = placeOf(query.get('after'));
  const eventQuery = { name, profile: user?.id, after, limit: limit + 1 };
  const found = latestEvents(service.store, eventQuery);
  const page = found.slice(0, limit);
  const end = found.length > limit ? page.at(-1) : undefined;
  const next = end === undefined ? '' : `,"next":"${end.ts}.${end.event}.${end.id}"`;
  return `{"events":[${page.map(eventText).join(',')}]${next}}`;
};

const eventsText = ({ store }: ServiceContext, query: EventQuery): string[] =>
  latestEvents(store, query).map(eventText);

function placeOf(text: string | null): ListedEvent | undefined {
  if (text === null) return undefined;
  const [, ts, event, id] = /^(\d{1,11})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  if (ts === undefined) throw badRequest('after', `"${text}" is not the "next" of a response`);
  return { ts: Number(ts), event: Number(event), id: Number(id) } as ListedEvent;
}

function eventText({ name, ts, identity, object_id: objectId, props }: ListedEvent): string {
  return objectText([
    ['event', name],
    ['ts', String(ts)],
    ['at', JSON.stringify(new Date(ts * 1000))],
    ['identity', identity ?? 'null'],
    ['objectId', objectId ?? 'null'],
    ['props', props],
  ]);
}

const mostUsers = 500;

/**
 * Handles `GET /_local/profiles?q=&after=&limit=`: users whose identity, email or objectId begins with `q`, in
 * order of creation. Pass `next` as the next `after`.
 */
export const listUsers: ControlHandler = ({ query }, service) => {
  const limit = integerParameter(query, 'limit', { fallback: 50, most: mostUsers });
  const after = integerParameter(query, 'after', { fallback: 0 });
  const text = query.get('q') ?? '';
  const search = text === '' ? usersAfter : searchUsers(text);
  const ids = search(service.store, after, limit + 1);
  const page = ids.slice(0, limit);
  const next = ids.length > limit ? page.at(-1) : undefined;
  const records = page.map((id) => userText(service, id)).join(',');
  return `{"profiles":[${records}]${next === undefined ? '' : `,"next":${next}`}}`;
};

/** Handles `GET /_local/profiles/<identity>`: a user with the latest events. */
export const showUser: ControlHandler = ({ rest }, service) => {
  const user = profileByKey(service.store, { kind: 'identity', value: rest });
  if (!user) throw requestError(404, `no user has the identity ${rest}`);
  const events = eventsText(service, { profile: user.id, limit: 100 });
  return `${userText(service, user.id).slice(0, -1)},"latestEvents":[${events.join(',')}]}`;
};

/** Formats the record of endpoint 5 with `reachability` and the internal id of the user. */
function userText(service: ServiceContext, id: number): string {
  const sql = profileRecordSql({ app: 1, summaries: 1, properties: 1 }, defaultVariants);
  const text = readRecords(service, sql, 'profiles p WHERE p.id = ?', [id]).toString();
  const reachability = JSON.stringify(reachabilityOf(JSON.parse(text) as object));
  return `${text.slice(0, -1)},"id":${id},"reachability":${reachability}}`;
}

/**
 * Handles `GET /_local/subscriptions?after=&limit=`: unsubscribed addresses, in order. Pass `next` as the next
 * `after`.
 */
export const listSubscriptions: ControlHandler = ({ query }, { store }) => {
  const limit = integerParameter(query, 'limit', { fallback: 100, most: 1000 });
  const [, type = '', value = ''] = /^([a-z]+):(.*)$/s.exec(query.get('after') ?? '') ?? [];
  const found = store.all<{ type: string; value: string }>(
    `SELECT type, address AS value FROM blocked WHERE (type, address) > (?, ?)
     ORDER BY type, address LIMIT ?`,
    [type, value, limit + 1],
  );
  const page = found.slice(0, limit).map((one) => ({ ...one, status: 'Unsubscribed' }));
  const last = found.length > limit ? page.at(-1) : undefined;
  return JSON.stringify({
    subscriptions: page,
    next: last && `${last.type}:${last.value}`,
  });
};

interface User {
  readonly email?: string;
  readonly phone?: string;
  readonly profileData?: Readonly<Record<string, unknown>>;
}

interface Reachability {
  /** Null if the user has no address for this channel. */
  readonly address: string | null;
  readonly addressLevel: 'Subscribed' | 'Unsubscribed';
  readonly userLevel: 'Subscribed' | 'Unsubscribed';
  readonly isReachable: boolean;
}

/** Determines whether the user is reachable by each channel (specification, Reachability). */
export function reachabilityOf(user: User): Record<keyof typeof channels, Reachability> {
  const { email = null, phone = null, profileData = {} } = user;
  const of = (channel: keyof typeof channels, address: string | null): Reachability => {
    const { address: blocks, user: allows } = channels[channel];
    const isBlocked = profileData[blocks[0]] === true;
    const isOptedOut = profileData[allows[0]] === false;
    return {
      address,
      addressLevel: isBlocked ? 'Unsubscribed' : 'Subscribed',
      userLevel: isOptedOut ? 'Unsubscribed' : 'Subscribed',
      isReachable: address !== null && !isBlocked && !isOptedOut,
    };
  };
  return { sms: of('sms', phone), whatsapp: of('whatsapp', phone), email: of('email', email) };
}

const secondsOfDay = 86_400;
/** Events to count before yielding to other requests. */
const chunkEvents = 5000;

/**
 * Handles `GET /_local/events/days?event=`: the number of events on each day (UTC, days since 1970), of one name
 * or all, and all event names.
 */
export const countEventsByDay: ControlHandler = async ({ query }, { store }) => {
  const eventName = query.get('event') ?? '';
  // As JSON, because libsql truncates plain text at NUL.
  const known = store
    .all<{ id: number; name: string }>(
      'SELECT id, json_quote(name) AS name FROM event_names ORDER BY event_names.name',
      [],
    )
    .map(({ id, name }) => ({ id, name: JSON.parse(name) as string }));
  const days = new Map<number, number>();
  for (const { id, name } of known)
    if (eventName === '' || eventName === name) await countInto(days, store, id);
  return JSON.stringify({
    names: known.map(({ name }) => name),
    days: [...days].sort(([a], [b]) => a - b).map(([day, count]) => ({ day, count })),
  });
};

async function countInto(days: Map<number, number>, store: Database, event: number): Promise<void> {
  const after = 'FROM events WHERE event = ? AND (ts, id) > (?, ?) AND id > 0 ORDER BY ts, id';
  for (let from: Position | undefined = { ts: -1, id: 0 }; from !== undefined;) {
    const place: number[] = [event, from.ts, from.id];
    const found = store.all<{ day: number; count: number }>(
      `SELECT ts / ${secondsOfDay} AS day, count(*) AS count
       FROM (SELECT ts ${after} LIMIT ${chunkEvents}) GROUP BY day`,
      place,
    );
    for (const { day, count } of found) days.set(day, (days.get(day) ?? 0) + count);
    from = store.get<Position>(`SELECT ts, id ${after} LIMIT 1 OFFSET ${chunkEvents - 1}`, place);
    await yieldToEventLoop();
  }
}

const mostExports = 1000;

/**
 * Handles `GET /_local/cursors`: valid cursors among the latest 1000 exports, latest first. `event` is null for a
 * standard event that never occurred; `batch` 0 means unlimited.
 */
export const listCursors: ControlHandler = (_, { store, clock }) => {
  // The name as JSON, because libsql truncates plain text at NUL.
  const latest = store.all<Export & { readonly name: string }>(
    `SELECT x.*, json_quote(n.name) AS name FROM exports x LEFT JOIN event_names n ON n.id = x.event
     ORDER BY x.id DESC LIMIT ?`,
    [mostExports],
  );
  const now = clock.now();
  const cursors = latest
    .filter((opened) => now <= expiryOf(opened))
    .map((opened) => ({
      kind: opened.kind,
      event: JSON.parse(opened.name) as unknown,
      from: isoText(opened.start * 1000),
      before: isoText(opened.stop * 1000),
      batch: opened.batch,
      pendingPolls: opened.pending,
      openedAt: isoText(opened.opened_at),
      usedAt: isoText(opened.used_at),
      expiresAt: isoText(expiryOf(opened)),
    }));
  return JSON.stringify({ cursors });
};

const isoText = (milliseconds: number): string => new Date(milliseconds).toISOString();

import type { Database } from './database.js';

/** A row of table `event_names`. */
interface KnownEvent {
  readonly id: number;
  /** Id of the latest uploaded event of this name; ids increase. */
  readonly newest: number;
}

/** Looks up an event by its exact name; undefined if it never occurred. */
export const findEvent = (store: Database, name: string): KnownEvent | undefined =>
  store.get('SELECT id, newest FROM event_names WHERE name = ?', [name]);

interface PerformedEvent {
  readonly name: string;
  readonly profile: number;
  /** Epoch seconds. */
  readonly ts: number;
  /** JSON object. */
  readonly props: string;
}

/** Stores an event and updates the summary of the profile. An event uploaded twice counts twice. */
export function addEvent(store: Database, { name, profile, ts, props }: PerformedEvent): void {
  const event = countEvent(store, name);
  const values = [event.id, ts, event.newest, profile, props];
  store.run('INSERT INTO events (event, ts, id, profile, props) VALUES (?, ?, ?, ?, ?)', values);
  store.run(insertSummary, [profile, event.id, ts, ts]);
}

/** Stores an event of a seed with its device and session. Leaves the summary of the profile alone if the seed has it. */
export function restoreEvent(
  store: Database,
  event: PerformedEvent & { readonly device: string; readonly session: string | undefined },
): void {
  const { name, profile, ts, props, device, session } = event;
  const { id, newest } = countEvent(store, name);
  store.run('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)', [
    id,
    ts,
    newest,
    profile,
    props,
    device,
    session ?? null,
  ]);
  store.run(`${insertSummary} WHERE given = 0`, [profile, id, ts, ts]);
}

/** A value of `events` of a profile (specification, Event summary). Times in epoch seconds. */
export interface EventSummary {
  readonly count: number;
  readonly first: number;
  readonly last: number;
}

/**
 * Stores the summary of a seed, and marks that the user performed the event at its first and last time, so that
 * exports of profiles find the user without the events.
 */
export function restoreSummary(
  store: Database,
  profile: number,
  name: string,
  { count, first, last }: EventSummary,
): void {
  store.run('INSERT OR IGNORE INTO event_names (name, newest) VALUES (?, 0)', [name]);
  const { id = 0 } = findEvent(store, name) ?? {};
  const values = [profile, id, count, first, last];
  store.run('INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?, ?, 1)', values);
  for (const ts of [first, last])
    store.run("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, '{}', NULL, NULL)", [
      id,
      ts,
      -profile,
      profile,
    ]);
}

const countEvent = (store: Database, name: string): KnownEvent =>
  store.get(
    `INSERT INTO event_names (name, newest) VALUES (?, 1)
     ON CONFLICT DO UPDATE SET newest = newest + 1 RETURNING id, newest`,
    [name],
  ) as KnownEvent;

const addSummary = `ON CONFLICT DO UPDATE SET count = count + excluded.count,
  first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`;
const insertSummary = `INSERT INTO summaries (profile, event, count, first_seen, last_seen)
  VALUES (?, ?, 1, ?, ?) ${addSummary}`;

/** Moves all events of a profile to another and merges their summaries. */
export function moveEvents(store: Database, from: number, to: number): void {
  const performed = 'SELECT event FROM summaries WHERE profile = ?';
  for (const { event } of store.all<{ event: number }>(performed, [from])) {
    store.run('UPDATE events SET profile = ? WHERE event = ? AND profile = ?', [to, event, from]);
  }
  const summaries = `INSERT INTO summaries (profile, event, count, first_seen, last_seen)
    SELECT ?, event, count, first_seen, last_seen FROM summaries WHERE profile = ? ${addSummary}`;
  store.run(summaries, [to, from]);
  store.run('DELETE FROM summaries WHERE profile = ?', [from]);
}

/** Position of an event: ordered by time, then by event name id, then by upload. */
interface EventPosition {
  /** Epoch seconds. */
  readonly ts: number;
  readonly event: number;
  readonly id: number;
}

/** An event of a list. All members except the position are JSON texts: libsql truncates plain text at NUL. */
export interface ListedEvent extends EventPosition {
  readonly name: string;
  readonly identity: string | null;
  readonly object_id: string | null;
  readonly props: string;
}

export interface EventQuery {
  /** Undefined: all names. */
  readonly name?: string | undefined;
  /** Undefined: all users. */
  readonly profile?: number | undefined;
  /** Last event of the previous page. */
  readonly after?: EventPosition | undefined;
  readonly limit: number;
}

/** Returns the latest events, newest first. Reads each event name by index, so the size of the store does not matter. */
export function latestEvents(store: Database, query: EventQuery): ListedEvent[] {
  const { name, profile, limit } = query;
  const names = store.all<{ id: number }>(
    `SELECT id FROM event_names WHERE (?1 IS NULL OR name = ?1) AND (?2 IS NULL
      OR EXISTS (SELECT 1 FROM summaries s WHERE s.profile = ?2 AND s.event = id))`,
    [name ?? null, profile ?? null],
  );
  const found = names.flatMap(({ id }) => eventsOf(store, id, query));
  return found.sort((a, b) => b.ts - a.ts || b.event - a.event || b.id - a.id).slice(0, limit);
}

function eventsOf(
  store: Database,
  event: number,
  { profile, after, limit }: EventQuery,
): ListedEvent[] {
  const [index, ofUser] =
    profile === undefined ? ['', ''] : ['INDEXED BY events_by_profile', 'AND e.profile = ?5'];
  const sql = `SELECT e.ts, e.event, e.id, e.props, json_quote(n.name) AS name,
      p.identities -> 0 AS identity, p.object_ids -> 0 AS object_id
    FROM events e ${index} JOIN event_names n ON n.id = e.event JOIN profiles p ON p.id = e.profile
    WHERE e.event = ?1 AND (e.ts, e.id) < (?2, ?3) AND e.id > 0 ${ofUser} ORDER BY e.ts DESC, e.id DESC LIMIT ?4`;
  const values = [event, after?.ts ?? Number.MAX_SAFE_INTEGER, idBefore(event, after), limit];
  return store.all(sql, profile === undefined ? values : [...values, profile]);
}

/** Upper bound of ids at the second of `after`, for events of this name. */
function idBefore(event: number, after: EventPosition | undefined): number {
  if (!after || event < after.event) return Number.MAX_SAFE_INTEGER;
  return event === after.event ? after.id : -1;
}

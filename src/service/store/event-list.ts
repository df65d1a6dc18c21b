import type { Database } from './database.js';

/** Where an event stands in the list: by time, then by name's id, then by the order of upload. */
export interface EventPlace {
  /** Epoch seconds. */
  readonly ts: number;
  readonly event: number;
  readonly id: number;
}

/** All but its place are JSON texts: a text that comes from the store itself ends before a NUL in it. */
export interface ListedEvent extends EventPlace {
  readonly name: string;
  readonly identity: string | null;
  readonly object_id: string | null;
  readonly props: string;
}

export interface EventsWanted {
  /** Undefined: of every name. */
  readonly name?: string | undefined;
  /** Undefined: of every user. */
  readonly profile?: number | undefined;
  /** The last one that is known already. */
  readonly after?: EventPlace | undefined;
  readonly limit: number;
}

/** The latest events, the newest first: those of each name by the index, whatever the store's size. */
export function latestEvents(store: Database, wanted: EventsWanted): ListedEvent[] {
  const { name, profile, limit } = wanted;
  const names = store.all<{ id: number }>(
    `SELECT id FROM event_names WHERE (?1 IS NULL OR name = ?1) AND (?2 IS NULL
      OR EXISTS (SELECT 1 FROM summaries s WHERE s.profile = ?2 AND s.event = id))`,
    [name ?? null, profile ?? null],
  );
  const found = names.flatMap(({ id }) => eventsOf(store, id, wanted));
  return found.sort((a, b) => b.ts - a.ts || b.event - a.event || b.id - a.id).slice(0, limit);
}

function eventsOf(
  store: Database,
  event: number,
  { profile, after, limit }: EventsWanted,
): ListedEvent[] {
  const [index, ofUser] =
    profile === undefined ? ['', ''] : ['INDEXED BY events_by_profile', 'AND e.profile = ?5'];
  const sql = `SELECT e.ts, e.event, e.id, e.props, json_quote(n.name) AS name,
      p.identities -> 0 AS identity, p.object_ids -> 0 AS object_id
    FROM events e ${index} JOIN event_names n ON n.id = e.event JOIN profiles p ON p.id = e.profile
    WHERE e.event = ?1 AND (e.ts, e.id) < (?2, ?3) ${ofUser} ORDER BY e.ts DESC, e.id DESC LIMIT ?4`;
  const values = [event, after?.ts ?? Number.MAX_SAFE_INTEGER, idBefore(event, after), limit];
  return store.all(sql, profile === undefined ? values : [...values, profile]);
}

/** At the same second come the events of a smaller name's id, then those of the same one that are older. */
function idBefore(event: number, after: EventPlace | undefined): number {
  if (!after || event < after.event) return Number.MAX_SAFE_INTEGER;
  return event === after.event ? after.id : -1;
}

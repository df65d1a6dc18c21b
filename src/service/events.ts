import type { Store } from './store.js';

/** The id under which the store knows an event's exact name; undefined: nobody ever did it. */
export const findEvent = (store: Store, name: string): number | undefined =>
  store.get<{ id: number }>('SELECT id FROM event_names WHERE name = ?', [name])?.id;

export const eventIdOf = (store: Store, name: string): number =>
  findEvent(store, name) ?? store.run('INSERT INTO event_names (name) VALUES (?)', [name]);

export interface PerformedEvent {
  readonly event: number;
  readonly profile: number;
  /** Epoch seconds. */
  readonly ts: number;
  /** JSON object. */
  readonly props: string;
}

/** Appends the event and counts it into the profile's summary. Events sent twice count twice. */
export function addEvent(store: Store, { event, profile, ts, props }: PerformedEvent): void {
  store.run('INSERT INTO events (event, profile, ts, props) VALUES (?, ?, ?, ?)', [
    event,
    profile,
    ts,
    props,
  ]);
  store.run(
    `INSERT INTO summaries (profile, event, count, first_seen, last_seen) VALUES (?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + 1,
       first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`,
    [profile, event, ts, ts],
  );
}

/** The id of the event uploaded last; ids only grow. */
export const newestEvent = (store: Store): number =>
  store.get<{ newest: number | null }>('SELECT max(id) AS newest FROM events', [])?.newest ?? 0;

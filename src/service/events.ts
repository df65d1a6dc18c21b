import type { Store } from './store.js';

/** An event's name as the store knows it. */
export interface KnownEvent {
  readonly id: number;
  /** The id of the event of this name that was uploaded last; such ids only grow. */
  readonly newest: number;
}

/** What is known of an event's exact name; undefined: nobody ever did it. */
export const findEvent = (store: Store, name: string): KnownEvent | undefined =>
  store.get('SELECT id, newest FROM event_names WHERE name = ?', [name]);

export interface PerformedEvent {
  readonly name: string;
  readonly profile: number;
  /** Epoch seconds. */
  readonly ts: number;
  /** JSON object. */
  readonly props: string;
}

/** Adds the event and counts it into the profile's summary. Events sent twice count twice. */
export function addEvent(store: Store, { name, profile, ts, props }: PerformedEvent): void {
  const event = store.get<KnownEvent>(
    `INSERT INTO event_names (name, newest) VALUES (?, 1)
     ON CONFLICT DO UPDATE SET newest = newest + 1 RETURNING id, newest`,
    [name],
  ) as KnownEvent;
  store.run('INSERT INTO events (event, ts, id, profile, props) VALUES (?, ?, ?, ?, ?)', [
    event.id,
    ts,
    event.newest,
    profile,
    props,
  ]);
  store.run(
    `INSERT INTO summaries (profile, event, count, first_seen, last_seen) VALUES (?, ?, 1, ?, ?)
     ON CONFLICT DO UPDATE SET count = count + 1,
       first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`,
    [profile, event.id, ts, ts],
  );
}

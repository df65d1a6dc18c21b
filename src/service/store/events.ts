import type { Database } from './database.js';

/** An event's name as the store knows it. */
export interface KnownEvent {
  readonly id: number;
  /** The id of the event of this name that was uploaded last; such ids only grow. */
  readonly newest: number;
}

/** What is known of an event's exact name; undefined: nobody ever did it. */
export const findEvent = (store: Database, name: string): KnownEvent | undefined =>
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
export function addEvent(store: Database, { name, profile, ts, props }: PerformedEvent): void {
  const event = store.get<KnownEvent>(
    `INSERT INTO event_names (name, newest) VALUES (?, 1)
     ON CONFLICT DO UPDATE SET newest = newest + 1 RETURNING id, newest`,
    [name],
  ) as KnownEvent;
  const values = [event.id, ts, event.newest, profile, props];
  store.run('INSERT INTO events (event, ts, id, profile, props) VALUES (?, ?, ?, ?, ?)', values);
  const summary = `INSERT INTO summaries (profile, event, count, first_seen, last_seen)
    VALUES (?, ?, 1, ?, ?) ${addSummary}`;
  store.run(summary, [profile, event.id, ts, ts]);
}

const addSummary = `ON CONFLICT DO UPDATE SET count = count + excluded.count,
  first_seen = min(first_seen, excluded.first_seen), last_seen = max(last_seen, excluded.last_seen)`;

/** Gives all events of a profile to another, and adds their summaries up. */
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

import { nextTurn } from '../mutex.js';
import type { Database } from '../store/database.js';
import type { Position } from '../store/stored-page.js';
import type { Control } from './control-route.js';

const secondsOfDay = 86_400;
/** Read at a time; others are served in between. */
const chunkEvents = 5000;

/**
 * `GET /_local/events/days?event=`: how many events there are on each day (UTC, days since 1970) that has
 * some, of one name or of all; and all names.
 */
export const countDays: Control = async ({ query }, { store }) => {
  const wanted = query.get('event') ?? '';
  // As JSON: a text that comes from the store itself ends before a NUL in it.
  const known = store
    .all<{ id: number; name: string }>(
      'SELECT id, json_quote(name) AS name FROM event_names ORDER BY event_names.name',
      [],
    )
    .map(({ id, name }) => ({ id, name: JSON.parse(name) as string }));
  const days = new Map<number, number>();
  for (const { id, name } of known)
    if (wanted === '' || wanted === name) await countInto(days, store, id);
  return JSON.stringify({
    names: known.map(({ name }) => name),
    days: [...days].sort(([a], [b]) => a - b).map(([day, count]) => ({ day, count })),
  });
};

async function countInto(days: Map<number, number>, store: Database, event: number): Promise<void> {
  const after = 'FROM events WHERE event = ? AND (ts, id) > (?, ?) ORDER BY ts, id';
  for (let from: Position | undefined = { ts: -1, id: 0 }; from !== undefined;) {
    const place: number[] = [event, from.ts, from.id];
    const found = store.all<{ day: number; count: number }>(
      `SELECT ts / ${secondsOfDay} AS day, count(*) AS count
       FROM (SELECT ts ${after} LIMIT ${chunkEvents}) GROUP BY day`,
      place,
    );
    for (const { day, count } of found) days.set(day, (days.get(day) ?? 0) + count);
    from = store.get<Position>(`SELECT ts, id ${after} LIMIT 1 OFFSET ${chunkEvents - 1}`, place);
    await nextTurn();
  }
}

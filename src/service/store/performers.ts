import { nextTurn } from '../mutex.js';
import type { Database } from './database.js';
import type { Export } from './exports.js';

/** Entries of the index that are looked at before others are served: few of them may be in the range. */
const windowEntries = 10_000;

/** An entry of the index: all with this event are in order of (profile, ts). */
interface Entry {
  readonly profile: number;
  readonly ts: number;
}

/** Ids of the users after this one who did the export's event in its range, in order, at most so many. */
export async function performersAfter(
  store: Database,
  { event, start, stop, newest }: Export,
  user: number,
  most: number,
): Promise<number[]> {
  const performers: number[] = [];
  let last: Entry | undefined = endOf(user);
  while (last && performers.length < most) {
    const after: number[] = [event, last.profile, last.ts];
    const found = store.get<{ ids: string }>(inWindow, [...after, start, stop, newest]);
    for (const id of JSON.parse(found?.ids ?? '[]') as number[]) performers.push(id);
    last = store.get<Entry>(endOfWindow, after);
    // What else this user did is passed over.
    if (last && last.profile === performers.at(-1)) last = endOf(last.profile);
    await nextTurn();
  }
  return performers.slice(0, most);
}

const endOf = (profile: number): Entry => ({ profile, ts: Number.MAX_SAFE_INTEGER });

const entries = (columns: string, limit: string): string =>
  `SELECT ${columns} FROM events INDEXED BY events_by_profile
   WHERE event = ? AND (profile, ts) > (?, ?) ORDER BY profile, ts LIMIT ${limit}`;
const inWindow = `SELECT json_group_array(DISTINCT profile) AS ids
  FROM (${entries('profile, ts, id', String(windowEntries))})
  WHERE ts >= ? AND ts < ? AND id <= ?`;
const endOfWindow = entries('profile, ts', `1 OFFSET ${windowEntries - 1}`);

import { yieldToEventLoop } from '../mutex.js';
import { eventRecordSql, profileRecordSql, readRecords, type ProfileParts } from './record-json.js';
import type { Database } from './database.js';
import type { ServiceContext } from '../service.js';

/** An export that was opened (endpoint 3 or 6), as its row in table `exports`: what its cursors refer to. */
export interface Export extends ProfileParts {
  readonly id: number;
  readonly kind: 'profiles' | 'events';
  readonly event: number;
  /** Epoch seconds: start included, stop not. */
  readonly start: number;
  readonly stop: number;
  /** Records of a page; 0 is all of them. */
  readonly batch: number;
  /** The newest event when the export was opened: later ones do not disturb its pages. */
  readonly newest: number;
  /** Polls still to be answered by code 2. */
  readonly pending: number;
  /** Milliseconds since 1970. */
  readonly opened_at: number;
  readonly used_at: number;
}

const hour = 3_600_000;
/** How long cursors live, in milliseconds (service-facts, Cursors). */
const lives = {
  events: { whole: 4 * hour, idle: hour },
  profiles: { whole: 96 * hour, idle: 96 * hour },
} as const;
/** After this an export is forgotten, and its cursors count as corrupt. */
const remembered = 2 * lives.profiles.whole;

export function insertExport(store: Database, opened: Omit<Export, 'id'>): number {
  return store.transaction(() => {
    store.run('DELETE FROM exports WHERE opened_at < ?', [opened.opened_at - remembered]);
    const columns = Object.keys(opened).join(', ');
    const values = Object.values(opened);
    const marks = values.map(() => '?').join(', ');
    return store.insert(`INSERT INTO exports (${columns}) VALUES (${marks})`, values);
  });
}

/** Finds the export and marks it as used; `pending` is its value before this poll. */
export function useExport(store: Database, id: number, now: number): Export | undefined {
  return store.transaction(() => {
    const opened = store.get<Export>('SELECT * FROM exports WHERE id = ?', [id]);
    if (opened && !isExpired(opened, now)) {
      const sql = 'UPDATE exports SET used_at = ?, pending = max(pending - 1, 0) WHERE id = ?';
      store.run(sql, [now, id]);
    }
    return opened;
  });
}

export const isExpired = (opened: Export, now: number): boolean => now > expiryOf(opened);

/** The last millisecond in which its cursors are answered, when it is not used again. */
export const expiryOf = ({ kind, opened_at, used_at }: Export): number =>
  Math.min(opened_at + lives[kind].whole, used_at + lives[kind].idle);

/** Entries of the index that are looked at before others are served: few of them may be in the range. */
const windowEntries = 10_000;

/** An entry of the index: all with this event are in order of (profile, ts). */
interface Entry {
  readonly profile: number;
  readonly ts: number;
}

/** Ids of the users after this one who did the export's event in its range, in order, at most so many. */
async function performersAfter(
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
    await yieldToEventLoop();
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

/** A page begins after this key. Events are in order of (ts, id), profiles of id. */
export interface Position {
  readonly ts: number;
  readonly id: number;
}

interface StoredPage {
  /** Chunks of records joined by commas, read from the store while they are consumed; undefined: none. */
  readonly records: Iterable<Buffer> | undefined;
  /** Where the next page begins; undefined: no records remain. */
  readonly next: Position | undefined;
}

const chunkRecords = 250;

/** The page of an export after the position. */
export const readExportPage = (
  service: ServiceContext,
  opened: Export,
  from: Position,
): StoredPage | Promise<StoredPage> => pages[opened.kind](service, opened, from);

const pages = { events: eventPage, profiles: profilePage } as const;

function eventPage(service: ServiceContext, opened: Export, from: Position): StoredPage {
  const { event, start, stop, newest, batch } = opened;
  const record = eventRecordSql(opened, service.variants.keyStyle);
  const valuesAfter = ({ ts, id }: Position): number[] =>
    ts < start ? [event, start - 1, newest, stop, newest] : [event, ts, id, stop, newest];
  /** Positions of at most two events: the one `skip` events after the position's successor, and the next. */
  const positionsAfter = (position: Position, skip: number): Position[] =>
    service.store.all(`SELECT id, ts ${events} LIMIT 2 OFFSET ?`, [...valuesAfter(position), skip]);

  function* chunks(): Generator<Buffer> {
    let position: Position | undefined = from;
    for (let left = batch || Infinity; position && left > 0; left -= chunkRecords) {
      const most = Math.min(chunkRecords, left);
      yield readRecords(service, record, rowsAfter, [...valuesAfter(position), most]);
      const [last, after]: Position[] = positionsAfter(position, most - 1);
      position = after && last;
    }
  }
  const [last, after] = batch === 0 ? [] : positionsAfter(from, batch - 1);
  const isEmpty = positionsAfter(from, 0).length === 0;
  return { records: isEmpty ? undefined : chunks(), next: after && last };
}

const events = `FROM events
  WHERE event = ? AND (ts, id) > (?, ?) AND ts < ? AND id <= ? ORDER BY ts, id`;
/** CROSS JOIN keeps the order of what it joins, in which the events lie. */
const rowsAfter = `(SELECT * ${events} LIMIT ?) e CROSS JOIN profiles p ON p.id = e.profile`;

async function profilePage(
  service: ServiceContext,
  opened: Export,
  from: Position,
): Promise<StoredPage> {
  const most = opened.batch || Infinity;
  const ids = await performersAfter(service.store, opened, from.id, most + 1);
  const record = profileRecordSql(opened, service.variants.keyStyle);

  function* chunks(): Generator<Buffer> {
    for (let at = 0; at < Math.min(ids.length, most); at += chunkRecords) {
      const chunk = ids.slice(at, Math.min(at + chunkRecords, most));
      yield readRecords(service, record, rowsOfIds, [JSON.stringify(chunk)]);
    }
  }
  const last = ids.length > most ? ids[most - 1] : undefined;
  return {
    records: ids.length === 0 ? undefined : chunks(),
    next: last === undefined ? undefined : { ts: 0, id: last },
  };
}

const rowsOfIds = 'json_each(?) e CROSS JOIN profiles p ON p.id = e.value';

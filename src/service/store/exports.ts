import { yieldToEventLoop } from '../concurrency.js';
import { eventRecordSql, profileRecordSql, readRecords, type ProfileParts } from './record-json.js';
import type { Database } from './database.js';
import type { ServiceContext } from '../service.js';

/** A row of table `exports`: an open export (endpoint 3 or 6), to which cursors refer. */
export interface Export extends ProfileParts {
  readonly id: number;
  readonly kind: 'profiles' | 'events';
  readonly event: number;
  /** Epoch seconds; `start` is inclusive, `stop` exclusive. */
  readonly start: number;
  readonly stop: number;
  /** Page size; 0 is unlimited. */
  readonly batch: number;
  /** Newest event when the export was opened; later events are excluded from its pages. */
  readonly newest: number;
  /** Remaining polls to answer with code 2. */
  readonly pending: number;
  /** Milliseconds since 1970. */
  readonly opened_at: number;
  readonly used_at: number;
}

const hour = 3_600_000;
/** Lifetime of cursors, in milliseconds (service-facts, Cursors). */
const lifetimes = {
  events: { whole: 4 * hour, idle: hour },
  profiles: { whole: 96 * hour, idle: 96 * hour },
} as const;
/** Age at which an export is deleted; its cursors are corrupt from then on. */
const retention = 2 * lifetimes.profiles.whole;

export function insertExport(store: Database, opened: Omit<Export, 'id'>): number {
  return store.transaction(() => {
    store.run('DELETE FROM exports WHERE opened_at < ?', [opened.opened_at - retention]);
    const columns = Object.keys(opened).join(', ');
    const values = Object.values(opened);
    const marks = values.map(() => '?').join(', ');
    return store.insert(`INSERT INTO exports (${columns}) VALUES (${marks})`, values);
  });
}

/** Returns the export and marks it as used; `pending` is the value before this poll. */
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

/** Returns the last millisecond at which cursors are valid if the export is not used again. */
export const expiryOf = ({ kind, opened_at, used_at }: Export): number =>
  Math.min(opened_at + lifetimes[kind].whole, used_at + lifetimes[kind].idle);

/** Index entries to scan before yielding to other requests: few of them may be in the range. */
const windowEntries = 10_000;

/** An entry of the index `events_by_profile`, which orders the events of a name by (profile, ts). */
interface Entry {
  readonly profile: number;
  readonly ts: number;
}

/** Returns at most `most` ids, in order, of the users after `user` who performed the event in the range. */
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
    // Skips further events of the same user.
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

/** Key before the first record of a page. Events are ordered by (ts, id), profiles by id. */
export interface Position {
  readonly ts: number;
  readonly id: number;
}

interface StoredPage {
  /** Chunks of records joined by commas, read from the store on demand; undefined: no records. */
  readonly records: Iterable<Buffer> | undefined;
  /** Position of the next page; undefined: no records remain. */
  readonly next: Position | undefined;
}

const chunkRecords = 250;

/** Reads the page of an export after a position. */
export const readExportPage = (
  service: ServiceContext,
  opened: Export,
  from: Position,
): StoredPage | Promise<StoredPage> => pages[opened.kind](service, opened, from);

const pages = { events: eventPage, profiles: profilePage } as const;

function eventPage(service: ServiceContext, opened: Export, from: Position): StoredPage {
  const { event, start, stop, newest, batch } = opened;
  const record = eventRecordSql(opened, service.settings.values.variants);
  const valuesAfter = ({ ts, id }: Position): number[] =>
    ts < start ? [event, start - 1, newest, stop, newest] : [event, ts, id, stop, newest];
  /** Returns the positions of at most two events after `position`, skipping `skip` events. */
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
  WHERE event = ? AND (ts, id) > (?, ?) AND ts < ? AND id <= ? AND id > 0 ORDER BY ts, id`;
/** CROSS JOIN preserves the order of the events. */
const rowsAfter = `(SELECT * ${events} LIMIT ?) e CROSS JOIN profiles p ON p.id = e.profile`;

async function profilePage(
  service: ServiceContext,
  opened: Export,
  from: Position,
): Promise<StoredPage> {
  const most = opened.batch || Infinity;
  const ids = await performersAfter(service.store, opened, from.id, most + 1);
  const record = profileRecordSql(opened, service.settings.values.variants);

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

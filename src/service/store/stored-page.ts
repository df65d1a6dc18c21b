import type { Service } from '../service.js';
import type { Export } from './exports.js';
import { eventRecord, profileRecord, readRecords } from './record-sql.js';

/** A page begins after this key. Events are in order of (ts, id), profiles of id. */
export interface Position {
  readonly ts: number;
  readonly id: number;
}

export interface StoredPage {
  /** Chunks of records joined by commas, read from the store while they are consumed; undefined: none. */
  readonly records: Iterable<Buffer> | undefined;
  /** Where the next page begins; undefined: no records remain. */
  readonly next: Position | undefined;
}

const chunkRecords = 250;

/** The page of an export after the position. */
export function storedPage(service: Service, opened: Export, from: Position): StoredPage {
  const { event, start, stop, newest, batch } = opened;
  const { positions, rows, recordOf } = readings[opened.kind];
  const record = recordOf(opened, service.variants.keyStyle);
  const valuesAfter = ({ ts, id }: Position): number[] =>
    opened.kind === 'profiles'
      ? [event, id, start, stop, newest]
      : ts < start
        ? [event, start - 1, newest, stop, newest]
        : [event, ts, id, stop, newest];
  /** Positions of at most two records: the one `skip` records after the position's successor, and the next. */
  const positionsAfter = (position: Position, skip: number): Position[] =>
    service.store.all(`${positions} LIMIT 2 OFFSET ?`, [...valuesAfter(position), skip]);

  function* chunks(): Generator<Buffer> {
    let position: Position | undefined = from;
    for (let left = batch || Infinity; position && left > 0; left -= chunkRecords) {
      const most = Math.min(chunkRecords, left);
      const rowsAfter = `(${rows} LIMIT ?) e CROSS JOIN profiles p ON p.id = e.profile`;
      yield readRecords(service, record, rowsAfter, [...valuesAfter(position), most]);
      const [last, after]: Position[] = positionsAfter(position, most - 1);
      position = after && last;
    }
  }
  const [last, after] = batch === 0 ? [] : positionsAfter(from, batch - 1);
  const isEmpty = positionsAfter(from, 0).length === 0;
  return { records: isEmpty ? undefined : chunks(), next: after && last };
}

/** CROSS JOIN keeps the order of what it joins, in which the events lie. */
const events = `FROM events
  WHERE event = ? AND (ts, id) > (?, ?) AND ts < ? AND id <= ? ORDER BY ts, id`;
/** Users who did an event in a range, each once. */
const performers = `SELECT DISTINCT e.profile FROM events e INDEXED BY events_by_profile
  WHERE e.event = ? AND e.profile > ? AND e.ts >= ? AND e.ts < ? AND e.id <= ? ORDER BY e.profile`;

/** What each kind of export reads, in SQL. */
const readings = {
  events: {
    positions: `SELECT id, ts ${events}`,
    rows: `SELECT * ${events}`,
    recordOf: eventRecord,
  },
  profiles: {
    positions: `SELECT profile AS id, 0 AS ts FROM (${performers})`,
    rows: performers,
    recordOf: profileRecord,
  },
} as const;

import type { Service } from '../service.js';
import type { Export } from './exports.js';
import { performersAfter } from './performers.js';
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
export const storedPage = (
  service: Service,
  opened: Export,
  from: Position,
): StoredPage | Promise<StoredPage> => pages[opened.kind](service, opened, from);

const pages = { events: eventPage, profiles: profilePage } as const;

function eventPage(service: Service, opened: Export, from: Position): StoredPage {
  const { event, start, stop, newest, batch } = opened;
  const record = eventRecord(opened, service.variants.keyStyle);
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

async function profilePage(service: Service, opened: Export, from: Position): Promise<StoredPage> {
  const most = opened.batch || Infinity;
  const ids = await performersAfter(service.store, opened, from.id, most + 1);
  const record = profileRecord(opened, service.variants.keyStyle);

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

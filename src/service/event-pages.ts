import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import { fillGaps } from './gaps.js';
import type { PageSource } from './page.js';
import { eventRecord } from './record-sql.js';
import type { Service } from './service.js';

/** Events of one name in a range, in order of time: endpoint 7. */
export function eventPages({ store, zone, variants }: Service, opened: Export): PageSource {
  const { event, start, stop, newest, parts } = opened;
  const valuesAfter = ({ ts, id }: Position, most: number): number[] =>
    ts < start
      ? [event, start - 1, newest, stop, newest, most]
      : [event, ts, id, stop, newest, most];
  const selectRecords = `SELECT group_concat(${eventRecord(parts, variants.keyStyle)}) AS records
    FROM (${places} LIMIT ?6) place CROSS JOIN events e ON e.id = place.id
    CROSS JOIN profiles p ON p.id = e.profile`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number; ts: number }>(selectPositions, [...valuesAfter(from, skip + 2), skip])
        .map(({ id, ts }) => ({ export: opened.id, ts, id })),
    recordsAfter: (from, most) => {
      const row = store.get<{ records: string | null }>(selectRecords, valuesAfter(from, most));
      return fillGaps(row?.records ?? '', zone, parts.app);
    },
  };
}

/**
 * Events after a position, at most ?6 of each part. `(ts, id) > (?2, ?3)` in one would read
 * all events of that second again for every page: a date without a time has thousands. They come
 * in order: UNION ALL gives its first part first, and CROSS JOIN keeps the order of what it joins.
 */
const places = `
  SELECT id, ts FROM (SELECT id, ts FROM events
    WHERE event = ?1 AND ts = ?2 AND id > ?3 AND id <= ?5 ORDER BY id LIMIT ?6)
  UNION ALL
  SELECT id, ts FROM (SELECT id, ts FROM events
    WHERE event = ?1 AND ts > ?2 AND ts < ?4 AND id <= ?5 ORDER BY ts, id LIMIT ?6)`;
const selectPositions = `${places} LIMIT 2 OFFSET ?7`;

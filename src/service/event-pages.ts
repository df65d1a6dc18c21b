import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import { fillGaps } from './gaps.js';
import type { PageSource } from './page.js';
import { concatenated, eventRecord } from './record-sql.js';
import type { Service } from './service.js';

/** Events of one name in a range, in order of time: endpoint 7. */
export function eventPages({ store, zone, variants }: Service, opened: Export): PageSource {
  const { event, start, stop, newest, parts } = opened;
  const valuesAfter = ({ ts, id }: Position): number[] =>
    ts < start ? [event, start - 1, newest, stop, newest] : [event, ts, id, stop, newest];
  const selectRecords = `SELECT ${concatenated(eventRecord(parts, variants.keyStyle))}
    FROM (SELECT * ${fromEvents} LIMIT ?) e CROSS JOIN profiles p ON p.id = e.profile`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number; ts: number }>(selectPositions, [...valuesAfter(from), skip])
        .map(({ id, ts }) => ({ export: opened.id, ts, id })),
    recordsAfter: (from, most) => {
      const values = [...valuesAfter(from), most];
      return fillGaps(store.bytes(selectRecords, values), zone, parts.app);
    },
  };
}

/** They lie in this order; CROSS JOIN keeps the order of what it joins. */
const fromEvents = `FROM events
  WHERE event = ? AND (ts, id) > (?, ?) AND ts < ? AND id <= ? ORDER BY ts, id`;
const selectPositions = `SELECT id, ts ${fromEvents} LIMIT 2 OFFSET ?`;

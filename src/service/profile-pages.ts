import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import { fillGaps } from './gaps.js';
import type { PageSource } from './page.js';
import { concatenated, profileRecord } from './record-sql.js';
import type { Service } from './service.js';

/** Users who did an event in a range, each once, in order of their ids: endpoint 4. */
export function profilePages({ store, zone, variants }: Service, opened: Export): PageSource {
  const { event, start, stop, newest, parts } = opened;
  const valuesAfter = ({ id }: Position) => [event, id, start, stop, newest];
  const selectRecords = `SELECT ${concatenated(profileRecord(parts, variants.keyStyle))}
    FROM (${performers} LIMIT ?) e CROSS JOIN profiles p ON p.id = e.profile`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number }>(selectPositions, [...valuesAfter(from), skip])
        .map(({ id }) => ({ export: opened.id, ts: 0, id })),
    recordsAfter: (from, most) => {
      const values = [...valuesAfter(from), most];
      return fillGaps(store.bytes(selectRecords, values), zone, parts.app);
    },
  };
}

const performers = `SELECT DISTINCT e.profile FROM events e INDEXED BY events_by_profile
  WHERE e.event = ? AND e.profile > ? AND e.ts >= ? AND e.ts < ? AND e.id <= ? ORDER BY e.profile`;
const selectPositions = `SELECT profile AS id FROM (${performers}) LIMIT 2 OFFSET ?`;

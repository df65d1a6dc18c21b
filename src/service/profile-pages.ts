import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import type { PageSource } from './page.js';
import { profileColumns, type ProfileRow } from './profile-rows.js';
import { renderProfile } from './render-profile.js';
import type { Service } from './service.js';

/** Users who did an event in a range, each once, in order of their ids: endpoint 4. */
export function profilePages({ store, variants }: Service, opened: Export): PageSource {
  const { event, start, stop, newest, parts } = opened;
  const valuesAfter = ({ id }: Position) => [event, id, start, stop, newest];
  const selectRecords = `SELECT ${profileColumns(parts)} FROM profiles p
    WHERE p.id IN (${performers} LIMIT ?) ORDER BY p.id`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number }>(selectPositions, [...valuesAfter(from), skip])
        .map(({ id }) => ({ export: opened.id, ts: 0, id })),
    recordsAfter: (from, most) => {
      const rows = store.all<ProfileRow>(selectRecords, [...valuesAfter(from), most]);
      const last = rows.at(-1);
      return {
        texts: rows.map((row) => renderProfile(row, parts, variants.keyStyle)),
        last: last && { export: opened.id, ts: 0, id: last.id },
      };
    },
  };
}

const performers = `SELECT DISTINCT e.profile FROM events e INDEXED BY events_by_profile
  WHERE e.event = ? AND e.profile > ? AND e.ts >= ? AND e.ts < ? AND e.id <= ? ORDER BY e.profile`;
const selectPositions = `SELECT profile AS id FROM (${performers}) LIMIT 2 OFFSET ?`;

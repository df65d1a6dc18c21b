import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import { localDigits } from './local-time.js';
import type { PageSource } from './page.js';
import { profileColumns, type ProfileRow } from './profile-rows.js';
import { renderEventProfile, summariesMember } from './render-profile.js';
import type { Service } from './service.js';

/** Events of one name in a range, in order of time: endpoint 7. */
export function eventPages(service: Service, opened: Export): PageSource {
  const { store } = service;
  const { event, start, stop, newest } = opened;
  const valuesAfter = ({ ts, id }: Position) => [event, Math.max(start, ts), stop, ts, id, newest];
  const selectRecords = `SELECT ${profileColumns(opened.parts)}, e.id AS event_id, e.ts, e.props
    FROM events e JOIN profiles p ON p.id = e.profile WHERE ${inRange} ${inOrder} LIMIT ?`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number; ts: number }>(selectPositions, [...valuesAfter(from), skip])
        .map(({ id, ts }) => ({ export: opened.id, ts, id })),
    recordsAfter: (from, most) => {
      const rows = store.all<EventRow>(selectRecords, [...valuesAfter(from), most]);
      const last = rows.at(-1);
      return {
        texts: rows.map((row) => renderEvent(row, opened, service)),
        last: last && { export: opened.id, ts: last.ts, id: last.event_id },
      };
    },
  };
}

const inRange = 'e.event = ? AND e.ts >= ? AND e.ts < ? AND (e.ts, e.id) > (?, ?) AND e.id <= ?';
const inOrder = 'ORDER BY e.ts, e.id';
const selectPositions = `SELECT e.id, e.ts FROM events e WHERE ${inRange} ${inOrder} LIMIT 2 OFFSET ?`;

type EventRow = ProfileRow & {
  readonly event_id: number;
  readonly ts: number;
  readonly props: string;
};

/** Uploads carry no session, so its source is what the specification calls unset. */
const sessionProps = '{"session_source":"Unavailable"}';

function renderEvent(row: EventRow, { parts }: Export, { zone, variants }: Service): string {
  const members = [
    `"profile":${renderEventProfile(row, parts, variants.keyStyle)}`,
    ...summariesMember(row, parts),
    `"ts":${localDigits(zone, row.ts)}`,
    `"event_props":${row.props}`,
    `"session_props":${sessionProps}`,
  ];
  return `{${members.join(',')}}`;
}

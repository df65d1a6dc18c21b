import type { Position } from './cursors.js';
import type { Export } from './exports.js';
import { localDigits } from './local-time.js';
import type { PageSource } from './page.js';
import { profileColumns, profileRowOf, type ProfileRow } from './profile-rows.js';
import { renderEventProfile, summariesMember } from './render-profile.js';
import type { Service } from './service.js';

/** Events of one name in a range, in order of time: endpoint 7. */
export function eventPages(service: Service, opened: Export): PageSource {
  const { store } = service;
  const { event, start, stop, newest } = opened;
  const valuesAfter = ({ ts, id }: Position, most: number): number[] =>
    ts < start
      ? [event, start - 1, newest, stop, newest, most]
      : [event, ts, id, stop, newest, most];
  const selectRecords = `SELECT ${profileColumns(opened.parts)}, e.id, e.ts, e.props
    FROM (${places} LIMIT ?6) place CROSS JOIN events e ON e.id = place.id
    CROSS JOIN profiles p ON p.id = e.profile ORDER BY place.ts, place.id`;

  return {
    positionsAfter: (from, skip) =>
      store
        .all<{ id: number; ts: number }>(selectPositions, [...valuesAfter(from, skip + 2), skip])
        .map(({ id, ts }) => ({ export: opened.id, ts, id })),
    recordsAfter: (from, most) => {
      const rows = store.tuples(selectRecords, valuesAfter(from, most)).map(eventRowOf);
      const last = rows.at(-1);
      return {
        texts: rows.map((row) => renderEvent(row, opened, service)),
        last: last && { export: opened.id, ts: last.ts, id: last.id },
      };
    },
  };
}

/**
 * Events after a position, at most ?6 of each part. `(ts, id) > (?2, ?3)` in one would read
 * all events of that second again for every page: a date without a time has thousands.
 */
const places = `
  SELECT id, ts FROM (SELECT id, ts FROM events
    WHERE event = ?1 AND ts = ?2 AND id > ?3 AND id <= ?5 ORDER BY id LIMIT ?6)
  UNION ALL
  SELECT id, ts FROM (SELECT id, ts FROM events
    WHERE event = ?1 AND ts > ?2 AND ts < ?4 AND id <= ?5 ORDER BY ts, id LIMIT ?6)`;
const selectPositions = `${places} LIMIT 2 OFFSET ?7`;

interface EventRow {
  readonly profile: ProfileRow;
  readonly id: number;
  readonly ts: number;
  readonly props: string;
}

function eventRowOf(tuple: readonly unknown[]): EventRow {
  const { row, rest } = profileRowOf(tuple);
  const [id, ts, props] = rest as [number, number, string];
  return { profile: row, id, ts, props };
}

/** Uploads carry no session, so its source is what the specification calls unset. */
const sessionProps = '{"session_source":"Unavailable"}';

function renderEvent(row: EventRow, { parts }: Export, { zone, variants }: Service): string {
  const members = [
    `"profile":${renderEventProfile(row.profile, parts, variants.keyStyle)}`,
    ...summariesMember(row.profile, parts),
    `"ts":${localDigits(zone, row.ts)}`,
    `"event_props":${row.props}`,
    `"session_props":${sessionProps}`,
  ];
  return `{${members.join(',')}}`;
}

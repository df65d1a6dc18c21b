import type { Ending } from './call-state.js';
import type { CallDetails, MissedCallActions } from '../../calling/protocol.js';
import type { Database } from '../store/database.js';
import type { Call } from './users.js';

/** A stored call. Times are epoch milliseconds. */
export interface CallRecord extends CallDetails {
  readonly phase: Call['state']['phase'];
  readonly placedAt: number;
  readonly answeredAt?: number;
  readonly inProgressAt?: number;
  readonly endedAt?: number;
  readonly status?: Ending['status'];
  readonly reason?: string;
  readonly reasonCode?: number;
  /** Buttons of the notification of a missed call. */
  readonly actions?: MissedCallActions;
}

/** Inserts or updates the record of a call. */
export function saveCall(store: Database, call: Call): void {
  const { id, details, state, placedAt, answeredAt, inProgressAt, endedAt, ending, actions } = call;
  const times = { placedAt, answeredAt, inProgressAt, endedAt };
  const record = JSON.stringify({ ...details, phase: state.phase, ...times, ...ending, actions });
  store.run(
    `INSERT INTO calls (call_id, placed_at, is_over, record) VALUES (?, ?, ?, ?)
     ON CONFLICT (call_id) DO UPDATE SET is_over = excluded.is_over, record = excluded.record`,
    [id, placedAt, state.phase === 'over' ? 1 : 0, record],
  );
}

/** Returns the calls that have not ended. */
export const ongoingCalls = (store: Database): CallRecord[] =>
  store.all<Row>('SELECT record FROM calls WHERE is_over = 0', []).map(recordOf);

const chunkRecords = 250;

/**
 * Returns the JSON of the calls placed since a time, oldest first, in chunks of several records joined by
 * commas; undefined if there are none.
 */
export function recordsSince(store: Database, since: number): Iterable<Buffer> | undefined {
  const some = store.get<object>('SELECT 1 FROM calls WHERE placed_at >= ? LIMIT 1', [since]);
  return some && chunksSince(store, since);
}

function* chunksSince(store: Database, since: number): Generator<Buffer> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const { records, last } = pageOfRecords(store, { since, after, limit: chunkRecords });
    if (records !== '') yield Buffer.from(records);
    after = last;
  }
}

interface PagePosition {
  readonly since: number;
  readonly after: number;
  readonly limit: number;
}

interface RecordsPage {
  /** JSON of the records, joined by commas. */
  readonly records: string;
  /** Id of the last one if there may be more. */
  readonly last: number | undefined;
}

/** Returns at most `limit` calls placed since a time, with ids greater than `after`. */
export function pageOfRecords(store: Database, { since, after, limit }: PagePosition): RecordsPage {
  const rows = store.all<Row & { id: number }>(
    'SELECT id, record FROM calls WHERE placed_at >= ? AND id > ? ORDER BY id LIMIT ?',
    [since, after, limit],
  );
  return {
    records: rows.map(({ record }) => record).join(','),
    last: rows.length < limit ? undefined : rows.at(-1)?.id,
  };
}

/** Finds a call and the id of its clicked notification button. */
export function findCall(
  store: Database,
  callId: string,
): { readonly record: CallRecord; readonly clicked: string | null } | undefined {
  const row = store.get<Row & { clicked: string | null }>(
    'SELECT record, clicked FROM calls WHERE call_id = ?',
    [callId],
  );
  return row && { record: recordOf(row), clicked: row.clicked };
}

/** Records a click on a notification button. */
export function saveClick(store: Database, callId: string, actionId: string): void {
  store.run('UPDATE calls SET clicked = ? WHERE call_id = ?', [actionId, callId]);
}

/** Extracts the details of a call from its record. */
export function detailsOf(record: CallRecord): CallDetails {
  const { callId, callerCuid, calleeCuid, callContext, channel } = record;
  const { initiatorImage, receiverImage } = record;
  return {
    callId,
    callerCuid,
    calleeCuid,
    callContext,
    ...(initiatorImage === undefined ? {} : { initiatorImage }),
    ...(receiverImage === undefined ? {} : { receiverImage }),
    channel,
  };
}

interface Row {
  readonly record: string;
}
const recordOf = ({ record }: Row): CallRecord => JSON.parse(record) as CallRecord;

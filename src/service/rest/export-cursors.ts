import { createHmac } from 'node:crypto';
import { decodePercent } from '../router.js';
import { unexportableEvents } from '../../contract/error-codes.js';
import { addDays, dayOf, dayToUtc, type Day } from '../../contract/dates.js';
import { limits } from '../../contract/limits.js';
import {
  integerOf,
  isNumber,
  isObject,
  parseMembers,
  stringOf,
  type Members,
} from '../raw-json.js';
import {
  malformed,
  requestError,
  success,
  incorrectUsage,
  stillPending,
  expiredCursor,
  type ApiResponse,
} from '../response.js';
import { findEvent } from '../store/events.js';
import {
  insertExport,
  expiryOf,
  isExpired,
  useExport,
  readExportPage,
  type Position,
  type Export,
} from '../store/exports.js';
import { notSupported, wellFormed } from './read-request.js';
import type { ServiceContext } from '../service.js';
import type { Deviations, RestRequest } from './rest-route.js';

/** An export and the record before its next page. */
export interface Cursor extends Position {
  readonly export: number;
}

/**
 * Encodes a cursor: signed, base64, percent-encoded. Its length always requires base64 padding, so a
 * client that decodes the cursor or encodes it twice is detected.
 */
const encodeCursor = (cursor: Cursor, secret: Uint8Array): string =>
  encodeURIComponent(base64Of(cursor, secret));

/** Decodes a cursor as written in the URL; undefined if it is corrupt or encoded twice. */
function decodeCursor(text: string, secret: Uint8Array): Cursor | undefined {
  const base64 = decodePercent(text, '');
  const position = Buffer.from(base64, 'base64').subarray(signatureBytes).toString();
  const [exportId, ts, id] = position.trimEnd().split(' ').map(Number);
  if (exportId === undefined || ts === undefined || id === undefined) return undefined;
  const cursor = { export: exportId, ts, id };
  return base64Of(cursor, secret) === base64 ? cursor : undefined;
}

const signatureBytes = 16;

function base64Of({ export: exportId, ts, id }: Cursor, secret: Uint8Array): string {
  const text = `${exportId} ${ts} ${id}`;
  const padded = text.padEnd(Math.ceil(text.length / 3) * 3);
  const signature = createHmac('sha256', secret).update(padded).digest();
  const bytes = Buffer.concat([signature.subarray(0, signatureBytes), Buffer.from(padded)]);
  return bytes.toString('base64');
}

/** Handles endpoints 3 and 6: validates the request and fixes the newest event that the pages include. */
export function openCursor(
  kind: Export['kind'],
  { query, body, deviations }: RestRequest,
  { store, zone, clock, settings }: ServiceContext,
): ApiResponse {
  const inQuery = query.get('query');
  const { name, from, to } = parseExportQuery(
    inQuery === null ? body : wellFormed(inQuery, 'the parameter query'),
  );
  if (kind === 'events' && unexportable.has(name)) {
    throw requestError(400, 'Export not allowed for this event');
  }
  const event = findEvent(store, name) ?? standardEvent(name);
  const midnight = (day: Day): number => zone.toEpoch(dayToUtc(day) / 1000);
  const time = clock.now();
  const id = insertExport(store, {
    kind,
    event: event.id,
    start: midnight(from),
    stop: midnight(addDays(to, 1)),
    batch: batchOf(query.get('batch_size'), deviations),
    app: flagOf(query, 'app', 0),
    summaries: flagOf(query, 'events', 1),
    properties: flagOf(query, 'profile', 1),
    newest: event.newest,
    pending: settings.values.pendingPolls,
    opened_at: time,
    used_at: time,
  });
  // The position before the first record.
  const cursor = encodeCursor({ export: id, ts: -1, id: 0 }, store.cursorSecret);
  return success({ cursor: JSON.stringify(cursor) });
}

const unexportable = new Set<string>(unexportableEvents);

/** Standard events of endpoints 3 and 6: valid names even before anybody performed them. */
const standardEvents = new Set([
  'App Launched',
  'App Installed',
  'App Uninstalled',
  'Charged',
  'Notification Viewed',
  'Notification Sent',
  'Product Viewed',
  'UTM Visited',
]);

/** Returns an id that no event has, so the range is empty. */
function standardEvent(name: string): { readonly id: number; readonly newest: number } {
  if (!standardEvents.has(name)) throw requestError(400, `Invalid event : ${name}`);
  return { id: 0, newest: 0 };
}

function parseExportQuery(text: string | undefined): { name: string; from: Day; to: Day } {
  if (!isObject(text))
    throw malformed(`the body ${text === undefined ? 'is missing' : 'is not an object'}`);
  const members = parseMembers(text);
  for (const key of members.keys()) rejectUnknownFilter(key);
  const name = stringOf(members.get('event_name'));
  if (!name) throw malformed('event_name is not a non-empty string');
  const [from, to] = [dayMember(members, 'from'), dayMember(members, 'to')];
  if (from > to) throw malformed(`from ${from} is after to ${to}`);
  return { name, from, to };
}

/** Rejects unknown members: ignoring a filter would return too many records. */
function rejectUnknownFilter(key: string): void {
  if (key === 'cursor')
    throw requestError(
      400,
      'The cursor belongs into the URL of a GET: ?cursor=…, not into the body',
    );
  if (!['event_name', 'from', 'to'].includes(key)) throw notSupported(`"${key}" in the body`);
}

function dayMember(members: Members, name: 'from' | 'to'): Day {
  const text = members.get(name);
  if (text === undefined) throw malformed(`${name} is missing`);
  if (!isNumber(text)) throw malformed(`${name} is not a number`);
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(String(integerOf(text))) ?? [];
  const found = dayOf(Number(year), Number(month), Number(day));
  if (found === undefined) throw malformed(`${name} is not a day, YYYYMMDD`);
  return found;
}

/** Parses `true` (1) or `false` (0) in any case; throws RequestError 400 for other values. */
function flagOf(query: URLSearchParams, name: string, fallback: 0 | 1): number {
  const value = query.get(name)?.toLowerCase();
  if (value === undefined) return fallback;
  if (value !== 'true' && value !== 'false') throw requestError(400, `${name} is true or false`);
  return Number(value === 'true');
}

/** Returns the page size: rounded down to a multiple of 23; 0 (unlimited) below 23. */
function batchOf(text: string | null, deviations: Deviations): number {
  if (text === null) return limits.batchSize;
  if (!/^\d{1,4}$/.test(text) || Number(text) > limits.batchSizeMaximum)
    throw malformed(`batch_size is not a whole number from 0 to ${limits.batchSizeMaximum}`);
  if (Number(text) % limits.batchStep > 0 || Number(text) === 0)
    deviations.ofRequest(`batch_size ${Number(text)} is not a multiple of ${limits.batchStep}`);
  return Math.floor(Number(text) / limits.batchStep) * limits.batchStep;
}

/** Explains a cursor that cannot be decoded. */
function whyInvalid(text: string, secret: Uint8Array): string {
  const once = decodePercent(text, '');
  if (decodeCursor(once, secret)) return 'the cursor is percent-encoded twice: use it verbatim';
  if (decodeCursor(encodeURIComponent(text), secret))
    return 'the cursor was percent-decoded: use it verbatim';
  return 'the cursor is corrupt, or of another store';
}

/** Handles endpoints 4 and 7. A cursor can be read again and returns the same page. */
export async function readPage(
  kind: Export['kind'],
  text: string,
  service: ServiceContext,
): Promise<ApiResponse> {
  const { store, clock, settings } = service;
  const time = clock.now();
  const cursor = decodeCursor(text, store.cursorSecret);
  const opened = cursor && useExport(store, cursor.export, time);
  if (!cursor) throw incorrectUsage(whyInvalid(text, store.cursorSecret));
  if (!opened) throw incorrectUsage('the export of this cursor does not exist');
  if (opened.kind !== kind) throw incorrectUsage(`this is a cursor of ${opened.kind}`);
  if (isExpired(opened, time))
    throw expiredCursor(
      settings.values.variants,
      `the cursor expired at ${new Date(expiryOf(opened)).toISOString()}`,
    );
  if (opened.pending > 0) throw stillPending(`${opened.pending} more polls until it is ready`);
  const { records, next } = await readExportPage(service, opened, cursor);
  const following = next && encodeCursor({ export: opened.id, ...next }, store.cursorSecret);
  return success({ records, next_cursor: following && JSON.stringify(following) });
}

import { unexportableEvents } from '../contract/codes.js';
import { dayOf, type Day } from '../contract/dates.js';
import { limits } from '../contract/limits.js';
import { success, type Answer } from './answer.js';
import { encodeCursor, firstPosition } from './cursors.js';
import { findEvent, type KnownEvent } from './events.js';
import { insertExport, type Export } from './exports.js';
import { rangeOf } from './local-time.js';
import { isObject, membersOf, stringOf } from './raw-json.js';
import { malformed, refused } from './refusal.js';
import type { Service, ServiceRequest } from './service.js';
import { wellFormed } from './well-formed.js';

/** Endpoints 3 and 6: checks what is asked for, and fixes the newest event the pages will show. */
export function openExport(
  kind: Export['kind'],
  { query, body }: ServiceRequest,
  { store, zone, options, now, cursorSecret }: Service,
): Answer {
  const inQuery = query.get('query');
  const wanted = wantedOf(inQuery === null ? body : wellFormed(inQuery));
  if (kind === 'events' && unexportable.has(wanted.name)) {
    throw refused(400, 'Export not allowed for this event');
  }
  const event = findEvent(store, wanted.name) ?? standardEvent(wanted.name);
  const id = insertExport(store, {
    kind,
    event: event.id,
    ...rangeOf(zone, wanted.from, wanted.to),
    batch: batchOf(query.get('batch_size')),
    parts: {
      app: query.get('app') === 'true',
      summaries: query.get('events') !== 'false',
      properties: query.get('profile') !== 'false',
    },
    newest: event.newest,
    pending: options.pendingPolls,
    openedAt: now(),
  });
  const cursor = encodeCursor(firstPosition(id), cursorSecret);
  return success({ cursor: JSON.stringify(cursor) });
}

const unexportable = new Set<string>(unexportableEvents);

/** The standard events of endpoints 3 and 6: known before anybody does them. */
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
/** No event has this id: the range is empty. */
const noEvent: KnownEvent = { id: 0, newest: 0 };

function standardEvent(name: string): KnownEvent {
  if (!standardEvents.has(name)) throw refused(400, `Invalid event : ${name}`);
  return noEvent;
}

function wantedOf(text: string | undefined): { name: string; from: Day; to: Day } {
  if (!isObject(text)) throw malformed();
  const members = membersOf(text);
  const name = stringOf(members.get('event_name'));
  const from = dayOfText(members.get('from'));
  const to = dayOfText(members.get('to'));
  if (!name || from === undefined || to === undefined || from > to) throw malformed();
  return { name, from, to };
}

function dayOfText(text: string | undefined): Day | undefined {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(text ?? '') ?? [];
  return dayOf(Number(year), Number(month), Number(day));
}

/** Records of a page: a multiple of 23; below 23 all of them at once (0). */
function batchOf(text: string | null): number {
  if (text === null) return limits.batchSize;
  if (!/^\d{1,4}$/.test(text) || Number(text) > limits.batchSizeMaximum) throw malformed();
  return Math.floor(Number(text) / limits.batchStep) * limits.batchStep;
}

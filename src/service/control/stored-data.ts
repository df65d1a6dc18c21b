import { objectText } from '../raw-json.js';
import { profileByKey } from '../store/profiles.js';
import { latestEvents, type EventsWanted, type ListedEvent } from '../store/event-list.js';
import { numberOf, wrong, type Control } from './control-route.js';
import type { Service } from '../service.js';

const mostEvents = 1000;

/**
 * `GET /_local/events?event=&identity=&after=&limit=`: the latest first, of one name or user or of all.
 * `next` is where to go on: the next `after`.
 */
export const listEvents: Control = ({ query }, service) => {
  const limit = numberOf(query, 'limit', { fallback: 100, most: mostEvents });
  const name = query.get('event') ?? undefined;
  const identity = query.get('identity');
  const user =
    identity === null
      ? undefined
      : profileByKey(service.store, { kind: 'identity', value: identity });
  if (identity !== null && !user) return '{"events":[]}';
  const after = placeOf(query.get('after'));
  const wanted = { name, profile: user?.id, after, limit: limit + 1 };
  const found = latestEvents(service.store, wanted);
  const shown = found.slice(0, limit);
  const end = found.length > limit ? shown.at(-1) : undefined;
  const next = end === undefined ? '' : `,"next":"${end.ts}.${end.event}.${end.id}"`;
  return `{"events":[${shown.map(eventText).join(',')}]${next}}`;
};

export const eventsText = ({ store }: Service, wanted: EventsWanted): string[] =>
  latestEvents(store, wanted).map(eventText);

function placeOf(text: string | null): ListedEvent | undefined {
  if (text === null) return undefined;
  const [, ts, event, id] = /^(\d{1,11})\.(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  if (ts === undefined) throw wrong('after', `"${text}" is not the "next" of an answer`);
  return { ts: Number(ts), event: Number(event), id: Number(id) } as ListedEvent;
}

function eventText({ name, ts, identity, object_id: objectId, props }: ListedEvent): string {
  return objectText([
    ['event', name],
    ['ts', String(ts)],
    ['at', JSON.stringify(new Date(ts * 1000))],
    ['identity', identity ?? 'null'],
    ['objectId', objectId ?? 'null'],
    ['props', props],
  ]);
}

import { numberOf, type Control } from './control-route.js';

/**
 * `GET /_local/subscriptions?after=&limit=`: the addresses that are Unsubscribed, in order; all others are
 * Subscribed. `next` is where to go on: the next `after`.
 */
export const listSubscriptions: Control = ({ query }, { store }) => {
  const limit = numberOf(query, 'limit', { fallback: 100, most: 1000 });
  const [, type = '', value = ''] = /^([a-z]+):(.*)$/s.exec(query.get('after') ?? '') ?? [];
  const found = store.all<{ type: string; value: string }>(
    `SELECT type, address AS value FROM blocked WHERE (type, address) > (?, ?)
     ORDER BY type, address LIMIT ?`,
    [type, value, limit + 1],
  );
  const shown = found.slice(0, limit).map((one) => ({ ...one, status: 'Unsubscribed' }));
  const last = found.length > limit ? shown.at(-1) : undefined;
  return JSON.stringify({
    subscriptions: shown,
    next: last && `${last.type}:${last.value}`,
  });
};

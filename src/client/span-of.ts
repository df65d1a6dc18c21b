import type { CursorQuery } from './client.js';

/** What a bulk read is of, like `Charged of 2026-01-01 to 2026-01-31`. */
export function spanOf({ eventName, from, to }: Pick<CursorQuery, 'eventName' | 'from' | 'to'>) {
  const [first, last] = [from, to].map((day) =>
    String(day).replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3'),
  );
  return first === last ? `${eventName} of ${first}` : `${eventName} of ${first} to ${last}`;
}

import type { Headers } from './arrival.js';

const weekday = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/**
 * Milliseconds that `Retry-After` asks for, as seconds or as a date. A date is measured against
 * the answer's own `Date`, since the clocks may differ; `now` serves when there is none.
 */
export function retryAfter(headers: Headers, now: () => number): number | undefined {
  const text = String(headers['retry-after'] ?? '').trim();
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const until = dateOf(text);
  if (until === undefined) return undefined;
  const sent = dateOf(String(headers['date'] ?? '')) ?? now();
  return Math.max(0, until - sent);
}

function dateOf(text: string): number | undefined {
  const milliseconds = weekday.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

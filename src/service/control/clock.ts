import { dayOf } from '../../contract/dates.js';
import { badRequest, type ControlHandler } from './control-route.js';
import type { ServiceContext } from '../service.js';

export const showClock: ControlHandler = (_, service) => clockText(service);

/**
 * Handles `PUT /_local/clock`. `{"now": …}` stops the clock at an instant (ISO 8601 with an offset, or epoch
 * seconds) or starts it again (null); `{"advanceSeconds": n}` moves it, stopped or not.
 */
export const moveClock: ControlHandler = ({ body }, service) => {
  const { clock } = service;
  const given = Object.entries(body !== null && typeof body === 'object' ? body : {});
  const [[name, value] = ['', undefined], ...others] = given as [string, unknown][];
  if (others.length > 0 || (name !== 'now' && name !== 'advanceSeconds'))
    throw badRequest('clock', 'send either {"now": …} or {"advanceSeconds": …}');
  if (name === 'now' && value === null) clock.release();
  else if (name === 'now') clock.stopAt(parseInstant(value));
  else clock.advance(secondsOf(value) * 1000);
  return clockText(service);
};

const clockText = ({ clock }: ServiceContext): string => {
  const now = clock.now();
  return JSON.stringify({
    now: new Date(now).toISOString(),
    epochSeconds: Math.floor(now / 1000),
    isStopped: clock.isStopped,
  });
};

const iso = /^(\d{4})-(\d\d)-(\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Parses an instant to milliseconds since 1970. Rejects times without an offset: they depend on the machine. */
export function parseInstant(value: unknown): number {
  const time = typeof value === 'number' ? value * 1000 : timeOf(String(value));
  if (Number.isFinite(new Date(time).getTime())) return time;
  throw badRequest(
    'now',
    `${JSON.stringify(value)} is neither ISO 8601 with an offset, like 2026-01-31T12:00:00Z, nor epoch seconds`,
  );
}

function timeOf(text: string): number {
  const [, year, month, day] = iso.exec(text) ?? [];
  const isDay = dayOf(Number(year), Number(month), Number(day)) !== undefined;
  return isDay ? Date.parse(text) : NaN;
}

function secondsOf(value: unknown): number {
  const isPlausible = typeof value === 'number' && Math.abs(value) < 1e11;
  if (isPlausible) return value;
  throw badRequest('advanceSeconds', `${JSON.stringify(value)} is not a number of seconds`);
}

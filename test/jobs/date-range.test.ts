import { describe, expect, it } from 'vitest';
import { parseDateRange, daysOf } from '../../src/jobs/date-range.js';
import { cliAdvice } from '../../src/commands/shared/job-context.js';
import { timeZone } from '../../src/time-zone.js';

const at = (iso: string, zone = 'UTC') => ({ now: Date.parse(iso), zone: timeZone(zone) });

describe('dateRange', () => {
  it.each([
    ['2024-02-29', '20240301', 20240229, 20240301],
    ['yesterday', 'today', 20240309, 20240310],
    ['7d', '0d', 20240303, 20240310],
  ])('parses %s to %s', (from, to, first, last) => {
    const range = parseDateRange({ from, to }, at('2024-03-10T12:00:00Z'), cliAdvice);
    expect(range).toEqual({ from: first, to: last });
  });

  it.each([
    ['2024-03-10T18:29:59Z', 'Asia/Kolkata', 20240310],
    ['2024-03-10T18:30:00Z', 'Asia/Kolkata', 20240311],
    ['2024-03-10T07:59:59Z', 'America/Los_Angeles', 20240309],
    ['2024-03-10T08:00:00Z', 'America/Los_Angeles', 20240310],
  ])('determines the date at %s in %s', (now, zone, today) => {
    expect(parseDateRange({ from: 'today', to: 'today' }, at(now, zone), cliAdvice).from).toBe(
      today,
    );
  });

  it.each([
    // a Sunday, and the Monday after it
    ['last-week', 'last-week', '2024-03-10T12:00:00Z', 20240226, 20240303],
    ['last-week', 'last-week', '2024-03-11T12:00:00Z', 20240304, 20240310],
    ['last-week', 'yesterday', '2024-03-11T12:00:00Z', 20240304, 20240310],
    ['last-month', 'last-month', '2024-03-31T12:00:00Z', 20240201, 20240229],
    ['last-month', 'last-month', '2024-01-01T12:00:00Z', 20231201, 20231231],
    ['last-month', 'last-week', '2024-01-03T12:00:00Z', 20231201, 20231231],
    ['this-month', 'this-month', '2024-03-02T12:00:00Z', 20240301, 20240301],
    ['this-month', 'today', '2024-03-01T12:00:00Z', 20240301, 20240301],
    ['this-month', 'this-month', '2024-03-31T12:00:00Z', 20240301, 20240330],
  ])('parses %s to %s at %s', (from, to, now, first, last) => {
    expect(parseDateRange({ from, to }, at(now), cliAdvice)).toEqual({ from: first, to: last });
  });

  it('uses the time zone for last-month: it is still February in Los Angeles', () => {
    const now = at('2024-03-01T07:59:59Z', 'America/Los_Angeles');
    const month = { from: 'last-month', to: 'last-month' };
    expect(parseDateRange(month, now, cliAdvice)).toEqual({ from: 20240101, to: 20240131 });
  });

  it('explains why this-month has no days on the first', () => {
    const month = { from: 'this-month', to: 'this-month' };
    expect(() => parseDateRange(month, at('2024-03-01T12:00:00Z'), cliAdvice)).toThrow(
      'no complete day yet',
    );
  });

  it('counts the days of a range across a leap day and a change of year', () => {
    expect(daysOf({ from: 20240228, to: 20240301 })).toEqual([20240228, 20240229, 20240301]);
    expect(daysOf({ from: 20231231, to: 20240101 })).toEqual([20231231, 20240101]);
  });
});

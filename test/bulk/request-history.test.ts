import { array, assert, integer, property, record } from 'fast-check';
import { expect, it } from 'vitest';
import { RequestHistory } from '../../src/bulk/request-history.js';

const throttled = { kind: 'refused', sent: true, status: 429, message: '' } as const;

/** A request: how long after the one before it begins, how long it takes, what comes of it. */
const request = record({
  pause: integer({ min: 0, max: 60_000 }),
  lasts: integer({ min: 0, max: 200_000 }),
  records: integer({ min: 0, max: 1000 }),
  fails: integer({ min: 0, max: 3 }),
});

it('keeps every request and record of a long run in a bounded number of intervals', () => {
  assert(
    property(array(request, { maxLength: 60 }), (requests) => {
      let now = 0;
      let done = 0;
      const history = new RequestHistory({ monotonic: () => now }, () => done);
      const acts: { readonly at: number; readonly act: () => void }[] = [];
      let begins = 0;
      for (const { pause, lasts, records, fails } of requests) {
        begins += pause;
        let ended: ReturnType<RequestHistory['began']>;
        acts.push(
          { at: begins, act: () => (ended = history.began()) },
          {
            at: begins + lasts,
            act: () => {
              ended(fails === 0 ? throttled : undefined);
              done += fails === 0 ? 0 : records;
            },
          },
        );
      }
      for (const { at, act } of acts.toSorted((a, b) => a.at - b.at)) {
        now = at;
        act();
      }
      const { stretches, stretchMs, milliseconds, ...figures } = history.figures();
      const sum = (of: (stretch: (typeof stretches)[number]) => number) =>
        stretches.reduce((total, stretch) => total + of(stretch), 0);
      expect(stretches.length).toBeLessThanOrEqual(120);
      expect(stretches.length * stretchMs).toBeGreaterThanOrEqual(milliseconds);
      expect(sum((one) => one.requests)).toBe(requests.length);
      expect(sum((one) => one.records)).toBe(done);
      expect(sum((one) => one.latencyMs)).toBe(
        requests.reduce((total, one) => total + one.lasts, 0),
      );
      expect(sum((one) => one.throttled)).toBe(figures.throttled);
      expect(figures.throttled).toBe(requests.filter(({ fails }) => fails === 0).length);
      expect(Math.max(0, ...stretches.map((one) => one.mostInFlight))).toBe(figures.mostInFlight);
      expect(Math.max(0, ...stretches.map((one) => one.slowestMs))).toBe(
        figures.latency?.slowest ?? 0,
      );
    }),
  );
});

it('counts a long request as in flight in every interval of its time', () => {
  let now = 0;
  const history = new RequestHistory({ monotonic: () => now }, () => 0);
  const ended = history.began();
  now = 1000;
  ended();
  expect(history.figures().stretches.map((one) => one.mostInFlight)).toEqual(Array(21).fill(1));
});

it('computes percentiles by nearest rank, at most 2 % too high', () => {
  assert(
    property(array(integer({ min: 1, max: 3_600_000 }), { minLength: 1 }), (all) => {
      let now = 0;
      const history = new RequestHistory({ monotonic: () => now }, () => 0);
      for (const one of all) {
        const ended = history.began();
        now += one;
        ended();
      }
      const sorted = all.toSorted((a, b) => a - b);
      const { p50, p95, p99, slowest } = history.figures().latency!;
      for (const [found, share] of [
        [p50, 0.5],
        [p95, 0.95],
        [p99, 0.99],
        [slowest, 1],
      ] as const) {
        const exact = sorted[Math.max(1, Math.round(share * sorted.length)) - 1]!;
        expect(found).toBeGreaterThanOrEqual(exact);
        expect(found).toBeLessThanOrEqual(exact * 1.02);
      }
    }),
  );
});

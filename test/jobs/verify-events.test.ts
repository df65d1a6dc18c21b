import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { SentEvents } from '../../src/jobs/verify/sent-events.js';
import { sentMembers } from '../../src/jobs/verify/sent-records.js';
import { timeZone } from '../../src/time-zone.js';

const sentOf = (day: number, n: number, line: number) => {
  const ts = 1_760_000_000 + day * 86_400 + n;
  const record = { identity: 'u', type: 'event', evtName: 'E', evtData: { n }, ts };
  return { source: 'e.ndjson', line, text: JSON.stringify(record) };
};

it('reads too many days in turn: each day whole, and each event once', () => {
  const events = fc.array(fc.tuple(fc.nat(9), fc.nat(5)), { maxLength: 120 });
  fc.assert(
    fc.property(events, fc.integer({ min: 1, max: 20 }), (all, most) => {
      const book = new SentEvents({ zone: timeZone('UTC'), most });
      const input = all.map(([day, n], at) => sentOf(day, n, at + 1));
      const held = new Map<string, number>();
      let readings = 0;
      do {
        readings += 1;
        for (const sent of input) book.add(sent, sentMembers(sent));
        const days = new Set([...book.all()].map(({ day }) => day));
        expect(book.size <= most || days.size === 1).toBe(true);
        for (const { record, sent } of book.all()) {
          expect(held.has(record.text)).toBe(false);
          held.set(record.text, sent);
        }
      } while (book.turn());
      expect(readings).toBeLessThanOrEqual(10);
      const wanted = new Map<string, number>();
      for (const { text } of input) wanted.set(text, (wanted.get(text) ?? 0) + 1);
      expect(held).toEqual(wanted);
    }),
  );
});

import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { openInputs } from '../../src/input/inputs.js';
import { SentEvents } from '../../src/jobs/verify/sent-events.js';
import { SentInput } from '../../src/jobs/verify/sent-input.js';
import { sentMembers } from '../../src/jobs/verify/sent-records.js';
import { uploadMapper } from '../../src/mapping/upload-mapper.js';
import { parseLossless } from '../../src/text/lossless-json.js';
import { timeZone } from '../../src/time-zone.js';
import { uploadDefaults } from '../support/builders/upload-mapping.js';

const sentOf = (day: number, n: number, line: number) => {
  const ts = 1_760_000_000 + day * 86_400 + n;
  const record = { identity: 'u', type: 'event', evtName: 'E', evtData: { n }, ts };
  return { source: 'e.ndjson', line, ordinal: line - 1, text: JSON.stringify(record) };
};

it('reads too many days in turn: each day whole, and each event once', () => {
  const events = fc.array(fc.tuple(fc.nat(9), fc.nat(5)), { maxLength: 120 });
  fc.assert(
    fc.property(events, fc.integer({ min: 1, max: 20 }), fc.boolean(), (all, most, isLong) => {
      // Each record has 79 characters.
      const limits = { events: isLong ? 1000 : most, characters: isLong ? 79 * most : 1e6 };
      const book = new SentEvents({ zone: timeZone('UTC'), most: limits });
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

it.each([
  ['16 MiB', 40, 2 ** 20, 15],
  ['10,000', 12_000, 1, 10_000],
])('keeps at most %s of events that are like a sent one', (_most, found, length, kept) => {
  const book = new SentEvents({ zone: timeZone('UTC'), most: undefined });
  const sent = sentOf(0, 0, 1);
  book.add(sent, sentMembers(sent));
  const props = { note: 'x'.repeat(length) };
  const event = { profile: { identity: 'u' }, ts: 20_251_009_085_320, event_props: props };
  for (let n = 0; n < found; n += 1) book.find('E', parseLossless(JSON.stringify(event)));
  const { near } = book.wordsOf([...book.all()][0]!);
  let texts = 0;
  while (near() !== undefined) texts += 1;
  expect(texts).toBe(kept);
});

it('matches an identity that the service shows as a number by its text', () => {
  const book = new SentEvents({ zone: timeZone('UTC'), most: undefined });
  const { text, ...place } = sentOf(0, 0, 1);
  for (const identity of ['491701234567', '7'])
    book.add(
      ...((sent) => [sent, sentMembers(sent)] as const)({
        ...place,
        text: text.replace('"u"', `"${identity}"`),
        row: '{}',
      }),
    );
  book.find(
    'E',
    parseLossless(
      '{"profile":{"identity":491701234567},"ts":20251009085320,"event_props":{"n":0}}',
    ),
  );
  book.find(
    'E',
    parseLossless('{"profile":{"identity":8},"ts":20251009085320,"event_props":{"n":0}}'),
  );
  const [shown, other] = [...book.all()];
  expect([shown!.found, other!.found]).toEqual([1, 0]);
  book.compareUsers(other!, '{"identity":7,"all_identities":[7,8]}');
  expect(book.wordsOf(other!).doubt).toContain('another identity');
});

it('adds an event of a day with too many in time that does not grow with their number', () => {
  const book = new SentEvents({ zone: timeZone('UTC'), most: { events: 1000, characters: 1e9 } });
  for (let n = 0; n < 40_000; n += 1) {
    const sent = sentOf(0, n, n);
    book.add(sent, sentMembers(sent));
  }
  expect(book.size).toBe(40_000);
});

it('keeps no records that cannot be compared, unless they are to be settled', async () => {
  const events = ['a', 'b', 'c'].map(
    (identity) => `{"type":"event","identity":"${identity}","evtName":"E"}\n`,
  );
  const rejects = events.map(
    (record, at) =>
      `{"source":"e","line":${at + 1},"stage":"unknown","error":"x","record":${record.trim()}}\n`,
  );
  for (const [lines, settle, kept] of [
    [events, false, [3]],
    [rejects, true, [1, 1, 1]],
  ] as const) {
    const book = new SentEvents({ zone: timeZone('UTC'), most: undefined });
    const { signal } = new AbortController();
    const mapper = uploadMapper({ ...uploadDefaults, retryUnknown: settle });
    const reading = {
      mapper,
      kind: 'upload',
      size: 300,
      seed: 1,
      settle,
      limit: undefined,
      signal,
    } as const;
    const sent = new SentInput(reading, book);
    const options = { files: [], maxRecordBytes: 1e6 };
    const inputs = await openInputs(options, {
      stdin: Readable.from(lines.map((line) => Buffer.from(line))),
      cwd: '/',
      signal,
    });
    await sent.readAll(inputs);
    expect(sent.untold.map(({ count }) => count)).toEqual(kept);
    expect([...sent.records()]).toHaveLength(settle ? 3 : 0);
  }
});

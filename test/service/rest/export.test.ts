import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  eventRecord,
  makeFolder,
  profileRecord,
  run,
  type Reply,
  type Running,
} from '../running.js';
import { runs } from '../../support/property-runs.js';
import { anyCharacter } from '../../support/any-character.js';

const day = 86_400;
const noon = 1_700_049_600; // 2023-11-15 12:00 UTC
const numbers = (pages: readonly Reply[]) =>
  pages.flatMap(({ records = [] }) => records.map(({ event_props }) => event_props['n']));

/** Uploads events numbered from `first` on, of users in turn, ten in a second. */
async function perform(service: Running, first: number, count: number): Promise<void> {
  const record = (n: number) => eventRecord(`u${n % 7}`, 'Buy', noon + Math.floor(n / 10), { n });
  if (count > 0)
    await service.upload(...Array.from({ length: count }, (_, n) => record(first + n)));
}

describe('event records', () => {
  it('contain the current user, summaries, local time and properties', async () => {
    const service = await run({ timezone: 'Asia/Kolkata' });
    await service.upload(eventRecord('a', 'Buy', 1_700_000_000, { Price: 19.9 }));
    await service.upload({
      ...profileRecord('a', { Email: 'a@example.test', City: 'Oslo' }),
      objectId: 'dev',
    });
    const { records } = await service.page(
      'events',
      await service.open('events', 'Buy', 20231115, 20231115),
    );
    expect(records).toEqual([
      {
        profile: {
          objectId: 'dev',
          platform: expect.any(String) as string,
          email: 'a@example.test',
          profileData: { City: 'Oslo', 'MSG-email': true, 'MSG-dndEmail': false },
          identity: 'a',
          id: expect.any(Number) as number,
        },
        events: { Buy: { count: 1, first_seen: 1_700_000_000, last_seen: 1_700_000_000 } },
        ts: 20231115034320,
        event_props: { Price: 19.9 },
        session_props: { session_source: 'Unavailable' },
      },
    ]);
  });

  it('keep the spelling of their numbers', async () => {
    const service = await run();
    const record = `{"type":"event","identity":"a","evtName":"Buy","ts":${noon},"evtData":{"n":12345678901234567890,"m":1.50}}`;
    await service.call('POST', '/1/upload', `{"d":[${record}]}`);
    const { text } = await service.page(
      'events',
      await service.open('events', 'Buy', 20231115, 20231115),
    );
    expect(text).toContain('"event_props":{"n":12345678901234567890,"m":1.50}');
  });

  it('and profiles keep any characters of identities, addresses and names', async () => {
    const text = fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(text, text, text, async (identity, second, word) => {
        const service = await run();
        const email = `${word.replaceAll(/[\s@"\p{Cc}]/gu, '')}x@example.test`;
        const name = `x${word.trim()}`;
        await service.upload(
          {
            ...profileRecord(identity, { Email: email, Name: word, [name]: word }),
            objectId: 'dev',
          },
          { ...profileRecord(second), objectId: 'dev' },
          eventRecord(identity, name, noon, { [name]: word }),
        );
        const [event, profile] = await Promise.all(
          (['events', 'profiles'] as const).map(async (kind) => {
            const page = await service.page(
              kind,
              await service.open(kind, name, 20231115, 20231115),
            );
            return page.records?.[0];
          }),
        );
        const identities = [...new Set([identity, second])];
        const summary = { count: 1, first_seen: noon, last_seen: noon };
        expect(event).toMatchObject({
          profile: { identity, email, objectId: 'dev', profileData: { [name]: word } },
          events: { [name]: summary },
          event_props: { [name]: word },
        });
        expect(profile).toMatchObject({
          identity,
          email,
          name: word,
          all_identities: identities,
          events: { [name]: summary },
        });
        await service.close();
      }),
      { numRuns: runs(20) },
    );
  });

  it.each(['events', 'profiles'] as const)(
    'and %s respect app, events and profile',
    async (kind) => {
      const service = await run();
      await service.upload(
        { ...profileRecord('a', { City: 'Oslo' }), objectId: 'dev' },
        eventRecord('a', 'Buy', noon),
      );
      const text = async (query: string) => {
        const cursor = await service.open(kind, 'Buy', 20231115, 20231115, query);
        return (await service.page(kind, cursor)).text;
      };
      expect(await text('')).toMatch(/"City".*"Buy"|"Buy".*"City"/);
      expect(await text('')).not.toContain('os_version');
      expect(await text('?app=true')).toMatch(/"os_version":.*"app_version":.*"make":.*"model":/);
      expect(await text('?events=False')).not.toContain('"events":');
      const wanted = { event_name: 'Buy', from: 20231115, to: 20231115 };
      const unclear = await service.call('POST', `/1/${kind}.json?events=no`, wanted);
      expect(unclear).toMatchObject({ http: 400, error: 'events is true or false' });
      expect(await text('?profile=false')).not.toContain('"profileData":');
    },
  );
});

describe('the range', () => {
  it.each([
    ['Asia/Kolkata', 20240229, 1_709_145_000, 1_709_231_399],
    ['America/New_York', 20240310, 1_710_046_800, 1_710_129_599], // 23 hours
    ['America/New_York', 20241103, 1_730_606_400, 1_730_696_399], // 25 hours
    ['UTC', 20231231, 1_703_980_800, 1_704_067_199],
  ])('covers whole days of %s: %i', async (timezone, date, first, last) => {
    const service = await run({ timezone });
    const instants = [first - 1, first, last, last + 1];
    await service.upload(...instants.map((ts) => eventRecord('a', 'Buy', ts, { n: ts })));
    expect(
      numbers(await service.pages('events', await service.open('events', 'Buy', date, date))),
    ).toEqual([first, last]);
  });

  it('without records returns only the status', async () => {
    const service = await run();
    await perform(service, 0, 1);
    for (const kind of ['events', 'profiles'] as const) {
      const empty = await service.open(kind, 'Buy', 20200101, 20200101);
      expect((await service.page(kind, empty)).text).toBe('{"status":"success"}');
      const nobody = await service.open(kind, 'Charged', 20200101, 20301231);
      expect((await service.page(kind, nobody)).text).toBe('{"status":"success"}');
    }
  });

  it.each([
    ['Malformed request', { event_name: 'Buy', from: 20231116, to: 20231115 }],
    ['Malformed request', { event_name: 'Buy', from: 20230229, to: 20231115 }],
    ['Malformed request', { event_name: 'Buy', from: '20230228', to: 20231115 }],
    ['Malformed request', { event_name: 'Buy', from: 20230228 }],
    ['Malformed request', { from: 20230228, to: 20231115 }],
    ['Invalid event : buy', { event_name: 'buy', from: 20230228, to: 20231115 }],
    [
      'Export not allowed for this event',
      { event_name: 'Notification Bounce', from: 20230228, to: 20231115 },
    ],
  ])('refuses with "%s" the export %j', async (error, wanted) => {
    const service = await run();
    await perform(service, 0, 1);
    const answer = await service.call('POST', '/1/events.json', wanted);
    expect(answer).toMatchObject({ http: 400, status: 'fail', error, code: 400 });
  });
});

describe('cursors', () => {
  it.each([
    ['', 4991, 1],
    ['?batch_size=5000', 4991, 1],
    ['?batch_size=45', 23, 2],
    ['?batch_size=46', 46, 1],
    ['?batch_size=22', 46, 1],
  ])('return pages of batch_size%s, in multiples of 23', async (query, size, pages) => {
    const service = await run();
    await perform(service, 0, 46);
    const read = await service.pages(
      'events',
      await service.open('events', 'Buy', 20231115, 20231115, query),
    );
    expect(read.map(({ records }) => records?.length)).toEqual(
      Array(pages).fill(Math.min(size, 46)),
    );
    expect(read.at(-1)).not.toHaveProperty('next_cursor');
  });

  it.each(['5001', '-23', 'x', '2.5'])('refuse batch_size=%s', async (size) => {
    const service = await run();
    const wanted = { event_name: 'Charged', from: 20231115, to: 20231115 };
    expect(await service.call('POST', `/1/profiles.json?batch_size=${size}`, wanted)).toMatchObject(
      { http: 400 },
    );
  });

  it('are percent-encoded, and return code 3 if corrupt, encoded twice or of the other endpoint', async () => {
    const service = await run();
    await perform(service, 0, 1);
    const cursor = await service.open('events', 'Buy', 20231115, 20231115);
    expect(cursor).toMatch(/^[A-Za-z0-9%]+$/);
    expect(cursor).toContain('%3D');
    const flipped = cursor.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
    for (const wrong of [encodeURIComponent(cursor), flipped, cursor.slice(4), '%', '', 'x']) {
      expect(await service.page('events', wrong)).toMatchObject({
        http: 200,
        status: 'fail',
        error: 'Incorrect Usage',
        code: 3,
      });
    }
    expect(await service.page('profiles', cursor)).toMatchObject({ code: 3 });
    expect((await service.page('events', cursor)).records).toHaveLength(1);
  });

  it('return the same page again, also after a restart', async () => {
    const dataDir = makeFolder();
    const before = await run({ dataDir });
    await perform(before, 0, 50);
    const first = await before.open('events', 'Buy', 20231115, 20231115, '?batch_size=23');
    const pages = await before.pages('events', first);
    await before.close();
    const after = await run({ dataDir });
    expect((await after.pages('events', first)).map(({ text }) => text)).toEqual(
      pages.map(({ text }) => text),
    );
  });

  it('are pending for as many polls as configured', async () => {
    const service = await run({ pendingPolls: 2 });
    await perform(service, 0, 30);
    const cursor = await service.open('events', 'Buy', 20231115, 20231115, '?batch_size=23');
    const pending = {
      http: 200,
      status: 'fail',
      code: 2,
      error: 'Request still in progress, please retry later',
    };
    expect(await service.page('events', cursor)).toMatchObject(pending);
    expect(await service.page('events', cursor)).toMatchObject(pending);
    expect(numbers(await service.pages('events', cursor))).toHaveLength(30);
  });

  it.each([
    ['events', 'idle for an hour', [61 * 60_000]],
    ['events', 'four hours old', [59, 59, 59, 59, 59].map((minutes) => minutes * 60_000)],
    ['profiles', 'four days old', [97 * 3_600_000]],
  ] as const)('of %s expire when %s', async (kind, _, pauses) => {
    let now = Date.UTC(2024, 0, 1);
    const service = await run({ now: () => now });
    await perform(service, 0, 1);
    const cursor = await service.open(kind, 'Buy', 20231115, 20231115);
    const codes: unknown[] = [];
    for (const pause of pauses) {
      now += pause;
      codes.push((await service.page(kind, cursor)).code);
    }
    expect(codes).toEqual([...pauses.slice(1).map(() => undefined), 3]);
  });

  it('are opened by GET with ?query= and read by POST too', async () => {
    const service = await run();
    await perform(service, 0, 3);
    const query = encodeURIComponent(
      JSON.stringify({ event_name: 'Buy', from: 20231115, to: 20231115 }),
    );
    for (const kind of ['events', 'profiles']) {
      const { cursor } = await service.call(
        'GET',
        `/1/${kind}.json?batch_size=4991&query=${query}`,
      );
      const page = await service.call('POST', `/1/${kind}.json?cursor=${cursor}`, {});
      expect(page.records).toHaveLength(3);
    }
  });
});

it.each(['', '{', '{"event_name"', '[]', 'null'])('refuses ?query=%s', async (query) => {
  const service = await run();
  const path = `/1/events.json?query=${encodeURIComponent(query)}`;
  expect(await service.call('GET', path)).toMatchObject({ http: 400, error: 'Malformed request' });
});

it('returns 5,000 events of one second once each, in order of upload', async () => {
  const service = await run();
  const records = (first: number) =>
    Array.from({ length: 1000 }, (_, n) => eventRecord(`u${n % 7}`, 'Buy', noon, { n: first + n }));
  for (let n = 0; n < 5; n++) await service.upload(...records(n * 1000));
  const first = await service.open('events', 'Buy', 20231115, 20231115, '?batch_size=460');
  const found = numbers(await service.pages('events', first));
  expect(found).toEqual(Array.from({ length: 5000 }, (_, n) => n));
});

it('pages partition the events exactly, whatever the batch size and the uploads in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 120 }),
      fc.integer({ min: 0, max: 100 }),
      fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 5 }),
      async (before, batch, uploads) => {
        const service = await run();
        await perform(service, 0, before);
        await service.upload(eventRecord('a', 'Buy', noon - 10 * day, { n: -1 }));
        const first = await service.open(
          'events',
          'Buy',
          20231115,
          20231115,
          `?batch_size=${batch}`,
        );
        const later = [1000, -1000, 1100, -1100];
        const between = () => perform(service, later.shift() ?? 0, uploads.shift() ?? 1);
        const pages = await service.pages('events', first, between);
        expect(numbers(pages)).toEqual(Array.from({ length: before }, (_, n) => n));
        const most = batch < 23 ? Infinity : Math.floor(batch / 23) * 23;
        for (const { records = [] } of pages) expect(records.length).toBeLessThanOrEqual(most);
        await service.close();
      },
    ),
    { numRuns: runs(30) },
  );
});

it('pages of profiles name each user of the range once, whatever the batch size and the uploads in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ user: fc.integer({ min: 0, max: 80 }), inRange: fc.boolean() }), {
        maxLength: 150,
        size: 'max',
      }),
      fc.constantFrom(0, 23, 24, 46),
      async (performed, batch) => {
        const service = await run();
        await service.upload(
          eventRecord('someone', 'Buy', 1),
          ...performed.map(({ user, inRange }) =>
            eventRecord(`u${user}`, 'Buy', inRange ? noon : noon - 2 * day),
          ),
        );
        const first = await service.open(
          'profiles',
          'Buy',
          20231115,
          20231115,
          `?batch_size=${batch}`,
        );
        const pages = await service.pages('profiles', first, () =>
          service.upload(eventRecord('new', 'Buy', noon)),
        );
        const found = pages.flatMap(({ records = [] }) => records.map(({ identity }) => identity));
        const expected = new Set(
          performed.filter(({ inRange }) => inRange).map(({ user }) => `u${user}`),
        );
        expect(found).toHaveLength(expected.size);
        expect(new Set(found)).toEqual(expected);
        await service.close();
      },
    ),
    { numRuns: runs(30) },
  );
});

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { eventRecord, makeFolder, profileRecord, run, type Running } from './running.js';

// A seed is state: what exports and look-ups returned is restored field by field.

type Json = Record<string, unknown>;

const query = '?batch_size=46&app=true';

/** All pages of an export, with the name of the event, as `--with-event-name` adds it. */
async function exported(service: Running, kind: 'events' | 'profiles', event: string) {
  const cursor = await service.open(kind, event, 20200101, 20301231, query);
  const pages = await service.pages(kind, cursor);
  const records = pages.flatMap(({ records = [] }) => records as unknown as Json[]);
  return kind === 'profiles' ? records : records.map((one) => ({ ...one, event_name: event }));
}

const eventNames = ['App Launched', 'Charged', 'Chat', 'UTM Visited'];

async function everything(service: Running) {
  const kinds = ['events', 'profiles'] as const;
  const all: Record<string, Json[]> = {};
  for (const kind of kinds)
    for (const name of eventNames) all[`${kind} ${name}`] = await exported(service, kind, name);
  return all;
}

const ann = {
  identity: 'ann',
  email: 'ann@example.test',
  name: 'Ann',
  phone: '+4712345678',
  profileData: {
    City: 'Oslo',
    'MSG-sms': false,
    'MSG-whatsapp': true,
    'MSG-email': true,
    'MSG-dndPhone': false,
    'MSG-dndWhatsApp': true,
    'MSG-dndEmail': true,
  },
  all_identities: ['ann', 'ann-2'],
  events: { 'App Launched': { count: 41, first_seen: 1_700_000_000, last_seen: 1_760_000_000 } },
  platformInfo: [
    {
      platform: 'Android',
      objectId: 'device-1',
      os_version: '15',
      app_version: '9.1',
      make: 'Acme',
      model: 'One',
      push_token: 'token-1',
      phone: '+4712345678',
      df: { lib: 12, list: [1.0, 'a'] },
    },
    { platform: 'Web', objectId: 'device-2' },
    { platform: 'iOS', push_token: 'no id' },
  ],
};

const launched = {
  profile: {
    objectId: 'device-2',
    platform: 'Web',
    email: ann.email,
    profileData: ann.profileData,
    identity: 'ann',
    id: 7_000_000_000_001,
  },
  events: ann.events,
  ts: 20231114231320,
  event_props: { Build: 12345678, Nested: { is: ['kept'] } },
  session_props: {
    session_source: 'Others',
    session_referrer: 'https://example.test/',
    utm_source: 's',
  },
  event_name: 'App Launched',
};

describe('a seed of reads', () => {
  it('restores every field of a profile, including fields that an upload cannot set', async () => {
    const service = await run({ seed: [ann] });
    expect(await service.profile('identity', 'ann-2')).toEqual(ann);
    expect(await service.profile('objectId', 'device-2')).toEqual(ann);
    expect(await exported(service, 'profiles', 'App Launched')).toEqual([ann]);
    expect(await exported(service, 'events', 'App Launched')).toEqual([]);
    const detail = await service.call('GET', '/_local/profiles/ann');
    expect(detail).toMatchObject({ reachability: { email: { isReachable: false } } });
  });

  it('restores every field of an event, including standard events', async () => {
    const service = await run({ seed: [launched, ann], timezone: 'Europe/Oslo' });
    expect(await exported(service, 'events', 'App Launched')).toEqual([launched]);
    expect(await exported(service, 'profiles', 'App Launched')).toEqual([ann]);
    await service.upload(eventRecord('ann', 'Chat', 1_750_000_000));
    expect((await service.profile('identity', 'ann'))?.events).toEqual({
      ...ann.events,
      Chat: { count: 1, first_seen: 1_750_000_000, last_seen: 1_750_000_000 },
    });
  });

  it('returns each flag once, whether the profile or its event comes first', async () => {
    // An event has no phone number, so the flags of the number are the user's until the profile brings it.
    for (const seed of [
      [launched, ann],
      [ann, launched],
    ]) {
      const service = await run({ seed, timezone: 'Europe/Oslo' });
      const { text } = await service.call('GET', '/1/profile.json?identity=ann');
      for (const flag of Object.keys(ann.profileData).filter((name) => name.startsWith('MSG-')))
        expect([flag, text.split(`"${flag}"`).length - 1]).toEqual([flag, 1]);
    }
  });

  it('returns the same after export, seed and export', async () => {
    const first = await run({ seed: [launched, ann], timezone: 'Europe/Oslo' });
    await first.upload(
      profileRecord('bob', { Email: 'bob@example.test', Name: 'Bob', n: 1, list: ['a', 'b'] }),
      { ...profileRecord('bob', { Phone: '+4787654321', MSG: 'no flag' }), objectId: 'device-3' },
      { ...profileRecord('', { Anonymous: true }), identity: undefined, objectId: 'device-4' },
      ...Array.from({ length: 60 }, (_, n) =>
        eventRecord(`user ${n}`, 'Charged', 1_761_434_000 + 60 * n, { Amount: n + 0.5 }),
      ),
      eventRecord('bob', 'Chat', 1_761_440_000, { 'Text "1"': 'ø\u0000' }),
      { type: 'event', objectId: 'device-4', evtName: 'Chat', ts: 1_761_440_000 },
    );
    await first.subscribe({ type: 'email', value: 'BOB@example.test', status: 'Unsubscribe' });
    const before = await everything(first);
    const folder = makeFolder();
    const files = Object.entries(before).map(([name, records]) => {
      const file = path.join(folder, `${name}.ndjson`);
      writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      return file;
    });
    for (const seed of [files, files.toReversed()]) {
      const second = await run({ seed, timezone: 'Europe/Oslo' });
      const after = await everything(second);
      expect(Object.keys(after)).toEqual(Object.keys(before));
      for (const [name, records] of Object.entries(before)) {
        const sorted = (list: Json[] = []) =>
          list.map((one) => JSON.stringify(sortedKeys(one))).sort();
        expect(sorted(after[name])).toEqual(sorted(records));
      }
      const bob = await second.profile('email', 'bob@example.test');
      expect(bob).toEqual(await first.profile('email', 'bob@example.test'));
    }
  });

  it('restores the seed after a reset, with uploads and merges in between', async () => {
    const service = await run({ seed: [launched, ann], timezone: 'Europe/Oslo' });
    await service.upload({ ...profileRecord('bob', { City: 'Rome' }), objectId: 'device-1' });
    await service.call('POST', '/1/demerge/profiles.json', { identities: ['ann'] });
    expect(await service.profile('identity', 'bob')).not.toEqual(ann);
    await service.call('POST', '/_local/reset');
    expect(await service.profile('identity', 'ann')).toEqual(ann);
  });
});

describe('a seed file', () => {
  const line = (identity: string) => Buffer.from(`${JSON.stringify(profileRecord(identity))}\n`);
  const withFile = async (name: string, ...parts: readonly Buffer[]) => {
    const file = path.join(makeFolder(), name);
    writeFileSync(file, Buffer.concat(parts));
    return run({ seed: [file] });
  };

  it('may have several gzip members and padding', async () => {
    const parts = [gzipSync(line('ann')), gzipSync(line('bob')), Buffer.alloc(600)];
    const service = await withFile('seed.ndjson.gz', ...parts);
    for (const identity of ['ann', 'bob'])
      expect(await service.profile('identity', identity)).toBeDefined();
  });

  it.each([
    [
      'seed.ndjson.gz',
      [gzipSync(line('ann')), Buffer.alloc(9), gzipSync(line('bob'))],
      'data after the padding',
    ],
    ['seed.ndjson.gz', [gzipSync(line('ann')).subarray(0, -9)], 'unexpected end of file'],
  ])('%s is refused rather than read in part (%#)', async (name, parts, cause) => {
    await expect(withFile(name, ...parts)).rejects.toMatchObject({
      name: 'SeedError',
      cause: { message: expect.stringContaining(cause) as string },
    });
  });

  it.each<[what: string, parts: readonly (string | Buffer)[], message: string]>([
    [
      'text that is not UTF-8',
      [line('ann'), Buffer.from([0xff]), line('bob')],
      '2: not valid UTF-8',
    ],
    [
      'a line longer than any record',
      [line('ann'), `{"type":"${'x'.repeat(1024 * 1024)}"}\n`],
      '2: longer than 1048576 bytes',
    ],
    [
      'a record of too many values',
      [line('ann'), `{"type":[${'[],'.repeat(100_000)}[]]}\n`],
      '2: the record has too many values',
    ],
    [
      'a long value',
      [`{"identity":"${'x'.repeat(9999)}","profileData":{},"${'y'.repeat(9999)}":1}`],
      '1: y',
    ],
    ['an array that is not closed', ['\n[\n', line('ann')], '4: the array is not closed'],
    ['an array without a comma', ['[', line('ann'), line('bob'), ']'], '2: expected a comma or ]'],
    [
      'text behind an array',
      ['[', line('ann'), ']\n', line('bob')],
      '3: text after the end of the array',
    ],
    ['a record of an array', ['[\n', line('ann'), ',{"type":,}]'], '3: invalid JSON'],
  ])('with %s is refused with the line', async (_, parts, message) => {
    const error: unknown = await withFile(
      'seed.json',
      ...parts.map((part) => Buffer.from(part)),
    ).catch((reason: unknown) => reason);
    expect((error as Error).message).toMatch(/seed\.json:\d+: .{1,1000}$/);
    expect((error as Error).message).toContain(`seed.json:${message}`);
  });

  it('may start with a byte order mark and blanks, and have any number of blanks', async () => {
    const blanks = Buffer.alloc(5_000_000, ' ');
    for (const [name, open, close] of [
      ['seed.ndjson', '', ''],
      ['seed.json', '[', ']'],
    ] as const) {
      const comma = open === '' ? '' : ',';
      const parts = [
        '\uFEFF\n',
        blanks,
        open,
        line('ann'),
        blanks,
        `${comma}\n`,
        line('bob'),
        close,
      ];
      const service = await withFile(name, ...parts.map((part) => Buffer.from(part)));
      for (const identity of ['ann', 'bob'])
        expect(await service.profile('identity', identity)).toBeDefined();
    }
  });

  it('is no longer loaded once the signal aborts, and nothing of it is kept', async () => {
    const stop = new AbortController();
    const file = path.join(makeFolder(), 'seed.ndjson');
    writeFileSync(
      file,
      Array.from({ length: 9999 }, (_, n) => line(`user ${n}`).toString()).join(''),
    );
    const dataDir = makeFolder();
    const starting = run({ seed: [file], signal: stop.signal, dataDir });
    setImmediate(() => stop.abort(new Error('stopped')));
    await expect(starting).rejects.toThrow('stopped');
    expect(await (await run({ dataDir })).profile('identity', 'user 0')).toBeUndefined();
  });
});

/** The order of members is not part of a value. */
const sortedKeys = (value: unknown): unknown =>
  value === null || typeof value !== 'object'
    ? value
    : Array.isArray(value)
      ? value.map(sortedKeys)
      : Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, one]) => [key, sortedKeys(one)]),
        );

describe('a seed of upload records', () => {
  it('can raise standard events and block addresses', async () => {
    const seed = [
      profileRecord('ann', { Email: 'a@example.test', 'MSG-dndEmail': true, 'MSG-email': true }),
      profileRecord('bob', { Email: 'A@example.test' }),
      eventRecord('ann', 'App Launched', 1_700_000_000),
    ];
    const service = await run({ seed });
    for (const identity of ['ann', 'bob'])
      expect((await service.profile('identity', identity))?.profileData).toMatchObject({
        'MSG-dndEmail': true,
      });
    expect(await exported(service, 'events', 'App Launched')).toHaveLength(1);
    expect((await service.upload(eventRecord('ann', 'App Launched', 1_700_000_000))).status).toBe(
      'fail',
    );
  });

  it('keeps the flag of an address until a user gets it', async () => {
    const seed = [profileRecord('ann', { 'MSG-dndEmail': true })];
    const service = await run({ seed });
    expect((await service.profile('identity', 'ann'))?.profileData).toEqual({
      'MSG-dndEmail': true,
    });
    await service.upload(profileRecord('ann', { Email: 'a@example.test' }));
    expect((await service.profile('identity', 'ann'))?.profileData).toEqual({
      'MSG-email': true,
      'MSG-dndEmail': false,
    });
  });
});

describe('D an invalid seed', () => {
  it.each<[object, string]>([
    [{ ...ann, reachability: {} }, 'reachability: unknown member, which cannot be kept'],
    [{ ...ann, email: null }, 'email: is not a string'],
    [{ ...ann, identity: '' }, 'identity: "" is not an identifier'],
    [{ ...ann, all_identities: 'ann' }, 'all_identities: is not an array'],
    [{ ...ann, profileData: [] }, 'profileData: is not an object'],
    [{ ...ann, platformInfo: [1] }, 'platformInfo: an entry is not an object'],
    [{ ...ann, events: { A: { count: 1 } } }, 'events: first_seen of "A" is not a whole number'],
    [{ profileData: { City: 'Oslo' } }, 'identity: missing'],
    [{ ...ann, profileData: { 'MSG-dndEmail': 'yes' } }, 'MSG-dndEmail: must be true or false'],
    [{ ...launched, event_name: undefined }, 'event_name: missing'],
    [{ ...launched, profile: undefined }, 'profile: missing'],
    [{ ...launched, event_props: 1 }, 'event_props: is not an object'],
    [{ ...launched, session_props: 1 }, 'session_props: is not an object'],
    [{ ...launched, ts: 20230229000000 }, 'ts: 20230229000000 is not a time'],
    [{ ...launched, ts: 20230326023000 }, 'ts: 20230326023000 does not exist in the time zone'],
    [
      { ...launched, ts_utc: '2023-11-14T23:13:20Z' },
      'ts: 20231114231320 is not "2023-11-14T23:13:20Z" in the time zone Europe/Oslo',
    ],
    [{ ...launched, profile: { ...launched.profile, id: 'x' } }, 'id: "x" is not a whole number'],
    [{ ...launched, weight: 1 }, 'weight: unknown member'],
    [{ ...profileRecord('a'), evtName: 'x' }, 'evtName: unknown member'],
    [profileRecord('a', { 'MSG-email': 'false' }), 'MSG-email: must be true or false'],
  ])('is refused with the name of the member: %j', async (record, message) => {
    const starting = run({ seed: [profileRecord('first'), record], timezone: 'Europe/Oslo' });
    await expect(starting).rejects.toThrow(`seed:2: ${message}`);
  });

  it('resolves the ambiguous hour of a time zone by ts_utc', async () => {
    const at = (ts_utc: string) => ({ ...launched, events: {}, ts: 20231029023000, ts_utc });
    const seed = [at('2023-10-29T01:30:00Z'), at('2023-10-29T00:30:00Z')];
    const service = await run({ seed, timezone: 'Europe/Oslo' });
    expect((await service.profile('identity', 'ann'))?.events).toEqual({
      'App Launched': { count: 2, first_seen: 1_698_539_400, last_seen: 1_698_543_000 },
    });
  });
});

import Sqlite from 'libsql';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ServiceOptions } from '../../../src/service/start.js';
import { until } from '../../support/until.js';
import { eventRecord, headers, makeFolder, profileRecord, run } from '../running.js';

/** What the control API answers, as far as the tests look at it. */
interface ControlAnswer {
  readonly isStopped?: boolean;
  readonly now?: string;
  readonly error?: string;
  readonly next?: string | number;
  readonly requests?: Record<string, unknown>[];
  readonly profiles?: { identity?: string }[];
  readonly subscriptions?: unknown[];
  readonly snapshots?: unknown[];
  readonly events?: { event: string; identity: string; ts: number }[];
}

/** A service, and calls of its control API that return the JSON of the answer. */
async function controlled(options: Partial<ServiceOptions> = {}) {
  const service = await run(options);
  const ask = async (method: string, rest: string, body?: unknown) => {
    const answer = await fetch(`${service.url}/_local/${rest}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { ...((await answer.json()) as ControlAnswer), http: answer.status };
  };
  return { service, ask };
}

it('requires credentials for everything but health', async () => {
  const { service } = await controlled();
  expect((await fetch(`${service.url}/_local/health`)).status).toBe(200);
  for (const path of ['requests', 'faults', 'clock', 'profiles', 'events', 'snapshots'])
    expect((await fetch(`${service.url}/_local/${path}`)).status).toBe(401);
});

it.each([
  ['clock', 'application/x-www-form-urlencoded', '{"now":0}'],
  ['faults', 'application/json', '{"endpoint":'],
])(
  '%s: refuses a body that is not sent as JSON, naming the required type',
  async (to, type, body) => {
    const { service } = await controlled();
    const answer = await fetch(`${service.url}/_local/${to}`, {
      method: to === 'clock' ? 'PUT' : 'POST',
      headers: { ...headers, 'Content-Type': type },
      body,
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: 'body: must be JSON, with Content-Type: application/json',
    });
  },
);

describe('requests', () => {
  it('are listed with bodies as sent and without credentials', async () => {
    const { service, ask } = await controlled();
    const body =
      '{"d":[{"type":"profile","identity":"a","profileData":{"n":12345678901234567890}}]}';
    await service.call('POST', '/1/upload', body);
    await service.call('GET', '/1/profile.json?identity=a');
    await service.call('POST', '/1/upload', '{"d":[');
    const answer = await fetch(`${service.url}/_local/requests`, { headers });
    const text = await answer.text();
    expect(text).toContain(`"body":${body}`);
    expect(text).not.toContain('test-passcode');
    const { requests } = JSON.parse(text) as { requests: Record<string, unknown>[] };
    expect(requests).toMatchObject([
      { id: 1, endpoint: 'upload', method: 'POST', url: '/1/upload', status: 200, fault: null },
      { id: 2, endpoint: 'profile', url: '/1/profile.json?identity=a', status: 200, bodyBytes: 0 },
      { id: 3, endpoint: 'upload', status: 400, body: '{"d":[' },
    ]);
    expect((await ask('GET', 'requests?endpoint=upload&since=1')).requests).toMatchObject([
      { id: 3 },
    ]);
    await ask('DELETE', 'requests');
    await service.call('GET', '/1/profile.json?identity=a');
    expect((await ask('GET', 'requests')).requests).toMatchObject([{ id: 4 }]);
  });

  it('of an unknown endpoint are refused', async () => {
    const { ask } = await controlled();
    expect(await ask('GET', 'requests?endpoint=uploads')).toMatchObject({
      http: 400,
      error: expect.stringContaining('upload, subscribe') as string,
    });
    expect(await ask('GET', 'requests?since=-1')).toMatchObject({ http: 400 });
  });

  it('are at most a thousand', async () => {
    const { service, ask } = await controlled();
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    socket.write('GET /1/x HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1002));
    socket.write('GET /1/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    await once(socket.resume(), 'close');
    const { requests = [] } = await ask('GET', 'requests');
    expect(requests).toHaveLength(1000);
    expect(requests[0]).toMatchObject({ id: 4 });
  });
});

describe('seed, reset, snapshots', () => {
  const lines = [
    profileRecord('a', { City: 'Oslo' }),
    eventRecord('a', 'Buy', 1_700_000_000, { n: 1 }),
    // As the reads return them.
    {
      identity: 'b',
      email: 'b@example.test',
      profileData: { City: 'Rome' },
      all_identities: ['b'],
      platformInfo: [],
    },
    { event_name: 'Buy', profile: { identity: 'b' }, ts: 20231115120000, event_props: { n: 2 } },
  ].map((record) => JSON.stringify(record));

  it.each([
    ['seed.ndjson', lines.join('\r\n')],
    ['seed.ndjson.gz', gzipSync(`${lines.join('\n')}\n\n`)],
    ['seed.json', `[${lines.join(',\n')}]`],
  ])('loads %s, and restores it', async (name, content) => {
    const file = path.join(makeFolder(), name);
    writeFileSync(file, content);
    const { service, ask } = await controlled({ seed: [file] });
    expect(await service.profile('email', 'b@example.test')).toMatchObject({
      identity: 'b',
      profileData: { City: 'Rome' },
      events: { Buy: { count: 1, first_seen: 1_700_049_600 } },
    });
    await service.upload(profileRecord('a', { City: 'Bergen' }), profileRecord('c'));
    await ask('POST', 'faults', { action: 'empty' });
    await ask('PUT', 'clock', { now: 0 });
    expect(await ask('POST', 'reset')).toMatchObject({ http: 200, status: 'success' });
    expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({ City: 'Oslo' });
    expect(await service.profile('identity', 'c')).toBeUndefined();
    expect((await ask('GET', 'clock')).isStopped).toBe(false);
    expect((await ask('GET', 'requests')).requests).toHaveLength(2);
  });

  it('refuses a seed for a store that has users', async () => {
    const dataDir = makeFolder();
    const first = await run({ dataDir, seed: [profileRecord('a', { n: 1 })] });
    await first.upload(profileRecord('a', { n: 2 }));
    await first.close();
    const second = await run({ dataDir, seed: [profileRecord('a', { n: 1 })] });
    expect((await second.profile('identity', 'a'))?.profileData).toMatchObject({ n: 2 });
  });

  it.each([
    ['{"type":"profile","identity":"a","profileData":{}}\n{"type":', ':2: invalid JSON'],
    [
      '{"type":"profile","identity":"a","profileData":{"Email":"x"}}',
      ':1: Profile data is incorrect',
    ],
    ['\n\n{"identity":"a"}', ':3: Type is neither'],
    ['[{"type":"profile","identity":"a","profileData":{}},', ':1: the array is not closed'],
  ])('refuses %j with its place, and stores nothing', async (content, where) => {
    const dataDir = makeFolder();
    const file = path.join(dataDir, 'seed.ndjson');
    writeFileSync(file, content);
    await expect(run({ dataDir, seed: [file] })).rejects.toThrow(`seed.ndjson${where}`);
    const service = await run({ dataDir });
    expect(await service.profile('identity', 'a')).toBeUndefined();
  });

  it.each([
    ['in memory', false],
    ['in a folder', true],
  ])('snapshots %s', async (_, inFolder) => {
    const { service, ask } = await controlled(inFolder ? { dataDir: makeFolder() } : {});
    await service.upload(profileRecord('a', { n: 1 }), eventRecord('a', 'Buy', 1_700_000_000));
    await service.subscribe({ type: 'email', value: 'a@b.cd', status: 'Unsubscribe' });
    const cursor = await service.open('events', 'Buy', 20231114, 20231115);
    expect(await ask('PUT', 'snapshots/one')).toMatchObject({ http: 200 });
    await service.upload(profileRecord('a', { n: 2 }), profileRecord('b'));
    expect(await ask('PUT', 'snapshots/two')).toMatchObject({ http: 200 });
    expect(await ask('POST', 'snapshots/one/restore')).toMatchObject({ http: 200 });
    expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({ n: 1 });
    expect(await service.profile('identity', 'b')).toBeUndefined();
    expect((await service.page('events', cursor)).records).toHaveLength(1);
    expect((await ask('GET', 'subscriptions')).subscriptions).toEqual([
      { type: 'email', value: 'a@b.cd', status: 'Unsubscribed' },
    ]);
    await ask('POST', 'snapshots/two/restore');
    expect((await service.profile('identity', 'a'))?.profileData).toMatchObject({ n: 2 });
    await ask('DELETE', 'snapshots/one');
    expect((await ask('GET', 'snapshots')).snapshots).toMatchObject([{ name: 'two' }]);
    expect(await ask('POST', 'snapshots/one/restore')).toMatchObject({ http: 404 });
    expect(await ask('PUT', 'snapshots/..%2Fx')).toMatchObject({ http: 400 });
  });

  it('refuses a snapshot of another version or format, and changes nothing', async () => {
    const dataDir = makeFolder();
    const { service, ask } = await controlled({ dataDir });
    await service.upload(profileRecord('a'));
    await ask('PUT', 'snapshots/older');
    const older = path.join(dataDir, 'snapshots', 'older.db');
    copyFileSync(older, path.join(dataDir, 'snapshots', 'good.db'));
    writeFileSync(path.join(dataDir, 'snapshots', 'text.db'), 'identity\n'.repeat(1000));
    symlinkSync('good.db', path.join(dataDir, 'snapshots', 'link.db'));
    const copy = new Sqlite(older);
    copy.exec('PRAGMA user_version = 4');
    copy.close();
    const planted = ['view', 'generated', 'virtual'].map((name) => {
      const file = path.join(dataDir, 'snapshots', `${name}.db`);
      copyFileSync(path.join(dataDir, 'snapshots', 'good.db'), file);
      return new Sqlite(file);
    });
    const [view, generated, virtual] = planted;
    for (const database of planted) database.exec('DROP TABLE blocked');
    view!.exec(`CREATE VIEW blocked AS WITH RECURSIVE addresses (n) AS (
      SELECT 0 UNION ALL SELECT n + 1 FROM addresses) SELECT 'email', n FROM addresses`);
    generated!.exec('CREATE TABLE blocked (type TEXT, address AS (zeroblob(1000000000)))');
    virtual!.exec('CREATE VIRTUAL TABLE blocked USING fts5(type, address)');
    for (const database of planted) database.close();
    await service.upload(profileRecord('b'));
    for (const [name, why] of [
      ['older', 'another version of engagectl made it (format 4, not '],
      ['view', 'its tables are not those of a snapshot'],
      ['generated', 'its tables are not those of a snapshot'],
      ['virtual', 'its tables are not those of a snapshot'],
      ['text', 'file is not a database'],
      ['link', 'it is a symbolic link'],
    ] as const) {
      expect(await ask('POST', `snapshots/${name}/restore`)).toMatchObject({
        http: 409,
        error: expect.stringContaining(`cannot restore the snapshot ${name}: ${why}`),
      });
      expect(await service.profile('identity', 'b')).toBeDefined();
    }
    expect(await ask('POST', 'snapshots/good/restore')).toMatchObject({ http: 200 });
    expect(await service.profile('identity', 'b')).toBeUndefined();
  });
});

it('saves the same snapshot for two services of a data directory', async () => {
  const dataDir = makeFolder();
  const both = [await controlled({ dataDir }), await controlled({ dataDir })] as const;
  const [{ service, ask }] = both;
  await service.upload(...Array.from({ length: 1000 }, (_, n) => profileRecord(`u${n}`)));
  for (let round = 0; round < 5; round += 1) {
    const saved = await Promise.all(both.map(async (one) => one.ask('PUT', 'snapshots/one')));
    expect(saved).toMatchObject([{ http: 200 }, { http: 200 }]);
    expect(readdirSync(path.join(dataDir, 'snapshots'))).toEqual(['one.db']);
    expect(await ask('POST', 'snapshots/one/restore')).toMatchObject({ http: 200 });
  }
  expect(await service.profile('identity', 'u999')).toBeDefined();
});

it('leaves no files of a snapshot that failed', async () => {
  const dataDir = makeFolder();
  const { ask } = await controlled({ dataDir, onDefect: () => undefined });
  const inItsPlace = path.join(dataDir, 'snapshots', 'one.db', 'file');
  mkdirSync(inItsPlace, { recursive: true });
  expect(await ask('PUT', 'snapshots/one')).toMatchObject({ http: 500 });
  expect(readdirSync(path.join(dataDir, 'snapshots'))).toEqual(['one.db']);
});

it('runs no reset, snapshot or restore between the records of one upload', async () => {
  const { service, ask } = await controlled();
  await ask('PUT', 'snapshots/empty');
  const upload = Array.from({ length: 1000 }, (_, n) => profileRecord(`u${n}`));
  const count = async () => {
    const users = await ask('GET', 'profiles?limit=1&after=998');
    const first = await ask('GET', 'profiles?limit=1');
    return [first.profiles?.length, users.profiles?.length];
  };
  for (const [method, path] of [
    ['POST', 'reset'],
    ['PUT', 'snapshots/half'],
    ['POST', 'snapshots/empty/restore'],
  ] as const) {
    const uploaded = service.upload(...upload);
    await until(async () => (await count())[0] !== 0, { message: 'the upload has begun' });
    await ask(method, path);
    expect(await uploaded).toMatchObject({ processed: 1000 });
    if (path === 'snapshots/half') await ask('POST', 'snapshots/half/restore');
    const [first, last] = await count();
    expect([path, first]).toEqual([path, last]);
    await ask('POST', 'reset');
  }
});

it('discards a delayed write when a snapshot is restored', async () => {
  const { service, ask } = await controlled({ lagSeconds: 5 });
  await ask('PUT', 'snapshots/empty');
  await service.upload(profileRecord('a'));
  await ask('POST', 'snapshots/empty/restore');
  await service.upload(profileRecord('b'));
  await ask('PUT', 'clock', { advanceSeconds: 10 });
  expect(await service.profile('identity', 'b')).toBeDefined();
  expect(await service.profile('identity', 'a')).toBeUndefined();
});

it('reports a delayed write that loses a record, and fails neither reads nor later writes', async () => {
  const defects: unknown[] = [];
  const { service, ask } = await controlled({
    lagSeconds: 5,
    onDefect: (error) => void defects.push(error),
  });
  const keys = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${prefix}${n}`, n]));
  const first = await service.upload(profileRecord('a', keys('x')));
  const second = await service.upload(profileRecord('b'), profileRecord('a', keys('y')));
  await service.upload(profileRecord('c'));
  expect([first.status, second.status, defects]).toEqual(['success', 'success', []]);
  await ask('PUT', 'clock', { advanceSeconds: 10 });
  expect((await service.profile('identity', 'a'))?.profileData).toHaveProperty('x199');
  expect(await service.profile('identity', 'b')).toBeDefined();
  expect(await service.profile('identity', 'c')).toBeDefined();
  expect(defects.map(String)).toEqual([
    'Error: a delayed write lost records answered as processed: ' +
      'record number 2: Profile data is incorrect. More than 256 custom keys.',
  ]);
});

describe('clock', () => {
  it('stays within the years 0 to 9999, so that the service answers after each move', async () => {
    const { service, ask } = await controlled();
    for (const seconds of [90_000_000_000, -90_000_000_000]) {
      await ask('PUT', 'clock', { now: 0 });
      for (let step = 0; step < 100; step++) {
        const { http, now, error } = await ask('PUT', 'clock', { advanceSeconds: seconds });
        expect(http === 200 ? now : error).toMatch(/^\d{4}-|^advanceSeconds: .* years 0 to 9999$/);
      }
      expect(await service.upload(profileRecord('a', {}))).toMatchObject({ status: 'success' });
    }
    expect(await ask('PUT', 'clock', { now: 1e12 })).toMatchObject({ http: 400 });
  });

  it('stops, moves and runs again', async () => {
    const { service, ask } = await controlled();
    await ask('PUT', 'clock', { now: '2026-01-31T12:00:00Z' });
    await service.upload({ ...eventRecord('a', 'Buy', 0), ts: undefined });
    const cursor = await service.open('events', 'Buy', 20260131, 20260131);
    expect((await service.page('events', cursor)).records).toMatchObject([{ ts: 20260131120000 }]);
    expect(await ask('PUT', 'clock', { advanceSeconds: 3 * 3600 })).toMatchObject({
      now: '2026-01-31T15:00:00.000Z',
      epochSeconds: 1_769_871_600,
      isStopped: true,
    });
    // Idle for longer than a cursor lives.
    expect(await service.page('events', cursor)).toMatchObject({ status: 'fail', code: 3 });
    expect((await ask('PUT', 'clock', { now: null })).isStopped).toBe(false);
  });

  it.each([
    [{}, 'clock: '],
    [undefined, 'clock: '],
    [{ now: 1, advanceSeconds: 1 }, 'clock: '],
    [{ now: 'yesterday' }, 'now: "yesterday"'],
    [{ now: 1e300 }, 'now: '],
    [{ now: '2026-01-31T12:00:00' }, 'with an offset'],
    [{ now: '2026-02-31T12:00:00Z' }, 'now: "2026-02-31'],
    [{ advanceSeconds: '1' }, 'advanceSeconds: "1"'],
  ])('refuses %j', async (body, where) => {
    const { ask } = await controlled();
    expect(await ask('PUT', 'clock', body)).toMatchObject({
      http: 400,
      error: expect.stringContaining(where) as string,
    });
  });
});

describe('D stored data', () => {
  it('lists users by page and by the start of their keys, with their reachability', async () => {
    const { service, ask } = await controlled();
    await service.upload(
      profileRecord('ann', { Email: 'Ann@example.test', Phone: '+4712345678' }),
      profileRecord('bob', { Email: 'bob@example.test', 'MSG-email': false }),
      { type: 'profile', objectId: 'dev-1', profileData: {} },
      eventRecord('ann', 'Buy', 1_700_000_000, { n: 1.0 }),
    );
    await service.subscribe({ type: 'phone', value: '+4712345678', status: 'Unsubscribe' });
    const first = await ask('GET', 'profiles?limit=2');
    expect(first.profiles).toMatchObject([
      {
        identity: 'ann',
        reachability: {
          sms: { address: '+4712345678', addressLevel: 'Unsubscribed', isReachable: false },
          whatsapp: { isReachable: true },
          email: { address: 'Ann@example.test', userLevel: 'Subscribed', isReachable: true },
        },
      },
      {
        identity: 'bob',
        reachability: {
          email: { userLevel: 'Unsubscribed', isReachable: false },
          sms: { address: null, isReachable: false },
        },
      },
    ]);
    const second = await ask('GET', `profiles?limit=2&after=${first.next}`);
    expect(second.profiles).toMatchObject([{ platformInfo: [{ objectId: 'dev-1' }] }]);
    expect(second).not.toHaveProperty('next');
    for (const [q, found] of [
      ['an', 1],
      ['BOB@', 1],
      ['dev', 1],
      ['x', 0],
      ['ann@', 1],
    ] as const)
      expect((await ask('GET', `profiles?q=${q}`)).profiles, q).toHaveLength(found);
    expect(await ask('GET', 'profiles/ann')).toMatchObject({
      identity: 'ann',
      latestEvents: [{ event: 'Buy', ts: 1_700_000_000, identity: 'ann', props: { n: 1 } }],
    });
    expect(await ask('GET', 'profiles/nobody')).toMatchObject({ http: 404 });
  });

  it('finds an address at any user, and the oldest user by endpoint 5', async () => {
    const { service, ask } = await controlled();
    const users = Array.from({ length: 9000 }, (_, n) =>
      profileRecord(`u${n}`, {
        Email: `${[1, 4500, 8999].includes(n) ? 'Shared' : n}@example.test`,
      }),
    );
    for (let at = 0; at < users.length; at += 1000)
      await service.upload(...users.slice(at, at + 1000));
    expect(await service.profile('email', 'shared@EXAMPLE.test')).toMatchObject({ identity: 'u1' });
    expect(await service.profile('email', '8998@example.test')).toMatchObject({
      identity: 'u8998',
    });
    const found = ({ profiles }: ControlAnswer) => profiles?.map(({ identity }) => identity);
    expect(found(await ask('GET', 'profiles?q=shared'))).toEqual(['u1', 'u4500', 'u8999']);
    const { next, ...first } = await ask('GET', 'profiles?q=shared&limit=2');
    expect(found(first)).toEqual(['u1', 'u4500']);
    expect(found(await ask('GET', `profiles?q=shared&limit=2&after=${next}`))).toEqual(['u8999']);
    await service.upload(profileRecord('u1', { Email: 'other@example.test' }));
    expect(await service.profile('email', 'shared@example.test')).toMatchObject({
      identity: 'u4500',
    });
  });

  it('lists events from the latest, page by page, by name or user', async () => {
    const { service, ask } = await controlled();
    const events = ['Buy', 'View'].flatMap((name) =>
      ['a', 'b'].flatMap((user) =>
        [1, 2, 3].map((s) => eventRecord(user, name, 1_700_000_000 + s)),
      ),
    );
    await service.upload(...events);
    const all: NonNullable<ControlAnswer['events']> = [];
    for (let after: string | number | undefined = ''; after !== undefined;) {
      const page: ControlAnswer = await ask('GET', `events?limit=5${after && `&after=${after}`}`);
      all.push(...(page.events ?? []));
      after = page.next;
    }
    expect(all).toHaveLength(12);
    expect(new Set(all.map((one) => `${one.event} ${one.identity} ${one.ts}`)).size).toBe(12);
    expect(all.map(({ ts }) => ts)).toEqual(all.map(({ ts }) => ts).toSorted((a, b) => b - a));
    expect((await ask('GET', 'events?event=Buy')).events).toHaveLength(6);
    expect((await ask('GET', 'events?event=Buy&identity=a')).events).toHaveLength(3);
    expect((await ask('GET', 'events?identity=nobody')).events).toEqual([]);
    expect(await ask('GET', 'events?after=x')).toMatchObject({ http: 400 });
  });
});

it('shows the whole name of an event that contains a NUL', async () => {
  const { service, ask } = await controlled();
  const name = 'Buy\0now';
  await service.upload(eventRecord('a', name, 1_700_000_000));
  await service.open('events', name, 20231114, 20231115);
  expect(await ask('GET', 'events/days')).toMatchObject({ names: [name] });
  expect(await ask('GET', 'cursors')).toMatchObject({ cursors: [{ event: name }] });
  expect(await ask('GET', 'events')).toMatchObject({ events: [{ event: name }] });
});

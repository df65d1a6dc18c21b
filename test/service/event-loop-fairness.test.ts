import { expect, it, onTestFinished, vi } from 'vitest';
import { startService } from '../../src/service/start.js';
import { serviceDefaults } from '../support/service-defaults.js';
import { until } from '../support/until.js';
import { eventRecord, headers, profileRecord, Running } from './running.js';

const noon = 1_700_049_600; // 2023-11-15 12:00 UTC

/** A service, and what its store was asked for between two turns of the event loop. */
async function watched() {
  const account = {
    accountId: headers['X-Service-Account-Id'],
    passcode: headers['X-Service-Passcode'],
  };
  const running = await startService({ ...serviceDefaults, ...account });
  onTestFinished(() => running.close());
  const { store } = running.service;
  let turn = 0;
  const count = () => {
    turn += 1;
    ticking = setImmediate(count);
  };
  let ticking = setImmediate(count);
  onTestFinished(() => clearImmediate(ticking));
  /** By turn: the answers of this method that are of interest. */
  const answersOf = <Answer>(method: 'bytes' | 'get', isMeant: (sql: string) => boolean) => {
    const found = new Map<number, Answer[]>();
    const ask = store[method].bind(store) as (sql: string, values: []) => Answer;
    vi.spyOn(store, method).mockImplementation(((sql: string, values: []) => {
      const answer = ask(sql, values);
      if (isMeant(sql)) found.set(turn, [...(found.get(turn) ?? []), answer]);
      return answer;
    }) as never);
    return found;
  };
  return {
    service: new Running(running),
    store,
    mutex: running.service.mutex,
    now: () => turn,
    answersOf,
  };
}

/** A profile of some 100,000 characters. */
const largeProfile = (_: unknown, n: number) =>
  profileRecord(
    `u${n}`,
    Object.fromEntries(Array.from({ length: 200 }, (_, key) => [`key${key}`, 'x'.repeat(490)])),
  );

it.each([
  [
    'small records, by their number',
    Array.from({ length: 1000 }, (_, n) => profileRecord(`u${n}`)),
    [250, 500, 750, 1000],
  ],
  ['large records, by their text', Array.from({ length: 7 }, largeProfile), [2, 4, 6, 7]],
])(
  'stores an upload in slices, one per turn of the event loop, without other writes in between: %s',
  async (_, records, sums) => {
    const { service, store, mutex, now } = await watched();
    const users = () => store.get<{ n: number }>('SELECT count(*) AS n FROM profiles', [])?.n;
    const storeSlice = store.transaction.bind(store);
    const seen: [turn: number, users: number | undefined][] = [];
    let others: Promise<unknown> | undefined;
    vi.spyOn(store, 'transaction').mockImplementation((work) => {
      const result = storeSlice(work);
      seen.push([now(), users()]);
      others ??= mutex.next().then(users);
      return result;
    });
    await service.upload(...records);
    expect(seen.map(([, stored]) => stored)).toEqual(sums);
    expect(new Set(seen.map(([turn]) => turn)).size).toBe(sums.length);
    expect(await others).toBe(records.length);
  },
);

it.each(['events', 'profiles'] as const)(
  'reads a page of all %s in chunks, one per turn of the event loop',
  async (kind) => {
    const { service, answersOf } = await watched();
    const records = Array.from({ length: 1000 }, (_, n) => eventRecord(`u${n}`, 'Buy', noon + n));
    await service.upload(...records);
    const cursor = await service.open(kind, 'Buy', 20231115, 20231115, '?batch_size=10');
    const chunks = answersOf<Buffer>('bytes', (sql) => sql.includes('group_concat'));
    const page = await service.page(kind, cursor);
    expect(page.records).toHaveLength(1000);
    expect([...chunks.values()].map(({ length }) => length)).toEqual([1, 1, 1, 1]);
    for (const [chunk] of chunks.values())
      expect(chunk?.toString().match(/"identity":/g)).toHaveLength(250);
  },
);

it.each([
  ['every user has one event', 'i'],
  ['one user has nearly all of them', 'max(1, i - 99990)'],
])('searches the users of a rare day in pieces of the index: %s', async (_, profileOf) => {
  const { service, store, answersOf } = await watched();
  await service.upload(...[1, 2, 3].map((n) => eventRecord(`u${n}`, 'Buy', noon + n)));
  // 100,000 more the day before, of users whose numbers come before, between and after these.
  store.run('UPDATE events SET profile = profile * 30000', []);
  store.run('UPDATE profiles SET id = id * 30000', []);
  store.run(
    `INSERT INTO events (event, ts, id, profile, props) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000)
     SELECT 1, ${noon - 86_400} + i % 40000, i + 3, ${profileOf}, '{}' FROM n`,
    [],
  );
  store.run('UPDATE event_names SET newest = 100003', []);
  const windows = answersOf('get', (sql) => sql.includes('json_group_array'));
  const cursor = await service.open('profiles', 'Buy', 20231115, 20231115, '?batch_size=46');
  const { records = [], next_cursor } = await service.page('profiles', cursor);
  expect(records.map(({ identity }) => identity)).toEqual(['u1', 'u2', 'u3']);
  expect(next_cursor).toBeUndefined();
  expect(windows.size).toBeGreaterThan(9);
  expect([...windows.values()].map(({ length }) => length)).not.toContain(2);
});

it('saves, restores and resets many users on another thread, and makes readers wait for it', async () => {
  const { service, store, now } = await watched();
  store.run(
    `INSERT INTO profiles (id, identities, object_ids, social_ids, data, ts) WITH RECURSIVE n(i) AS
     (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000)
     SELECT i, json_array('u' || i), '[]', '[]', '"City":"Oslo"', 1 FROM n`,
    [],
  );
  store.run(
    `INSERT INTO keys (hash, kind, value, profile) SELECT id * 7919 % 1000003, 0, 'u' || id, id FROM profiles`,
    [],
  );
  const users = async () => {
    const { text } = await service.call('GET', '/_local/profiles?limit=1');
    return (JSON.parse(text) as { profiles: unknown[] }).profiles.length;
  };
  for (const [method, path, left] of [
    ['PUT', '/_local/snapshots/all', 1],
    ['POST', '/_local/reset', 0],
    ['POST', '/_local/snapshots/all/restore', 1],
  ] as const) {
    const start = now();
    const changed = service.call(method, path);
    await until(() => store.background !== undefined, { message: `${path} begins` });
    const seen = await users();
    expect([(await changed).http, seen]).toEqual([200, left]);
    // A request takes some ten turns by itself.
    expect(now() - start, path).toBeGreaterThan(100);
  }
});

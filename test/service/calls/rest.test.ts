import { expect, it } from 'vitest';
import path from 'node:path';
import Sqlite from 'libsql';
import { makeWorld } from '../../support/test-environment.js';
import { makeFolder } from '../running.js';
import { askRest, callAccount, join, runRouter } from './raw-client.js';

it('lists calls since a time with their outcomes', async () => {
  let now = 1_700_000_000_000;
  const service = await runRouter({}, { now: () => now });
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  expect(await askRest(service, 'GET', '/call/v1/calls')).toMatchObject({ records: [] });
  const first = await ann.call('bob_1', 'first call');
  now += 1000;
  await bob.ask('answer', { callId: first });
  now += 1000;
  await Promise.all([ann, bob].map((side) => side.ask('ready', { callId: first })));
  now += 60_000;
  await ann.ask('hangup', {});
  const second = await bob.call('ann_1');
  expect(await askRest(service, 'GET', '/call/v1/calls?since=0')).toEqual({
    http: 200,
    status: 'success',
    records: [
      {
        callId: first,
        callerCuid: 'ann_1',
        calleeCuid: 'bob_1',
        callContext: 'first call',
        channel: 'Socket',
        phase: 'over',
        placedAt: 1_700_000_000_000,
        answeredAt: 1_700_000_001_000,
        inProgressAt: 1_700_000_002_000,
        endedAt: 1_700_000_062_000,
        status: 'over',
        reason: 'hangup',
      },
      expect.objectContaining({ callId: second, phase: 'placed' }),
    ],
  });
  const later = await askRest(service, 'GET', '/call/v1/calls?since=1700000000001');
  expect(later['records']).toMatchObject([{ callId: second }]);
});

it('lists more calls than one chunk, each once', async () => {
  const service = await runRouter();
  const [ann] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const placed: string[] = [];
  for (let n = 0; n < 251; n += 1) {
    placed.push(await ann.call('bob_1'));
    await ann.ask('hangup', {});
  }
  const idsOf = (records: unknown) => (records as { callId: string }[]).map(({ callId }) => callId);
  const { records } = await askRest(service, 'GET', '/call/v1/calls');
  expect(idsOf(records)).toEqual(placed);
  const pages = ['', '&after=200', '&after=251'].map((after) =>
    askRest(service, 'GET', `/call/v1/calls?limit=200${after}`),
  );
  const [first, second, third] = await Promise.all(pages);
  expect([first!['next'], second!['next'], third!['next']]).toEqual([200, null, null]);
  expect([first, second, third].flatMap((page) => idsOf(page!['records']))).toEqual(placed);
});

it('call log and call missed list more calls than one answer may have', async () => {
  const dataDir = makeFolder();
  const service = await runRouter({}, { dataDir });
  const store = new Sqlite(path.join(dataDir, 'service.db'));
  const insert = store.prepare(
    'INSERT INTO calls (call_id, placed_at, is_over, record) VALUES (?, 1, 1, ?)',
  );
  const record = {
    callerCuid: 'ann_1',
    calleeCuid: 'bob_1',
    callContext: 'x',
    channel: 'Socket',
    phase: 'over',
    placedAt: 1,
    endedAt: 2,
    status: 'missed',
    reason: 'unanswered',
    actions: { later: 'Later' },
  };
  store.exec('BEGIN');
  for (let n = 0; n < 5000; n += 1)
    insert.run([`${n}`, JSON.stringify({ callId: `${n}`, ...record })]);
  store.exec('COMMIT');
  store.close();
  const { accountId, apiKey } = callAccount;
  const world = makeWorld({
    env: { ENGAGECTL_CALL_ACCOUNT_ID: accountId, ENGAGECTL_CALL_API_KEY: apiKey },
  });
  for (const command of ['log', 'missed list']) {
    const argv = ['call', ...command.split(' '), '--call-url', service.url.replace('http', 'ws')];
    const { code, stdout, stderr } = await world.run(argv);
    expect(code, stderr).toBe(0);
    const calls = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { callId: string }).callId);
    expect(calls).toEqual(Array.from({ length: 5000 }, (_, n) => `${n}`));
  }
});

it.each([
  ['GET', '/call/v1/calls', 'wrong', 401],
  ['GET', '/call/v1/devices', 'wrong', 401],
  ['POST', '/call/v1/missed/x/actions/y', 'wrong', 401],
  ['GET', '/call/v1/calls?since=yesterday', undefined, 400],
  ['GET', '/call/v1/calls?limit=all', undefined, 400],
  ['GET', '/call/v1/calls?limit=1&after=-1', undefined, 400],
  ['POST', '/call/v1/missed/x/actions/y', undefined, 404],
  ['POST', '/call/v1/missed/x/actions', undefined, 404],
  ['POST', '/call/v1/missed/%ff/actions/%ff', undefined, 404],
  ['GET', '/call/v1/none', undefined, 404],
] as const)('answers %s %s with the key %s: %i', async (method, path, key, http) => {
  const service = await runRouter();
  expect(await askRest(service, method, path, key)).toMatchObject({ http, status: 'fail' });
});

it('separates the REST account from the calling account', async () => {
  const service = await runRouter();
  expect((await service.call('GET', '/call/v1/calls')).http).toBe(401);
});

it('deletes calls and registrations with a reset, and restores them with a snapshot', async () => {
  const service = await runRouter();
  const local = (method: 'GET' | 'POST' | 'PUT', path: string) =>
    service.call(method, `/_local/${path}`);
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1');
  await ann.ask('hangup', {});
  expect(await local('PUT', 'snapshots/called')).toMatchObject({ http: 200 });
  expect(await local('POST', 'reset')).toMatchObject({ http: 200 });
  expect(await Promise.all([ann.closed, bob.closed])).toEqual([1001, 1001]);
  expect(await askRest(service, 'GET', '/call/v1/devices')).toMatchObject({ devices: [] });
  expect(await local('GET', 'calls')).toMatchObject({ calls: [] });
  const again = await join(service.url, 'ann_1');
  expect(await again.ask('call', { to: 'bob_1', context: 'a' })).toBe('NOT_REACHABLE');
  expect(await local('POST', 'snapshots/called/restore')).toMatchObject({ http: 200 });
  expect(await local('GET', 'calls')).toMatchObject({ calls: [{ callId, callerCuid: 'ann_1' }] });
  expect(await askRest(service, 'GET', '/call/v1/devices')).toMatchObject({
    devices: [{ cuid: 'ann_1' }, { cuid: 'bob_1' }],
  });
});

import { expect, it } from 'vitest';
import { askRest, join, runRouter } from './raw-client.js';

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
  const { records } = await askRest(service, 'GET', '/call/v1/calls');
  expect((records as { callId: string }[]).map(({ callId }) => callId)).toEqual(placed);
});

it.each([
  ['GET', '/call/v1/calls', 'wrong', 401],
  ['GET', '/call/v1/devices', 'wrong', 401],
  ['POST', '/call/v1/missed/x/actions/y', 'wrong', 401],
  ['GET', '/call/v1/calls?since=yesterday', undefined, 400],
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

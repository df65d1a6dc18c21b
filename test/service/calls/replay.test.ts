import { expect, it } from 'vitest';
import { makeFolder, type Running } from '../running.js';
import { askRest, authOf, join, RawClient, runRouter } from './raw-client.js';
import { until } from '../../support/until.js';

const dayMilliseconds = 24 * 3_600_000;

/** Ann calls Bob, who answers; both say that they are ready. */
async function call(service: Running) {
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1');
  await bob.ask('answer', { callId });
  await Promise.all([ann.ask('ready', { callId }), bob.ask('ready', { callId })]);
  await until(() => ann.frames.length === 3 && bob.frames.length === 3);
  return { ann, bob, callId };
}

it('loses and repeats nothing when both sockets drop during a call', async () => {
  const service = await runRouter();
  const { ann, bob, callId } = await call(service);
  const [annHas, bobHas] = [ann.lastSeq, bob.lastSeq];
  ann.socket.terminate();
  bob.socket.terminate();
  await Promise.all([ann.closed, bob.closed]);
  const annBack = await join(service.url, 'ann_1', { lastSeq: annHas });
  for (const payload of [1, 2, 3]) await annBack.ask('sdp', { callId, payload });
  const bobBack = await join(service.url, 'bob_1', { lastSeq: bobHas });
  await bobBack.got('sdp', 'sdp', 'sdp');
  expect(bobBack.frames.map(({ seq }) => seq)).toEqual([bobHas + 1, bobHas + 2, bobHas + 3]);
  bobBack.socket.terminate();
  await bobBack.closed;
  // It had the first two before the socket went.
  const third = await join(service.url, 'bob_1', { lastSeq: bobHas + 2 });
  await third.got('sdp');
  await annBack.ask('hangup', {});
  await third.got('sdp', 'Ended');
  await annBack.got('Ended');
});

it('does not resend acknowledged events, even to a new process', async () => {
  const service = await runRouter();
  const { ann, bob } = await call(service);
  await ann.ask('hangup', {});
  await until(() => bob.events.at(-1) === 'Ended');
  bob.socket.send(JSON.stringify({ t: 'seen', seq: bob.lastSeq - 1 }));
  await bob.ask('hangup', {});
  bob.socket.terminate();
  await bob.closed;
  const born = await join(service.url, 'bob_1');
  await born.got('Ended');
});

it('gives a waiting call to the new process of a killed receiver', async () => {
  const service = await runRouter();
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1');
  await bob.got('incoming');
  bob.socket.send(JSON.stringify({ t: 'seen', seq: bob.lastSeq }));
  bob.socket.terminate();
  await bob.closed;
  const born = await join(service.url, 'bob_1');
  await born.got('incoming');
  expect(born.frames[0]).toMatchObject({ callId, channel: 'Push', details: { channel: 'Push' } });
  expect(await born.ask('answer', { callId })).toBe('ok');
  await ann.got('CallIsPlaced', 'Answered');
});

it('ends the call of an earlier process of the same device', async () => {
  const service = await runRouter();
  const { ann } = await call(service);
  const born = await join(service.url, 'bob_1');
  await ann.got('CallIsPlaced', 'Answered', 'CallInProgress', 'Ended');
  expect(born.events.at(-1)).toBe('Ended');
});

it('notifies a disconnected receiver by push, which answers the call when it connects', async () => {
  const offers: unknown[] = [];
  const service = await runRouter({ onPush: (offer) => offers.push(offer) });
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await bob.ask('bye', {});
  expect(await bob.closed).toBe(1000);
  const callId = await ann.call('bob_1');
  const details = { callId, callerCuid: 'ann_1', calleeCuid: 'bob_1', channel: 'Push' };
  const device = { deviceId: 'device of bob_1', platform: 'android' };
  expect(offers).toMatchObject([{ callId, cuid: 'bob_1', ...device, details }]);
  const back = await join(service.url, 'bob_1');
  await back.got('incoming');
});

it('sends a late receiver the missed call, but no offer', async () => {
  const service = await runRouter({ timers: { ringing: 30 } });
  const missedCallActions = { back: 'Call back', later: 'Remind me' };
  const bob = await join(service.url, 'bob_1', { missedCallActions });
  await bob.ask('bye', {});
  const ann = await join(service.url, 'ann_1');
  const callId = await ann.call('bob_1');
  await ann.got('CallIsPlaced', 'Missed');
  const late = await join(service.url, 'bob_1', { missedCallActions });
  await late.got('Missed', 'missed');

  const action = (id: string) =>
    askRest(service, 'POST', `/call/v1/missed/${callId}/actions/${id}`);
  expect(await action('unknown')).toMatchObject({ http: 404 });
  await late.ask('bye', {});
  expect(await action('later')).toEqual({ http: 200, status: 'success' });
  expect(await action('later')).toMatchObject({ http: 409 });
  const back = await join(service.url, 'bob_1', { lastSeq: late.lastSeq });
  await back.got('action');
  expect(back.frames[0]).toMatchObject({ callId, actionId: 'later', label: 'Remind me' });
});

it('queues at most 100 frames, for a day', async () => {
  let ahead = 0;
  const service = await runRouter({}, { now: () => Date.now() + ahead });
  const bob = await join(service.url, 'bob_1');
  await bob.ask('bye', {});
  const ann = await join(service.url, 'ann_1');
  for (let n = 0; n < 120; n += 1) {
    await ann.call('bob_1');
    await ann.ask('hangup', {});
  }
  expect(await askRest(service, 'GET', '/call/v1/devices')).toMatchObject({
    devices: [{ cuid: 'ann_1' }, { cuid: 'bob_1', state: 'away', waiting: 100 }],
  });
  const back = await join(service.url, 'bob_1', { lastSeq: 0 });
  await until(() => back.frames.length === 100);
  expect(new Set(back.events)).toEqual(new Set(['Cancelled']));
  await back.ask('bye', {});
  ahead = dayMilliseconds;
  const later = await join(service.url, 'bob_1', { lastSeq: 0 });
  await later.got();
});

it('ends open calls at a restart of the router, and continues queues and numbers', async () => {
  const dataDir = makeFolder();
  const first = await runRouter({}, { dataDir });
  const { ann, bob } = await call(first);
  const eve = await join(first.url, 'eve_1');
  const dan = await join(first.url, 'dan_1');
  await eve.call('dan_1');
  await dan.got('incoming');
  await first.close();
  expect(await Promise.all([ann.closed, bob.closed])).toEqual([1001, 1001]);

  const second = await runRouter({}, { dataDir });
  for (const old of [ann, bob, eve, dan]) {
    const [cuid] = [
      ['ann_1', ann],
      ['bob_1', bob],
      ['eve_1', eve],
      ['dan_1', dan],
    ].find(([, client]) => client === old) as [string, RawClient];
    const back = await join(second.url, cuid, { lastSeq: old.lastSeq });
    await back.got('Ended');
    expect(back.lastSeq).toBeGreaterThan(old.lastSeq);
    expect(await back.ask('hangup', {})).toBe('ok');
  }
});

it('reports a router that has lost its state', async () => {
  const service = await runRouter();
  const client = await new RawClient(service.url).opened();
  const answer = await client.ask('auth', authOf({ cuid: 'ann_1', lastSeq: 40 }));
  expect(answer).toMatchObject({ lastSeq: 0, replay: 0 });
});

it('delivers all frames once and in order over connections that break at every third frame', async () => {
  let frames = 0;
  let isStormy = false;
  const random = () => (isStormy && ++frames % 3 === 0 ? 0 : 1);
  const service = await runRouter({ dropRate: 0.5 }, { random });
  const { ann, bob, callId } = await call(service);
  bob.socket.terminate();
  await bob.closed;
  for (const payload of [1, 2, 3, 4, 5]) await ann.ask('sdp', { callId, payload });
  isStormy = true;
  for (const t of ['sdp', 'hangup'])
    ann.socket.send(JSON.stringify({ t, id: 9, callId, payload: 6 }));
  const [annGot, bobGot] = await Promise.all([
    gotInTheEnd(service, 'ann_1', ann),
    gotInTheEnd(service, 'bob_1', bob),
  ]);
  expect(annGot).toEqual([1, 2, 3, 4]);
  expect(bobGot.slice(0, 3)).toEqual([1, 2, 3]);
  expect(bobGot).toEqual([...new Set(bobGot)].toSorted((a, b) => a - b));
  expect(bobGot.at(-1)).toBe(10);
});

/** Numbers of all frames up to the last event, over as many sockets as it takes. */
async function gotInTheEnd(service: Running, cuid: string, first: RawClient): Promise<number[]> {
  const numbers: number[] = [];
  for (let client = first; ; client = await new RawClient(service.url).opened()) {
    if (client !== first) {
      const auth = authOf({ cuid, lastSeq: numbers.at(-1) ?? 0 });
      client.socket.send(JSON.stringify({ t: 'auth', id: 1, ...auth }));
    }
    const isOver = () => client.events.includes('Ended');
    await until(() => isOver() || client.socket.readyState === client.socket.CLOSED);
    numbers.push(...client.frames.map(({ seq }) => seq));
    if (isOver()) return numbers;
  }
}

import { expect, it } from 'vitest';
import { until } from '../../support/until.js';
import type { Running } from '../running.js';
import { join, type RawClient, runRouter } from './raw-client.js';

// Every row of the table of states (calling.md §5), frame by frame. `got` fails on a frame too many.

const placed = 'CallIsPlaced';

/** Ann calls Bob, who is there. */
async function calling(service: Running) {
  const ann = await join(service.url, 'ann_1');
  const bob = await join(service.url, 'bob_1');
  const callId = await ann.call('bob_1');
  await bob.got('incoming');
  return { ann, bob, callId };
}

async function answered(service: Running) {
  const sides = await calling(service);
  expect(await sides.bob.ask('answer', { callId: sides.callId })).toBe('ok');
  return sides;
}

async function inProgress(service: Running) {
  const sides = await answered(service);
  const { ann, bob, callId } = sides;
  await Promise.all([ann.ask('ready', { callId }), bob.ask('ready', { callId })]);
  return sides;
}

const both = async (a: RawClient, b: RawClient, ...events: string[]) => {
  await a.got(placed, ...events);
  await b.got('incoming', ...events);
};

it('sends the details to both sides when a call is placed', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  const details = {
    callId,
    callerCuid: 'ann_1',
    calleeCuid: 'bob_1',
    callContext: 'hello',
    channel: 'Socket',
  };
  expect(ann.frames).toEqual([
    { t: 'event', seq: 1, callId, direction: 'Outgoing', event: placed, details },
  ]);
  expect(bob.frames).toEqual([
    { t: 'incoming', seq: 1, callId, details, channel: 'Socket', expiresAt: expect.any(Number) },
  ]);
});

it('refuses a call to a busy receiver, and leaves its call undisturbed', async () => {
  const service = await runRouter();
  const { ann, bob, callId } = await inProgress(service);
  const eve = await join(service.url, 'eve_1');
  await eve.call('bob_1');
  await eve.got(placed, 'ReceiverBusyOnAnotherCall');
  await ann.ask('hangup', { callId });
  await both(ann, bob, 'Answered', 'CallInProgress', 'Ended');
});

it('ends the offer to a receiver that is busy on another network, without an event', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  await bob.ask('decline', { callId, reasonCode: 1005 });
  await ann.got(placed, 'ReceiverBusyOnAnotherCall');
  await bob.got('incoming', 'over');
});

it('ends a call to a receiver that logged out at once', async () => {
  const service = await runRouter();
  const bob = await join(service.url, 'bob_1');
  await bob.ask('logout', {});
  const ann = await join(service.url, 'ann_1');
  await ann.call('bob_1');
  await ann.got(placed, 'DeclinedDueToLoggedOutCuid');
  await bob.got();
  const again = await join(service.url, 'bob_1');
  await ann.call('bob_1');
  await again.got('incoming');
});

it('ends a call if the device reports notifications as off', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  await bob.ask('decline', { callId, reasonCode: 1006 });
  await both(ann, bob, 'DeclinedDueToNotificationsDisabled');
});

it('never rings at a disconnected receiver with notifications off', async () => {
  const service = await runRouter();
  const bob = await join(service.url, 'bob_1', { caps: { notifications: false } });
  await bob.ask('bye', {});
  const ann = await join(service.url, 'ann_1');
  await ann.call('bob_1');
  await ann.got(placed, 'DeclinedDueToNotificationsDisabled');
  const again = await join(service.url, 'bob_1');
  await again.got('DeclinedDueToNotificationsDisabled');
});

it('ends a call whose microphone is refused on answer', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  await bob.ask('decline', { callId, reasonCode: 1002 });
  await both(ann, bob, 'DeclinedDueToMicrophonePermissionsNotGranted');
});

it('reports Declined to both sides', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  await bob.ask('decline', { callId });
  await both(ann, bob, 'Declined');
});

it.each(['hangup', 'logout'] as const)(
  'handles %s of the receiver while it rings',
  async (step) => {
    const { ann, bob } = await calling(await runRouter());
    await bob.ask(step, {});
    await both(ann, bob, 'Declined');
  },
);

it.each(['hangup', 'logout', 'bye'] as const)(
  'handles %s of the initiator while it rings',
  async (step) => {
    const { ann, bob } = await calling(await runRouter());
    await ann.ask(step, {});
    await bob.got('incoming', 'Cancelled');
    if (step !== 'bye') await ann.got(placed, 'Cancelled');
  },
);

it('reports Missed to both sides if nobody answers', async () => {
  const service = await runRouter({ timers: { ringing: 30 } });
  const ann = await join(service.url, 'ann_1');
  const bob = await join(service.url, 'bob_1', { missedCallActions: { back: 'Call back' } });
  const callId = await ann.call('bob_1'); // it may be missed before the incoming call is looked at
  await ann.got(placed, 'Missed');
  await bob.got('incoming', 'Missed', 'missed');
  expect(bob.frames.at(-1)).toMatchObject({ callId, actions: { back: 'Call back' } });
});

it('ends a call that is answered but not connected in time', async () => {
  const { ann, bob } = await answered(await runRouter({ timers: { connecting: 30 } }));
  await both(ann, bob, 'Answered', 'Ended');
});

it.each(['ann', 'bob'] as const)('ends a call after %s hangs up once answered', async (who) => {
  const sides = await answered(await runRouter());
  await sides[who].ask('hangup', {});
  await both(sides.ann, sides.bob, 'Answered', 'Ended');
});

it.each([
  ['ann', 'hangup'],
  ['bob', 'hangup'],
  ['ann', 'logout'],
  ['bob', 'logout'],
] as const)('%s: handles %s in progress', async (who, step) => {
  const sides = await inProgress(await runRouter());
  await sides[who].ask(step, {});
  await both(sides.ann, sides.bob, 'Answered', 'CallInProgress', 'Ended');
});

it.each(['ann', 'bob'] as const)(
  'reports Ended when %s is gone in a call, to that side on its return',
  async (who) => {
    const service = await runRouter({ timers: { gone: 30 } });
    const sides = await inProgress(service);
    await both(sides.ann, sides.bob, 'Answered', 'CallInProgress');
    const { [who]: lost, [who === 'ann' ? 'bob' : 'ann']: other } = sides;
    lost.socket.terminate();
    await until(() => other.events.at(-1) === 'Ended');
    const back = await join(service.url, `${who}_1`, { lastSeq: lost.lastSeq });
    await back.got('Ended');
  },
);

it('ends a ringing call whose initiator is gone', async () => {
  const service = await runRouter({ timers: { gone: 30 } });
  const { ann, bob } = await calling(service);
  await ann.got(placed);
  ann.socket.terminate();
  await bob.got('incoming', 'Cancelled');
  const back = await join(service.url, 'ann_1', { lastSeq: ann.lastSeq });
  await back.got('Cancelled');
});

it('ignores a side that reconnects in time', async () => {
  const service = await runRouter({ timers: { gone: 2000 } });
  const { ann, bob, callId } = await inProgress(service);
  await both(ann, bob, 'Answered', 'CallInProgress');
  const eve = await join(service.url, 'eve_1');
  const dan = await join(service.url, 'dan_1');
  await eve.call('dan_1');
  await dan.got('incoming');
  bob.socket.terminate();
  const back = await join(service.url, 'bob_1', { lastSeq: bob.lastSeq });
  expect(await back.ask('sdp', { callId, payload: { type: 'offer' } })).toBe('ok');
  await ann.got(placed, 'Answered', 'CallInProgress', 'sdp');
  // Eve is gone later than Bob was, and for good: when her time is up, so would be his.
  eve.socket.terminate();
  await dan.got('incoming', 'Cancelled');
  await back.ask('hangup', {});
  await back.got('Ended');
});

it('ignores the later of two steps, without an event', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  await ann.ask('hangup', {});
  expect(await bob.ask('answer', { callId })).toBe('ALREADY_COMPLETED');
  expect(await bob.ask('decline', { callId })).toBe('ALREADY_COMPLETED');
  expect(await bob.ask('ready', { callId })).toBe('ALREADY_COMPLETED');
  expect(await bob.ask('sdp', { callId, payload: 1 })).toBe('ALREADY_COMPLETED');
  expect(await bob.ask('hangup', {})).toBe('ok');
  await both(ann, bob, 'Cancelled');
});

it('ends only the call that a hangup names', async () => {
  const { ann, bob, callId } = await calling(await runRouter());
  expect(await bob.ask('hangup', { callId: 'another' })).toBe('ok');
  await bob.ask('answer', { callId });
  await both(ann, bob, 'Answered');
});

it('refuses invalid calls with a reason', async () => {
  const service = await runRouter();
  const { ann, bob, callId } = await calling(service);
  const call = (client: RawClient, to: string) => client.ask('call', { to, context: 'x' });
  expect(await call(ann, 'eve_1')).toBe('CALL_IN_PROGRESS');
  expect(await call(bob, 'ann_1')).toBe('CALL_IN_PROGRESS');
  expect(await ann.ask('answer', { callId })).toBe('BAD_REQUEST');
  await ann.ask('hangup', {});
  expect(await call(ann, 'ann_1')).toBe('SELF_CALL');
  expect(await call(ann, 'nobody_1')).toBe('NOT_REACHABLE');
  expect(await call(ann, 'x')).toBe('BAD_REQUEST');
  await ann.ask('logout', {});
  expect(await call(ann, 'bob_1')).toBe('WRONG_ORDER');
});

it('refuses calls unless calling is enabled', async () => {
  const service = await runRouter({ isOff: true });
  const ann = await join(service.url, 'ann_1');
  await join(service.url, 'bob_1');
  expect(await ann.ask('call', { to: 'bob_1', context: 'x' })).toBe('FEATURE_OFF');
});

it('delays frames by the latency of the settings, also if it changes', async () => {
  const service = await runRouter();
  const ann = await join(service.url, 'ann_1');
  await service.call('PUT', '/_local/settings', { latencyMs: 200 });
  const started = performance.now();
  expect(await ann.ask('probe', {})).toBe('ok');
  expect(performance.now() - started).toBeGreaterThan(190);
});

it('delivers everything in order, but later, over a slow network', async () => {
  const service = await runRouter({}, { latencyMs: 20 });
  const { ann, bob, callId } = await inProgress(service);
  for (const payload of [1, 2, 3]) void ann.ask('sdp', { callId, payload });
  await ann.ask('hangup', {});
  await until(() => bob.events.at(-1) === 'Ended');
  expect(bob.events).toEqual([
    'incoming',
    'Answered',
    'CallInProgress',
    'sdp',
    'sdp',
    'sdp',
    'Ended',
  ]);
});

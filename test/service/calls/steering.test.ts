import { expect, it, onTestFinished } from 'vitest';
import { startService, type PushOffer, type TestService } from '../../../src/testing.js';
import { annProperties, testClient, type TestClient } from '../../support/calling-client.js';
import { until } from '../../support/until.js';
import { callAccount, join } from './raw-client.js';

// Tests of an app decide what happens to its calls: `service.calls` of engagectl/testing, and `/_local/calls/…`.

async function serveCalls(onPush?: (offer: PushOffer) => void): Promise<TestService> {
  const calls = { ...callAccount, ...(onPush && { onPush }) };
  const service = await startService({ calls });
  onTestFinished(() => service.close());
  return service;
}

async function signIn(service: TestService, cuid = 'ann_1', more = {}): Promise<TestClient> {
  const one = await testClient({ url: service.url, ...more });
  expect(await one.client.initialize({ ...annProperties, cuid })).toMatchObject({ error: null });
  return one;
}

const post = (service: TestService, path: string, body: object) =>
  fetch(`${service.url}/_local/calls/${path}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-Service-Account-Id': service.accountId,
      'X-Service-Passcode': service.passcode,
    },
    body: JSON.stringify(body),
  });

const outgoing = (...events: string[]) => events.map((event) => `Outgoing ${event}`);

it('the next call to a cuid fails with a named error, the one after it as usual', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  await service.calls.script({ to: 'bob_1', does: 'fail', error: 'FEATURE_OFF' });
  for (const errorName of ['FEATURE_OFF', 'NOT_REACHABLE'])
    expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ error: { errorName } });
  expect(ann.events).toEqual([]);
});

it('a scripted callee answers and hangs up by the clock of the test', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  await service.calls.script({
    to: 'bob_1',
    does: 'answer',
    afterSeconds: 20,
    hangupAfterSeconds: 600,
  });
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
  await until(() => ann.events.length === 1);
  service.clock.advance(19);
  expect(ann.client.getCallState()).toBe('OutgoingCall');
  service.clock.advance(1);
  await until(() => ann.events.at(-1) === 'Outgoing CallInProgress');
  service.clock.advance(600);
  await until(() => ann.client.getCallState() === 'NoCall');
  expect(ann.events).toEqual(outgoing('CallIsPlaced', 'Answered', 'CallInProgress', 'Ended'));
  const [call] = service.calls.list();
  expect(call).toMatchObject({ calleeCuid: 'bob_1', status: 'over', reason: 'hangup' });
  expect(call!.endedAt! - call!.answeredAt!).toBeGreaterThanOrEqual(600_000);
});

it('one advance of the clock rings, answers and hangs up at the times of the script', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  service.clock.set('2026-01-31T12:00:00Z');
  await service.calls.script({
    to: 'bob_1',
    does: 'answer',
    afterSeconds: 2,
    hangupAfterSeconds: 3,
  });
  await ann.client.call('bob_1', 'lunch');
  service.clock.advance(40);
  const [call] = service.calls.list();
  const at = Date.parse('2026-01-31T12:00:00Z');
  expect(call).toMatchObject({ placedAt: at, answeredAt: at + 2000, endedAt: at + 5000 });
});

it.each([
  ['decline', undefined, 'Declined'],
  ['decline', 'busyOnPstn', 'ReceiverBusyOnAnotherCall'],
  ['decline', 'microphoneNotGranted', 'DeclinedDueToMicrophonePermissionsNotGranted'],
  ['ignore', undefined, 'Missed'],
] as const)('a scripted callee: %s for %s ends with %s', async (does, reason, event) => {
  const service = await serveCalls();
  const ann = await signIn(service);
  await service.calls.script({ to: 'bob_1', does, ...(reason && { reason }) });
  await ann.client.call('bob_1', 'lunch');
  service.clock.advance(40);
  expect(await service.calls.waitFor({ to: 'bob_1', event })).toMatchObject({
    event,
    callDetails: { callerCuid: 'ann_1', callContext: 'lunch' },
  });
  await until(() => ann.client.getCallState() === 'NoCall');
  expect(ann.events).toEqual(outgoing('CallIsPlaced', event));
});

it('a script for one caller leaves calls of others to the device, which hears nothing of scripted ones', async () => {
  const service = await serveCalls();
  const [ann, eve, bob] = [
    await signIn(service),
    await signIn(service, 'eve_1'),
    await signIn(service, 'bob_1'),
  ];
  await service.calls.script({ to: 'bob_1', from: 'ann_1', does: 'decline', times: 2 });
  for (const context of ['one', 'two']) {
    await ann.client.call('bob_1', context);
    await until(() => ann.client.getCallState() === 'NoCall');
  }
  await eve.client.call('bob_1', 'three');
  await until(() => bob.rang.length === 1);
  expect(bob.results).toEqual([]);
  expect(ann.events).toEqual(outgoing('CallIsPlaced', 'Declined', 'CallIsPlaced', 'Declined'));
});

it('moves calls between devices by the clock: ringing until missed, and a disconnected side', async () => {
  const service = await serveCalls();
  const [ann, bob] = [await signIn(service), await signIn(service, 'bob_1')];
  await ann.client.call('bob_1', 'lunch');
  await until(() => bob.rang.length === 1);
  service.clock.advance(40);
  await until(() => bob.events.length === 1);
  expect([ann.events.at(-1), bob.events.at(-1)]).toEqual(['Outgoing Missed', 'Incoming Missed']);
});

it('a stopped clock rings nobody out', async () => {
  const service = await serveCalls();
  const raw = await join(service.url, 'ann_1');
  await join(service.url, 'bob_1');
  service.clock.set(1_800_000_000);
  await raw.call('bob_1');
  service.clock.advance(29);
  service.clock.set(1_800_000_029);
  expect(service.calls.list()).toMatchObject([{ phase: 'placed' }]);
  service.clock.set(1_800_000_031);
  service.clock.advance(0);
  expect(service.calls.list()).toMatchObject([{ status: 'missed' }]);
});

it('drops a socket: the client reconnects, and its call continues', async () => {
  const service = await serveCalls();
  const [ann, bob] = [await signIn(service), await signIn(service, 'bob_1')];
  const states: string[] = [];
  bob.client.addListener('SignedCallOnConnectionChanged', ({ state }) => void states.push(state));
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
  await ann.client.call('bob_1', 'lunch');
  await service.calls.waitFor({ event: 'CallInProgress' });
  service.calls.drop('bob_1');
  expect(() => service.calls.drop('bob_1')).toThrow('bob_1 is not connected');
  await until(() => states.at(-1) === 'reconnected');
  ann.client.hangup();
  await service.calls.waitFor({ event: 'Ended' });
  await until(() => bob.events.at(-1) === 'Incoming Ended');
});

it('loses the frames of a device until the network is back, then nothing is missing', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  const bob = await signIn(service, 'bob_1', {
    times: { ping: 50, answer: 50, reconnectScale: 0.01 },
  });
  await service.calls.network({ cuid: 'bob_1', lose: true });
  await ann.client.call('bob_1', 'lunch');
  const isNoticed = () => bob.lines.some((line) => line.includes('cannot reach the router'));
  await until(isNoticed, { message: 'the client notices that nobody answers' });
  expect(bob.rang).toEqual([]);
  await service.calls.network({ cuid: 'bob_1' });
  await until(() => bob.rang.length === 1);
});

it('delays the frames of one device, in order', async () => {
  const service = await serveCalls();
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await service.calls.network({ cuid: 'bob_1', delayMs: 600_000 });
  await ann.call('bob_1');
  await ann.ask('hangup', {});
  expect(await ann.ask('probe', {})).toBe('ok');
  expect(bob.frames).toEqual([]);
  await service.calls.network({ cuid: 'bob_1', delayMs: 1 });
  // Each later frame lets one that waits go first.
  for (let n = 0; n < 2; n += 1) void bob.ask('probe', {});
  await bob.got('incoming', 'Cancelled');
});

it('delivers a call by push only, with the channel Push', async () => {
  let wake: (offer: PushOffer) => void;
  const pushed = new Promise<PushOffer>((resolve) => (wake = resolve));
  const service = await serveCalls((offer) => wake(offer));
  const [ann, bob] = [await signIn(service), await signIn(service, 'bob_1')];
  service.calls.pushOnly('bob_1');
  await until(() => bob.lines.filter((line) => line.includes('cannot reach')).length > 1);
  await ann.client.call('bob_1', 'lunch');
  expect(await pushed).toMatchObject({ cuid: 'bob_1', details: { channel: 'Push' } });
  await until(() => bob.rang.length === 1);
});

it('waitFor returns each event once, and its failure lists what there was', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  await service.calls.script({ to: 'bob_1', does: 'decline', times: 2 });
  for (const context of ['one', 'two']) {
    await ann.client.call('bob_1', context);
    const declined = await service.calls.waitFor({ to: 'bob_1', event: 'Declined' });
    expect(declined.callDetails.callContext).toBe(context);
    await until(() => ann.client.getCallState() === 'NoCall');
  }
  await expect(service.calls.waitFor({ event: 'Missed', timeoutMs: 1 })).rejects.toThrow(
    'no event {"event":"Missed"} in 1 ms; the latest events were: ann_1 to bob_1: CallIsPlaced',
  );
});

it('names unknown and contradictory members', async () => {
  const service = await serveCalls();
  const { calls: steered } = service;
  const wrong = (value: object) => value as never;
  await expect(steered.script(wrong({ to: 'bob_1', does: 'nap' }))).rejects.toThrow(
    'does: Invalid',
  );
  await expect(steered.script(wrong({ to: 'bob_1', does: 'fail', after: 1 }))).rejects.toThrow(
    'after: unknown member of script',
  );
  await expect(steered.script({ to: 'bob_1', does: 'ignore', afterSeconds: 1 })).rejects.toThrow(
    'afterSeconds: has no effect with does: "ignore"',
  );
  await expect(steered.network(wrong({ cuid: 'bob_1', delay: 1 }))).rejects.toThrow(
    'delay: unknown',
  );
  await expect(steered.waitFor(wrong({ too: 'bob_1' }))).rejects.toThrow('too: unknown');
  const calls = { ...callAccount, timers: { ring: 1 }, limit: {} };
  await expect(startService(wrong({ calls }))).rejects.toThrow(
    /calls\.timers\.ring: unknown member.*calls\.limit: unknown member/,
  );
  const without = await startService();
  onTestFinished(() => without.close());
  expect(() => without.calls.drop('bob_1')).toThrow('without the option calls');
});

it('does the same over HTTP, until a reset', async () => {
  const service = await serveCalls();
  const ann = await signIn(service);
  const script = { to: 'bob_1', does: 'decline', times: 5 };
  expect((await post(service, 'scripts', script)).status).toBe(200);
  const waiting = post(service, 'wait', { to: 'bob_1', event: 'Declined' });
  await ann.client.call('bob_1', 'lunch');
  expect(await (await waiting).json()).toMatchObject({
    event: 'Declined',
    callDetails: { calleeCuid: 'bob_1' },
  });
  expect((await post(service, 'drop', { cuid: 'nobody_1' })).status).toBe(404);
  expect((await post(service, 'wait', { event: 'Missed', timeoutMs: 1 })).status).toBe(408);
  expect((await post(service, 'scripts', { does: 'decline' })).status).toBe(400);
  expect((await post(service, 'naps', {})).status).toBe(404);
  await until(() => ann.client.getCallState() === 'NoCall');
  for (const path of ['network', 'drop', 'push-only'])
    expect((await post(service, path, { cuid: 'ann_1' })).status).toBe(200);
  await service.reset();
  await ann.client.initialize(annProperties);
  await until(async () => {
    const { error } = await ann.client.call('bob_1', 'lunch');
    return error?.errorName === 'NOT_REACHABLE';
  });
});

import { expect, it } from 'vitest';
import { devicePresets } from '../../src/calling/device.js';
import {
  noMedia,
  type MediaAdapter,
  type MediaOptions,
  type SignedCallEnv,
} from '../../src/calling/environment.js';
import { join, runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient } from '../support/calling-client.js';
import { until } from '../support/until.js';

// Two clients and the router: what each app is told, from the placement of a call to its end.

const bobProperties = { ...annProperties, cuid: 'bob_1' };

async function annAndBob(bobEnv: Partial<SignedCallEnv> = {}, ringing = 30_000) {
  const { url } = await runRouter({ timers: { ringing } });
  const caller = await testClient({ url });
  const callee = await testClient({ url, ...bobEnv });
  expect(await callee.client.initialize(bobProperties)).toMatchObject({ isSuccessful: true });
  expect(await caller.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  return { ann: caller, bob: callee };
}

async function ringing(bobEnv?: Partial<SignedCallEnv>, ringing?: number) {
  const sides = await annAndBob(bobEnv, ringing);
  expect(await sides.ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
  await until(() => sides.bob.rang.length > 0);
  return { ...sides, callId: sides.bob.rang[0]! };
}

async function inProgress() {
  const sides = await ringing();
  expect(await sides.bob.client.answer(sides.callId)).toMatchObject({ isSuccessful: true });
  await until(() => sides.ann.events.includes('Outgoing CallInProgress'));
  await until(() => sides.bob.events.includes('Incoming CallInProgress'));
  return sides;
}

type Sides = Awaited<ReturnType<typeof ringing>>;

const outgoing = (...events: string[]) => ['CallIsPlaced', ...events].map((e) => `Outgoing ${e}`);
const incoming = (...events: string[]) => events.map((event) => `Incoming ${event}`);

async function bothHear({ ann, bob }: Sides, ...events: string[]) {
  await until(() => ann.client.getCallState() === 'NoCall');
  await until(() => bob.client.getCallState() === 'NoCall');
  expect(ann.events).toEqual(outgoing(...events));
  expect(bob.events).toEqual(incoming(...events));
}

it('keeps 256 signals for an adapter that does not read them', async () => {
  const { url } = await runRouter({ limits: { framesPerSecond: 10_000 } });
  let read: (() => number) | undefined;
  const media: MediaAdapter = {
    open: ({ onSignal }) => {
      read = () => {
        let count = 0;
        onSignal(() => (count += 1));
        return count;
      };
      return noMedia.open({} as MediaOptions);
    },
  };
  const bob = await testClient({ url, media });
  expect(await bob.client.initialize(bobProperties)).toMatchObject({ isSuccessful: true });
  const eve = await join(url, 'eve_1');
  const callId = await eve.call('bob_1');
  await until(() => bob.rang.length > 0);
  expect(await bob.client.answer(callId)).toMatchObject({ isSuccessful: true });
  const signals = Array.from({ length: 300 }, (_, n) => eve.ask('sdp', { callId, payload: n }));
  expect(new Set(await Promise.all(signals))).toEqual(new Set(['ok']));
  bob.client.hangup();
  await until(() => bob.events.includes('Incoming Ended'));
  expect(read?.()).toBe(256);
});

it('answers a call, keeps it open and hangs up', async () => {
  const sides = await inProgress();
  const { ann, bob, callId } = sides;
  expect([ann, bob].map(({ client }) => client.getCallState())).toEqual([
    'OngoingCall',
    'OngoingCall',
  ]);
  ann.client.hangup();
  await bothHear(sides, 'Answered', 'CallInProgress', 'Ended');
  expect(ann.results[0]).toEqual({
    eventId: `${callId}/CallIsPlaced`,
    direction: 'Outgoing',
    callEvent: 'CallIsPlaced',
    callDetails: {
      callId,
      callerCuid: 'ann_1',
      calleeCuid: 'bob_1',
      callContext: 'lunch',
      channel: 'Socket',
    },
  });
});

it.each<[string, string, (sides: Sides) => unknown]>([
  ['Cancelled', 'the initiator hangs up', ({ ann }) => ann.client.hangupCall()],
  ['Cancelled', 'the initiator logs out', ({ ann }) => ann.client.logout()],
  ['Declined', 'the receiver declines', ({ bob, callId }) => bob.client.decline(callId)],
  ['Declined', 'the receiver hangs up', ({ bob }) => bob.client.hangup()],
  ['Declined', 'the receiver logs out', ({ bob }) => bob.client.logout()],
])('reports %s to both sides when %s', async (event, _, act) => {
  const sides = await ringing();
  expect(sides.ann.client.getCallState()).toBe('OutgoingCall');
  expect(sides.bob.client.getCallState()).toBe('IncomingCall');
  await act(sides);
  await bothHear(sides, event);
});

it('reports the end of a call to a client that left during it, after its next start', async () => {
  const { ann, bob } = await inProgress();
  ann.client.close();
  expect(ann.client.getCallState()).toBe('NoCall');
  await until(() => bob.client.getCallState() === 'NoCall');
  expect(bob.events.at(-1)).toBe('Incoming Ended');
  expect(ann.events).not.toContain('Outgoing Ended');
  await ann.client.initialize(annProperties);
  await until(() => ann.events.length > 3);
  expect(ann.events).toEqual(outgoing('Answered', 'CallInProgress', 'Ended'));
  expect(ann.client.getCallState()).toBe('NoCall');
});

it('reports Missed to both sides when nobody answers', async () => {
  await bothHear(await ringing({}, 200), 'Missed');
});

it('does not repeat an event that the app received when it closes in the listener', async () => {
  const { ann, bob, callId } = await ringing();
  ann.client.addListener(ann.client.SignedCallOnCallStatusChanged, ({ callEvent }) => {
    ann.events.push(callEvent);
    if (callEvent === 'Declined') ann.client.close();
  });
  await bob.client.decline(callId);
  await until(() => ann.events.includes('Declined'));
  await ann.client.initialize(annProperties);
  expect(await ann.client.call('bob_1', 'again')).toMatchObject({ isSuccessful: true });
  await until(() => ann.events.at(-1) === 'CallIsPlaced');
  expect(ann.events).toEqual(['Outgoing CallIsPlaced', 'Declined', 'CallIsPlaced']);
});

it('images of both sides arrive with the details', async () => {
  const sides = await annAndBob();
  const images = { initiator_image: 'https://a.test/i.png', receiver_image: 'http://a.test/r.png' };
  await sides.ann.client.call('bob_1', 'lunch', images);
  await until(() => sides.ann.results.length > 0);
  expect(sides.ann.results[0]?.callDetails).toMatchObject({
    initiatorImage: 'https://a.test/i.png',
    receiverImage: 'http://a.test/r.png',
  });
});

it('declines a call when the microphone is refused on answer', async () => {
  const sides = await ringing({ device: devicePresets.micDenied });
  const { error } = await sides.bob.client.answer(sides.callId);
  expect(error?.errorName).toBe('MIC_DENIED');
  await bothHear(sides, 'DeclinedDueToMicrophonePermissionsNotGranted');
});

it.each([
  [
    'notificationsOff',
    'DeclinedDueToNotificationsDisabled',
    ['DeclinedDueToNotificationsDisabled'],
  ],
  ['pstnBusy', 'ReceiverBusyOnAnotherCall', []],
] as const)(
  'declines a call before it rings on a device with %s',
  async (preset, event, bobHears) => {
    const { ann, bob } = await annAndBob({ device: devicePresets[preset] });
    await ann.client.call('bob_1', 'lunch');
    await until(() => ann.client.getCallState() === 'NoCall');
    expect(ann.events).toEqual(outgoing(event));
    expect(bob.events).toEqual(incoming(...bobHears));
    expect(bob.rang).toEqual([]);
  },
);

it('ignores notification permission on iOS', async () => {
  const sides = await ringing({ platform: 'ios', device: devicePresets.notificationsOff });
  sides.bob.client.hangup();
  await bothHear(sides, 'Declined');
});

it('declines a call to a receiver that logged out', async () => {
  const { ann, bob } = await annAndBob();
  bob.client.logout();
  await bob.client.whenIdle();
  expect((await bob.client.call('ann_1', 'lunch')).error?.errorName).toBe('NOT_INITIALIZED');
  await ann.client.call('bob_1', 'lunch');
  await until(() => ann.client.getCallState() === 'NoCall');
  expect(ann.events).toEqual(outgoing('DeclinedDueToLoggedOutCuid'));
});

it('refuses a second call during a call on both sides, and leaves the first one undisturbed', async () => {
  const sides = await inProgress();
  const { ann, bob } = sides;
  const second = await Promise.all([
    ann.client.call('bob_1', 'again'),
    bob.client.call('ann_1', 'again'),
  ]);
  expect(second.map(({ error }) => error?.errorName)).toEqual([
    'CALL_IN_PROGRESS',
    'CALL_IN_PROGRESS',
  ]);
  bob.client.hangup();
  await bothHear(sides, 'Answered', 'CallInProgress', 'Ended');
});

it('places only one of two calls that one client starts at the same instant', async () => {
  const { ann } = await annAndBob();
  const answers = await Promise.all([
    ann.client.call('bob_1', 'one'),
    ann.client.call('bob_1', 'two'),
  ]);
  expect(answers.map(({ error }) => error?.errorName)).toEqual([undefined, 'CALL_IN_PROGRESS']);
});

it('lets an app place a call inside the listener', async () => {
  const sides = await ringing();
  const { ann, bob } = sides;
  let again: Promise<unknown> | undefined;
  ann.client.addListener(ann.client.SignedCallOnCallStatusChanged, ({ callEvent }) => {
    if (callEvent === 'Declined') again = ann.client.call('bob_1', 'again');
  });
  await bob.client.decline(sides.callId);
  await until(() => bob.rang.length === 2);
  expect(await again).toEqual({ isSuccessful: true, error: null });
});

it('hangs up a call that is still being placed', async () => {
  const { ann, bob } = await annAndBob();
  const placing = ann.client.call('bob_1', 'lunch');
  expect(ann.client.getCallState()).toBe('OutgoingCall');
  ann.client.hangup();
  expect((await placing).error?.errorName).toBe('CALL_FAILED');
  await ann.client.whenIdle();
  expect([...ann.events, ...bob.events]).toEqual([]);
  expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
});

it('disconnectSignallingSocket waits for the call; afterwards calls arrive by push, and initialize reconnects', async () => {
  const sides = await inProgress();
  const { ann, bob } = sides;
  bob.client.disconnectSignallingSocket();
  expect((await bob.client.call('ann_1', 'x')).error?.errorName).toBe('CALL_IN_PROGRESS');
  ann.client.hangup();
  await bothHear(sides, 'Answered', 'CallInProgress', 'Ended');
  expect((await bob.client.call('ann_1', 'x')).error?.errorName).toBe('SOCKET_REQUIRED');
  await ann.client.call('bob_1', 'dinner');
  await bob.client.initialize(bobProperties);
  await until(() => bob.rang.length === 2);
  await bob.client.answer(bob.rang[1]!);
  await until(() => bob.client.getCallState() === 'OngoingCall');
  expect(bob.results.at(-1)?.callDetails).toMatchObject({ channel: 'Push', callContext: 'dinner' });
});

it('shows the actions of a missed call and reports a click', async () => {
  const shown: unknown[] = [];
  const device = { ...devicePresets.allowAll, showMissedCall: (call: unknown) => shown.push(call) };
  const { url } = await runRouter({ timers: { ringing: 50 } });
  const caller = await testClient({ url });
  const callee = await testClient({ url, device });
  await caller.client.initialize(annProperties);
  await callee.client.initialize({ ...bobProperties, missedCallActions: { again: 'Call back' } });
  const clicks: unknown[] = [];
  callee.client.addListener(callee.client.SignedCallOnMissedCallActionClicked, (click) =>
    clicks.push(click),
  );
  await caller.client.call('bob_1', 'lunch');
  await until(() => shown.length === 1);
  const { callId } = caller.results[0]!.callDetails;
  expect(shown).toEqual([
    { callId, actions: { again: 'Call back' }, callDetails: expect.objectContaining({ callId }) },
  ]);
  const headers = { 'X-Service-Account-Id': 'CALL-ACCOUNT', 'X-Service-Passcode': 'call-key' };
  const path = `${url}/call/v1/missed/${callId}/actions/again`;
  expect((await fetch(path, { method: 'POST', headers })).status).toBe(200);
  await until(() => clicks.length === 1);
  expect(clicks).toEqual([
    {
      eventId: `${callId}/action/again`,
      action: { actionId: 'again', actionLabel: 'Call back' },
      callDetails: expect.objectContaining({ callId }),
    },
  ]);
});

it.each([
  ['another cuid', async ({ client }: Sides['ann']) => client.initialize(carolProperties)],
  [
    'logout and another cuid',
    async ({ client }: Sides['ann']) => {
      client.logout();
      return client.initialize(carolProperties);
    },
  ],
])(
  'ends the call for both sides when initialize is called with %s during it',
  async (_, change) => {
    const sides = await inProgress();
    expect(await change(sides.ann)).toMatchObject({ isSuccessful: true });
    await bothHear(sides, 'Answered', 'CallInProgress', 'Ended');
  },
);

const carolProperties = { ...annProperties, cuid: 'carol_1' };

it('cancels a ringing call when initialize is called with another cuid', async () => {
  const sides = await ringing();
  expect(await sides.ann.client.initialize(carolProperties)).toMatchObject({ isSuccessful: true });
  await bothHear(sides, 'Cancelled');
});

it('keeps the call when initialize is called with equal values in another order or other branding', async () => {
  const sides = await inProgress();
  const { ann } = sides;
  const reversed = Object.fromEntries(Object.entries(annProperties).toReversed());
  for (const properties of [
    reversed,
    { ...reversed, overrideDefaultBranding: { bgColor: '#fff' } },
  ])
    expect(await ann.client.initialize(properties as typeof annProperties)).toMatchObject({
      isSuccessful: true,
    });
  expect(ann.client.getCallState()).toBe('OngoingCall');
  ann.client.hangup();
  await bothHear(sides, 'Answered', 'CallInProgress', 'Ended');
});

it('methods work when destructured', async () => {
  const { url } = await runRouter();
  const { client } = await testClient({ url });
  const { initialize, getCallState, hangup } = client;
  expect(await initialize(annProperties)).toMatchObject({ isSuccessful: true });
  hangup();
  expect(getCallState()).toBe('NoCall');
});

it.each([
  [{ cuid: 12345 }, 'cuid must be a string, not a number'],
  [
    { missedCallActions: ['later'] },
    'missedCallActions must be an object of action ids and labels',
  ],
  [{ missedCallActions: { later: 1 } }, 'missedCallActions.later must be the label of a button'],
])('names the invalid member when initialize is called with %j', async (wrong, description) => {
  const { client } = await testClient({ url: 'ws://localhost:1' });
  const { error } = await client.initialize({ ...annProperties, ...wrong } as never);
  expect(error?.errorDescription).toContain(description);
});

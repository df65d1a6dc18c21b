import { expect, it } from 'vitest';
import { devicePresets, type DeviceCapabilities } from '../../src/calling/device.js';
import { noMedia, type CallStats, type MediaAdapter } from '../../src/calling/environment.js';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient } from '../support/calling-client.js';
import { until } from '../support/until.js';

const bobProperties = { ...annProperties, cuid: 'bob_1' };

const failures = {
  throws: () => {
    throw new Error('bridge down');
  },
  rejects: () => Promise.reject(new Error('bridge down')),
} as const;

async function annAndBob(device: DeviceCapabilities, ringing = 30_000) {
  const { url } = await runRouter({ timers: { ringing } });
  const ann = await testClient({ url });
  const bob = await testClient({ url, device });
  await ann.client.initialize(annProperties);
  expect(await bob.client.initialize(bobProperties)).toMatchObject({ isSuccessful: true });
  return { ann, bob };
}

const silent = (clients: { client: { getCallState(): string } }[]) =>
  until(() => clients.every(({ client }) => client.getCallState() === 'NoCall'));

const names = Object.keys(devicePresets.allowAll) as (keyof DeviceCapabilities)[];
const cases = names.flatMap((name) =>
  (['throws', 'rejects'] as const).map((how) => [name, how] as const),
);

it.each(cases)('rings three times in a row on a receiver whose %s %s', async (name, how) => {
  const device = { ...devicePresets.allowAll, [name]: failures[how] };
  const { ann, bob } = await annAndBob(device);
  for (let round = 1; round <= 3; round += 1) {
    expect(await ann.client.call('bob_1', 'lunch')).toMatchObject({ isSuccessful: true });
    await until(() => bob.rang.length === round);
    ann.client.hangup();
    await silent([ann, bob]);
  }
});

it('rings on a device that lacks every function, and declines its answer for lack of a microphone', async () => {
  const { ann, bob } = await annAndBob({} as DeviceCapabilities);
  await ann.client.call('bob_1', 'lunch');
  await until(() => bob.rang.length === 1);
  const { error } = await bob.client.answer(bob.rang[0]!);
  expect(error?.errorName).toBe('MIC_DENIED');
  await silent([ann, bob]);
  const event = 'DeclinedDueToMicrophonePermissionsNotGranted';
  expect(ann.events.at(-1)).toBe(`Outgoing ${event}`);
  expect(bob.events).toEqual([`Incoming ${event}`]);
  expect(bob.lines.join('\n')).toContain('the device function requestMicrophone failed');
});

it.each(['throws', 'rejects'] as const)(
  'a missed call is reported although showMissedCall %s',
  async (how) => {
    const device = { ...devicePresets.allowAll, showMissedCall: failures[how] };
    const { url } = await runRouter({ timers: { ringing: 50 } });
    const ann = await testClient({ url });
    const bob = await testClient({ url, device });
    await ann.client.initialize(annProperties);
    await bob.client.initialize({ ...bobProperties, missedCallActions: { later: 'Call back' } });
    await ann.client.call('bob_1', 'lunch');
    await until(() => bob.lines.some((line) => line.includes('showMissedCall failed')));
    expect(bob.events).toEqual(['Incoming Missed']);
  },
);

it('a bridge that never answers holds up neither initialize nor calls', async () => {
  const { url } = await runRouter();
  const never = () => new Promise<never>(() => {});
  const states = ['osVersion', 'notificationsEnabled', 'phoneState', 'pstnBusy'] as const;
  const mute = Object.fromEntries(states.map((name) => [name, never]));
  const device = { ...devicePresets.allowAll, ...mute };
  const ann = await testClient({ url });
  await ann.client.initialize(annProperties);
  const bob = await testClient({ url, device, times: { answer: 100 } });
  expect(await bob.client.initialize(bobProperties)).toMatchObject({ isSuccessful: true });
  await ann.client.call('bob_1', 'lunch');
  await until(() => bob.rang.length === 1);
  const log = bob.lines.join('\n');
  for (const name of ['osVersion', 'notificationsEnabled', 'phoneState'])
    expect(log).toContain(`the device function ${name} failed: Error: no answer in 100 ms`);
});

it('reports MIC_DENIED when the microphone request of the caller fails', async () => {
  const { url } = await runRouter();
  const device = {
    ...devicePresets.allowAll,
    microphone: () => 'prompt' as const,
    requestMicrophone: failures.rejects,
  };
  const { client } = await testClient({ url, device });
  await client.initialize(annProperties);
  expect((await client.call('bob_1', 'lunch')).error?.errorName).toBe('MIC_DENIED');
});

it('waits for a device that answers asynchronously', async () => {
  const later = async () => Promise.resolve(false);
  const { ann, bob } = await annAndBob({ ...devicePresets.allowAll, notificationsEnabled: later });
  await ann.client.call('bob_1', 'lunch');
  await silent([ann, bob]);
  expect(ann.events.at(-1)).toBe('Outgoing DeclinedDueToNotificationsDisabled');
  expect(bob.rang).toEqual([]);
});

it('lets a busy phone ring until the app has requested Read Phone State, at the first answer', async () => {
  const { url } = await runRouter();
  const ann = await testClient({ url });
  await ann.client.initialize(annProperties);
  const bob = await testClient({ url, device: devicePresets.pstnBusyUnasked });
  const call = async () => {
    await ann.client.call('bob_1', 'lunch');
    await until(() => bob.rang.length > 0 || ann.client.getCallState() === 'NoCall');
    const callId = bob.rang.pop();
    if (callId === undefined) return 'busy';
    await bob.client.answer(callId);
    await until(() => ann.client.getCallState() === 'OngoingCall');
    ann.client.hangup();
    await silent([ann, bob]);
    return 'rang';
  };
  // The app forgot the property: every call rings.
  await bob.client.initialize(bobProperties);
  expect([await call(), await call()]).toEqual(['rang', 'rang']);
  await bob.client.initialize({
    ...bobProperties,
    promptReceiverReadPhoneStatePermission: true,
  });
  expect([await call(), await call(), await call()]).toEqual(['rang', 'busy', 'busy']);
  expect(ann.events.at(-1)).toBe('Outgoing ReceiverBusyOnAnotherCall');
});

it('the loudspeaker is switched for one call, and off again at its end', async () => {
  const switched: boolean[] = [];
  const setSpeaker = (isOn: boolean) => void switched.push(isOn);
  const { ann, bob } = await annAndBob({ ...devicePresets.allowAll, setSpeaker });
  bob.client.setSpeaker(true);
  expect(bob.client.isSpeakerOn()).toBe(false);
  await ann.client.call('bob_1', 'lunch');
  await until(() => bob.rang.length === 1);
  bob.client.setSpeaker(true);
  bob.client.setSpeaker(true);
  expect(bob.client.isSpeakerOn()).toBe(true);
  ann.client.hangup();
  await silent([ann, bob]);
  expect(switched).toEqual([true, false]);
  expect(bob.client.isSpeakerOn()).toBe(false);
  expect(() => bob.client.setSpeaker('on' as never)).toThrow(TypeError);
});

it('a call muted before its answer starts muted, and the next one does not', async () => {
  const muted: boolean[] = [];
  const media: MediaAdapter = {
    open: async (options) => ({
      ...(await noMedia.open(options)),
      setMuted: (isMuted) => void muted.push(isMuted),
    }),
  };
  const { url } = await runRouter();
  const ann = await testClient({ url, media });
  const bob = await testClient({ url });
  await ann.client.initialize(annProperties);
  await bob.client.initialize(bobProperties);
  ann.client.setMuted(true);
  expect(ann.client.isMuted()).toBe(false);
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
  await ann.client.call('bob_1', 'lunch');
  ann.client.setMuted(true);
  await until(() => ann.events.at(-1) === 'Outgoing CallInProgress');
  expect(muted).toEqual([true]);
  expect(ann.client.isMuted()).toBe(true);
  ann.client.hangup();
  await silent([ann, bob]);
  await ann.client.call('bob_1', 'dinner');
  await until(() => ann.events.at(-1) === 'Outgoing CallInProgress');
  expect(ann.client.isMuted()).toBe(false);
  expect(muted).toEqual([true]);
  expect(() => ann.client.setMuted(1 as never)).toThrow(TypeError);
});

it.each(['throws', 'rejects'] as const)(
  'a call is placed, muted and ended although the media adapter %s',
  async (how) => {
    const fail = failures[how] as () => never;
    const media: MediaAdapter = {
      open: async (options) => {
        options.onSignal(fail);
        options.sendSignal('hello');
        return { connected: Promise.resolve(), setMuted: fail, close: fail };
      },
    };
    const { url } = await runRouter();
    const ann = await testClient({ url, media });
    const bob = await testClient({ url, media });
    await ann.client.initialize(annProperties);
    await bob.client.initialize(bobProperties);
    bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
    for (let round = 0; round < 2; round += 1) {
      await ann.client.call('bob_1', 'lunch');
      await until(() => ann.events.at(-1) === 'Outgoing CallInProgress');
      ann.client.setMuted(true);
      ann.client.hangup();
      await silent([ann, bob]);
    }
    const log = ann.lines.join('\n');
    for (const name of ['onSignal', 'media.setMuted', 'media.close'])
      expect(log).toContain(`the handler of ${name} threw: Error: bridge down`);
  },
);

it('the quality listener reports how the voice of a call changes', async () => {
  const counts = { packetsSent: 0, packetsReceived: 0, packetsLost: 0, jitterMs: 5 };
  let figures: CallStats = { ...counts, roundTripMs: undefined };
  /** Figures of the next interval. */
  let next: Partial<CallStats> = { packetsReceived: 100 };
  const media: MediaAdapter = {
    open: async (options) => ({
      ...(await noMedia.open(options)),
      stats: () => {
        const { packetsReceived = 0, packetsLost = 0, ...times } = next;
        figures = {
          ...figures,
          ...times,
          packetsReceived: figures.packetsReceived + packetsReceived,
          packetsLost: figures.packetsLost + packetsLost,
        };
        return Promise.resolve(figures);
      },
    }),
  };
  const { url } = await runRouter();
  const ann = await testClient({ url, media, times: { quality: 5 } });
  const bob = await testClient({ url });
  const qualities: string[] = [];
  ann.client.addListener(ann.client.SignedCallOnNetworkQualityChanged, ({ quality, ...more }) => {
    expect(more).toMatchObject({ stats: { packetsSent: 0 }, callDetails: { calleeCuid: 'bob_1' } });
    qualities.push(quality);
  });
  await ann.client.initialize(annProperties);
  await bob.client.initialize(bobProperties);
  bob.client.onIncomingCall(({ callId }) => bob.client.answer(callId));
  expect(await ann.client.getStats()).toBeNull();
  await ann.client.call('bob_1', 'lunch');
  const expected: string[] = [];
  const becomes = async (quality: string, interval: Partial<CallStats>) => {
    next = interval;
    expected.push(quality);
    await until(() => qualities.length === expected.length);
    expect(qualities).toEqual(expected);
  };
  await becomes('good', { packetsReceived: 97, packetsLost: 3 });
  await becomes('poor', { packetsReceived: 96, packetsLost: 4 });
  await becomes('good', { packetsReceived: 100 });
  await becomes('bad', { packetsReceived: 89, packetsLost: 11 });
  await becomes('poor', { packetsReceived: 100, jitterMs: 51 });
  await becomes('bad', { packetsReceived: 100, jitterMs: 5, roundTripMs: 1001 });
  await becomes('good', { packetsReceived: 100, roundTripMs: 30 });
  await becomes('bad', {}); // nothing arrives
  expect(await ann.client.getStats()).toMatchObject({ packetsReceived: figures.packetsReceived });
  ann.client.hangup();
  await silent([ann, bob]);
  expect(await ann.client.getStats()).toBeNull();
});

import { expect, it } from 'vitest';
import { devicePresets, type DeviceCapabilities } from '../../src/calling/device.js';
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

import { expect, it } from 'vitest';
import { createSignedCall, SignedCall } from '../../src/calling/index.js';
import { LogLevel } from '../../src/calling/logger.js';
import type { CallEvent } from '../../src/calling/protocol.js';
import type { CallDetails } from '../../src/calling/protocol.js';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient } from '../support/calling-client.js';
import { scriptedRouter, type ScriptedRouter } from '../support/servers/scripted-router.js';
import { until } from '../support/until.js';

// §8.8 of the calling contract: listeners replaced, removed, throwing; what is logged; the shared instance.

const details: CallDetails = {
  callId: 'call-0',
  callerCuid: 'eve_1',
  calleeCuid: 'ann_1',
  callContext: 'earlier',
  channel: 'Socket',
};

const tell = (router: ScriptedRouter, event: CallEvent) =>
  router.send('event', { callId: 'call-0', direction: 'Incoming', event, details });

async function initialized() {
  const router = await scriptedRouter();
  const ann = await testClient({ url: router.url });
  await ann.client.initialize(annProperties);
  return { router, ...ann };
}

it('replaces a listener when one is added, and removes it when cleared', async () => {
  const { router, client, events } = await initialized();
  const name = client.SignedCallOnCallStatusChanged;
  tell(router, 'Missed');
  await until(() => router.seen.includes(1));
  const second: string[] = [];
  client.addListener(name, ({ callEvent }) => second.push(callEvent));
  tell(router, 'Declined');
  await until(() => router.seen.includes(2));
  client.removeListener(name);
  client.removeListener(name);
  tell(router, 'Cancelled');
  await until(() => router.seen.includes(3));
  expect(events).toEqual(['Incoming Missed']);
  expect(second).toEqual(['Declined']);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('boom');
    },
  ],
  ['rejects', () => Promise.reject(new Error('boom'))],
])('logs a handler that %s, and keeps working', async (_, fails) => {
  const { router, client, lines } = await initialized();
  let told = 0;
  client.addListener(client.SignedCallOnCallStatusChanged, () => {
    told += 1;
    return fails();
  });
  client.onIncomingCall(fails);
  tell(router, 'Missed');
  router.send('incoming', {
    callId: 'c2',
    details: { ...details, callId: 'c2' },
    channel: 'Socket',
    expiresAt: 0,
  });
  await until(() => lines.some((line) => line.includes('onIncomingCall')));
  tell(router, 'Declined');
  await until(() => router.seen.includes(3));
  expect(told).toBe(2);
  expect(lines.filter((line) => line.includes('boom'))).toEqual([
    'SignedCall: the handler of SignedCallOnCallStatusChanged threw: Error: boom',
    'SignedCall: the handler of onIncomingCall threw: Error: boom',
    'SignedCall: the handler of SignedCallOnCallStatusChanged threw: Error: boom',
  ]);
});

it('survives every function of the environment that fails', async () => {
  const router = await scriptedRouter();
  const fails = (): never => {
    throw new Error('boom');
  };
  const rejects = () => Promise.reject(new Error('boom')) as never;
  for (const fail of [fails, rejects]) {
    const refused: string[] = [];
    const { client, events } = await testClient({
      url: router.url,
      log: fail,
      onOnline: fail,
      onRefused: (name) => {
        refused.push(name);
        return fail();
      },
    });
    client.setDebugLevel(LogLevel.verbose);
    expect(await client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
    tell(router, 'Missed');
    await until(() => events.length === 1);
    router.drop(4401);
    await until(() => refused.length === 1);
    expect((await client.call('bob_1', 'lunch')).error?.errorName).toBe('AUTH_FAILURE');
  }
});

it('throws a TypeError for programming errors', () => {
  const client = createSignedCall({ url: 'ws://127.0.0.1:9', core: { accountId: 'C' } });
  const wrong = [
    () => client.addListener('onCall' as never, () => undefined),
    () => client.removeListener('toString' as never),
    () => client.addListener(client.SignedCallOnCallStatusChanged, 'no function' as never),
    () => client.onIncomingCall(undefined as never),
    () => client.setDebugLevel(1 as never),
    () => client.setDebugLevel('debug' as never),
  ];
  for (const mistake of wrong) expect(mistake).toThrow(TypeError);
});

it('shows a call that rang before a view was registered as soon as one is', async () => {
  const router = await scriptedRouter();
  const { nodeEnv } = await import('../../src/calling/node/index.js');
  const client = createSignedCall(await nodeEnv({ url: router.url, core: { accountId: 'C' } }));
  await client.initialize(annProperties);
  router.send('incoming', { callId: 'call-0', details, channel: 'Push', expiresAt: 7 });
  await until(() => router.seen.includes(1));
  const rang: unknown[] = [];
  client.onIncomingCall((call) => rang.push(call));
  expect(rang).toEqual([{ callId: 'call-0', callDetails: details, expiresAt: 7 }]);
  client.close();
});

it('delivers events from before a restart to the listener after initialize', async () => {
  const router = await scriptedRouter();
  router.answer('auth', () => ({ data: { session: 's', replay: 2, lastSeq: 0 } }));
  const { client, events } = await testClient({ url: router.url });
  const initializing = client.initialize(annProperties).then(() => events.push('initialized'));
  await until(() => router.heard.length === 1);
  tell(router, 'Answered');
  tell(router, 'Ended');
  await initializing;
  await until(() => router.seen.includes(2));
  expect(events).toEqual(['initialized', 'Incoming Answered', 'Incoming Ended']);
  expect(client.getCallState()).toBe('NoCall');
});

it.each([
  [LogLevel.off, 0],
  [LogLevel.info, 1],
  [LogLevel.debug, 2],
  [LogLevel.verbose, 3],
])('level %i prints %i kinds of lines, under the tag of the platform', async (level, kinds) => {
  const router = await scriptedRouter();
  const { client, lines } = await testClient({ url: router.url, platform: 'ios' });
  client.setDebugLevel(level);
  client.removeListener(client.SignedCallOnMissedCallActionClicked);
  await client.initialize({ ...annProperties, nonsense: 1 } as never);
  tell(router, 'Missed');
  await until(() => router.seen.length === 1);
  const told = ['Incoming call', 'nonsense is not a known', 'received event'];
  expect(told.filter((text) => lines.some((line) => line.includes(text)))).toEqual(
    told.slice(0, kinds),
  );
  for (const line of lines) expect(line).toMatch(/^Signed Call: /);
  expect(lines.join('\n')).not.toContain(annProperties.apiKey);
});

it('gives the shared instance no environment before use, and keeps earlier settings', async () => {
  const events: string[] = [];
  SignedCall.addListener('SignedCallOnCallStatusChanged', ({ callEvent }) =>
    events.push(callEvent),
  );
  SignedCall.setDebugLevel(LogLevel.off);
  expect((await SignedCall.initialize(annProperties)).error?.errorName).toBe('CORE_REQUIRED');
  const router = await scriptedRouter();
  const lines: string[] = [];
  const { nodeEnv } = await import('../../src/calling/node/index.js');
  const env = {
    url: router.url,
    core: { accountId: 'C' },
    log: (line: string) => lines.push(line),
  };
  SignedCall.use(await nodeEnv(env));
  expect(await SignedCall.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  tell(router, 'Missed');
  await until(() => router.seen.length === 1);
  SignedCall.close();
  expect(events).toEqual(['Missed']);
  expect(lines).toEqual([]);
});

it('returns nothing from methods without a result', async () => {
  const { url } = await runRouter();
  const { client } = await testClient({ url });
  await client.initialize(annProperties);
  expect(client.hangup()).toBeUndefined();
  expect(client.disconnectSignallingSocket()).toBeUndefined();
  expect(client.logout()).toBeUndefined();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { CallOptions } from '../../src/service/start.js';
import { runRouter } from '../service/calls/raw-client.js';
import { annProperties, testClient } from '../support/calling-client.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { Phone } from '../support/processes/phone.js';
import { makeWorld } from '../support/test-environment.js';

// Failing devices, lost connections and kills, between phones in separate processes.

async function annAndBob(
  { ann = [], bob = [] }: { ann?: readonly string[]; bob?: readonly string[] },
  calls: Partial<CallOptions> = {},
) {
  const service = await runRouter(calls);
  const [first, second] = await Promise.all([
    Phone.of(service.url, 'ann_1', ...ann),
    Phone.of(service.url, 'bob_1', ...bob),
  ]);
  return { service, ann: first, bob: second };
}

it.each(['throws', 'rejects'])(
  'a phone whose every device function %s rings for each call, and cannot talk without a microphone',
  async (device) => {
    const { ann, bob } = await annAndBob({ bob: [device] });
    for (let round = 1; round <= 3; round += 1) {
      ann.does('call bob_1');
      await bob.hears('incoming');
      ann.does('hangup');
      ann.does('over');
      await bob.hears('Cancelled');
    }
    ann.does('call bob_1');
    await bob.hears('incoming');
    bob.does('answer');
    await bob.hears('DeclinedDueToMicrophonePermissionsNotGranted');
    bob.does('call ann_1');
    const declined = 'DeclinedDueToMicrophonePermissionsNotGranted';
    const canceled = ['CallIsPlaced', 'Cancelled'];
    expect(await ann.leave()).toEqual([
      ...canceled,
      ...canceled,
      ...canceled,
      'CallIsPlaced',
      declined,
    ]);
    const rang = ['incoming', 'Cancelled'];
    expect(await bob.leave()).toEqual([
      ...rang,
      ...rang,
      ...rang,
      'incoming',
      'MIC_DENIED',
      declined,
      'MIC_DENIED',
    ]);
  },
);

it('initialize with another cuid ends the call for both sides; with another branding it does not', async () => {
  const { ann, bob } = await annAndBob({});
  ann.does('call bob_1');
  await bob.hears('incoming');
  bob.does('answer');
  await Promise.all([ann.hears('CallInProgress'), bob.hears('CallInProgress')]);
  ann.does('initialize {"overrideDefaultBranding":{"bgColor":"#fff"}}');
  await ann.hears('initialized');
  ann.does('initialize {"cuid":"ann_2"}');
  await Promise.all([ann.hears('Ended'), bob.hears('Ended')]);
  await ann.hears('initialized');
  bob.does('call ann_2');
  await ann.hears('incoming');
  ann.does('logout');
  await Promise.all([ann.hears('Declined'), bob.hears('Declined')]);
  const talked = ['Answered', 'CallInProgress', 'Ended'];
  expect(await ann.leave()).toEqual(['CallIsPlaced', ...talked, 'incoming', 'Declined']);
  expect(await bob.leave()).toEqual(['incoming', ...talked, 'CallIsPlaced', 'Declined']);
});

it('both sides agree on 30 calls over connections that break at every tenth frame', async () => {
  const { ann, bob } = await annAndBob({}, { dropRate: 0.1, limits: { callsPerMinute: 1000 } });
  // Time to reconnect: without a connection no call is placed.
  const lines = ['sleep 40', 'call bob_1', 'hangup', 'over'];
  for (let n = 0; n < 30; n += 1) for (const line of lines) ann.does(line);
  const count = (events: readonly string[], event: string) =>
    events.filter((one) => one === event).length;
  const caller = await ann.leave();
  const placed = count(caller, 'CallIsPlaced');
  // The last ones arrive when the receiver is connected again.
  while (count(bob.events, 'Cancelled') < placed) await bob.hears('Cancelled');
  const receiver = await bob.leave();
  expect(placed + count(caller, 'NO_NETWORK')).toBe(30);
  expect(placed).toBeGreaterThan(10);
  expect(count(caller, 'Cancelled')).toBe(placed);
  expect(receiver.filter((event) => event !== 'incoming')).toEqual(Array(placed).fill('Cancelled'));
}, 60_000);

it('a busy phone rings until its app has asked for Read Phone State', async () => {
  const { ann, bob } = await annAndBob({ bob: ['pstnBusyUnasked'] });
  const talk = async () => {
    ann.does('call bob_1');
    await bob.hears('incoming');
    bob.does('answer');
    await ann.hears('CallInProgress');
    ann.does('hangup');
    await Promise.all([ann.hears('Ended'), bob.hears('Ended')]);
  };
  await talk();
  await talk(); // the app forgot it
  bob.does('initialize {"promptReceiverReadPhoneStatePermission":true}');
  await bob.hears('initialized');
  await talk(); // asks when it answers
  ann.does('call bob_1');
  await ann.hears('ReceiverBusyOnAnotherCall');
});

it('an event that is delivered again has the same id', async () => {
  const { ann, bob } = await annAndBob({ bob: ['allowAll', 'with-ids'] });
  for (let round = 0; round < 5; round += 1) {
    ann.does('call bob_1');
    await bob.hears('incoming');
    ann.does('hangup');
    await bob.hears('Cancelled');
    await bob.kill(); // perhaps before it has acknowledged the event
    await bob.start();
  }
  const ids = (await bob.leave()).filter((line) => line !== 'incoming');
  // A repetition of the last event of the killed process is left out, if it is the same to the letter.
  expect([ids.length, new Set(ids).size]).toEqual([5, 5]);
  for (const id of ids) expect(id).toMatch(/^Cancelled [\da-f-]{36}\/Cancelled$/);
});

it('the connection listener reports a dropped connection, and the call continues', async () => {
  const { service, ann, bob } = await annAndBob({ ann: ['allowAll', 'with-connection'] });
  ann.does('call bob_1');
  await bob.hears('incoming');
  bob.does('answer');
  await ann.hears('CallInProgress');
  await service.call('POST', '/_local/calls/drop', { cuid: 'ann_1' });
  await ann.hears('reconnected');
  ann.does('hangup');
  await ann.hears('Ended');
  expect(await ann.leave()).toEqual([
    'connecting',
    'connected',
    'CallIsPlaced',
    'Answered',
    'CallInProgress',
    'reconnecting',
    'reconnected',
    'Ended',
    'closed',
  ]);
});

it('a test steers the calls of an app in another process', async () => {
  const { service, ann } = await annAndBob({});
  const steer = (path: string, body: object) => service.call('POST', `/_local/calls/${path}`, body);
  await steer('scripts', { to: 'cat_1', does: 'fail', error: 'FEATURE_OFF' });
  await steer('scripts', { to: 'cat_1', does: 'decline', reason: 'busy', afterSeconds: 2 });
  await steer('scripts', { to: 'cat_1', does: 'answer', afterSeconds: 5, hangupAfterSeconds: 60 });
  ann.does('call cat_1');
  await ann.hears('FEATURE_OFF');
  ann.does('call cat_1');
  await ann.hears('CallIsPlaced');
  await service.call('PUT', '/_local/clock', { advanceSeconds: 2 });
  await ann.hears('ReceiverBusyOnAnotherCall');
  ann.does('call cat_1');
  await ann.hears('CallIsPlaced');
  await service.call('PUT', '/_local/clock', { advanceSeconds: 5 });
  await ann.hears('CallInProgress');
  await service.call('PUT', '/_local/clock', { advanceSeconds: 60 });
  await ann.hears('Ended');
  const observed = await steer('wait', { to: 'cat_1', event: 'Ended' });
  expect(JSON.parse(observed.text)).toMatchObject({ callDetails: { callerCuid: 'ann_1' } });
});

it('a flood of 60,000 frames from one process holds up no other', async () => {
  const world = makeWorld();
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALL-ACCOUNT', ENGAGECTL_CALL_API_KEY: 'call-key' };
  const service = new BinProcess(world, ['serve', '--port', '0', '--memory'], env);
  const url = await service.firstLine();
  const ann = await testClient({ url });
  expect(await ann.client.initialize(annProperties)).toMatchObject({ isSuccessful: true });
  const flood = spawn(process.execPath, ['--input-type=module', '-e', flooding, url], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void flood.kill('SIGKILL'));
  await once(flood.stdout, 'data');
  // A call to nobody makes two round trips.
  const waits: number[] = [];
  for (let n = 0; n < 100; n += 1) {
    const started = performance.now();
    const { error } = await ann.client.call('nobody_1', 'hello');
    expect(error?.errorName).toBe('NOT_REACHABLE');
    waits.push(performance.now() - started);
  }
  // On a busy machine single round trips take longer.
  expect(waits.toSorted((a, b) => a - b)[50]).toBeLessThan(50);
});

/** Registers a client, sends 60,000 frames at once, and stays. */
const flooding = `
  import { WebSocket } from 'ws';
  const url = process.argv[1].replace('http', 'ws') + '/call/v1/signal';
  const socket = new WebSocket(url, 'engagectl.call.v1');
  socket.on('open', () => {
    const who = { accountId: 'CALL-ACCOUNT', apiKey: 'call-key', cuid: 'eve_1', deviceId: 'd', platform: 'android' };
    socket.send(JSON.stringify({ t: 'auth', id: 1, ...who, caps: {}, missedCallActions: {} }));
    for (let id = 2; id < 60_002; id += 1) socket.send(JSON.stringify({ t: 'probe', id }));
    console.log('flooding');
  });
`;

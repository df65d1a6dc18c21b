import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { PassThrough } from 'node:stream';
import { EngagectlError } from '../../../src/errors.js';
import { main } from '../../../src/main.js';
import { readWav, writeWav, type Sound } from '../../../src/calling/node/wav.js';
import type { MediaAdapter } from '../../../src/calling/environment.js';
import { annProperties, testClient } from '../../support/calling-client.js';
import { cutProxy } from '../../support/servers/cut-proxy.js';
import { makeWorld } from '../../support/test-environment.js';
import { CallProcess, callingWorld } from '../../support/processes/call-process.js';

// `call place` and `call listen`, each a process of its own: what both are told, and how both end.

/** Calls that nobody takes end soon. */
const short = { ringing: 700 };

it.each<[what: string, callee: string[], caller: string[], told: string[], exitCode: number]>([
  [
    'the caller hangs up',
    [],
    ['--hangup-after', '50ms'],
    ['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended'],
    0,
  ],
  [
    'the receiver hangs up',
    ['--hangup-after', '50ms', '--answer-after', '50ms'],
    [],
    ['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended'],
    0,
  ],
  ['the receiver declines', ['--answer', 'decline'], [], ['CallIsPlaced', 'Declined'], 3],
  ['nobody answers', ['--answer', 'ignore'], [], ['CallIsPlaced', 'Missed'], 3],
  [
    'the caller cancels',
    ['--answer', 'ignore'],
    ['--cancel-after', '50ms'],
    ['CallIsPlaced', 'Cancelled'],
    3,
  ],
  [
    'the receiver has no microphone',
    ['--microphone', 'denied'],
    [],
    ['CallIsPlaced', 'DeclinedDueToMicrophonePermissionsNotGranted'],
    3,
  ],
  [
    'the receiver has notifications off',
    ['--notifications', 'off'],
    [],
    ['CallIsPlaced', 'DeclinedDueToNotificationsDisabled'],
    3,
  ],
])(
  'reports the outcome of the call to both sides: %s',
  async (_, callee, caller, told, exitCode) => {
    const { listen, place } = await callingWorld(told.includes('Missed') ? short : {});
    const listener = await listen('ann_1', '--once', ...callee);
    const placed = place('bob_1', 'ann_1', ...caller);
    expect(await placed.ended(), placed.stderr).toBe(exitCode);
    expect(await listener.ended(), listener.stderr).toBe(0);
    expect(placed.events).toEqual(told);
    expect(listener.events).toEqual(told.slice(1));
    if (exitCode === 3)
      expect(placed.stderr).toContain(`error E-CALL: the call to ann_1: ${told[1]}`);
    const ids = [...placed.lines, ...listener.lines].map(({ callId }) => callId);
    expect(new Set(ids).size).toBe(1);
  },
);

it('reports a receiver in a call as busy, and does not disturb it', async () => {
  const { listen, place } = await callingWorld();
  const listener = await listen('ann_1', '--once');
  const first = await place('bob_1', 'ann_1').says('CallInProgress');
  const second = place('carl_1', 'ann_1');
  expect(await second.ended()).toBe(3);
  expect(second.events).toEqual(['CallIsPlaced', 'ReceiverBusyOnAnotherCall']);
  first.signal('SIGINT');
  expect(await first.ended(), first.stderr).toBe(0);
  expect(await listener.ended()).toBe(0);
  expect(listener.events).toEqual(['Answered', 'CallInProgress', 'Ended']);
});

it.each([
  ['a receiver who was never there', ['nobody'], {}, 5, 'NOT_REACHABLE'],
  [
    'a wrong key',
    ['ann_1', '--verbose'],
    { ENGAGECTL_CALL_API_KEY: 'wrong-k3y' },
    4,
    'E-CREDENTIALS',
  ],
  ['no network', ['ann_1'], { ENGAGECTL_BASE_URL: 'http://127.0.0.1:9' }, 5, 'NO_NETWORK'],
  ['no microphone', ['ann_1', '--microphone', 'denied'], {}, 3, 'MIC_DENIED (5001)'],
  ['a call to oneself', ['bob_1'], {}, 2, 'SELF_CALL'],
  ['a receiver that is no cuid', ['a-b_cd'], {}, 2, '--to "a-b_cd" is not a valid cuid'],
  ['half a pair', ['ann_1'], { ENGAGECTL_CALL_API_KEY: '' }, 2, 'ENGAGECTL_CALL_ACCOUNT_ID is set'],
])('refuses to call with a reason: %s', async (_, [to = '', ...flags], env, exitCode, says) => {
  const { run } = await callingWorld();
  const argv = ['place', '--cuid', 'bob_1', '--to', to, '--context', 'hello', ...flags];
  const placed = run(argv, env);
  expect(await placed.ended()).toBe(exitCode);
  expect(placed.stderr).toContain(says);
  expect(placed.stderr + JSON.stringify(placed.lines)).not.toContain('k3y');
  expect(placed.events.filter((event) => event !== undefined)).toEqual([]);
});

it('prints one object with --json, which names the outcome', async () => {
  const { listen, place } = await callingWorld();
  const listener = await listen('ann_1', '--once', '--answer', 'decline');
  const placed = place('bob_1', 'ann_1', '--json');
  expect(await placed.ended()).toBe(3);
  expect(placed.lines).toMatchObject([
    {
      command: 'call place',
      cuid: 'bob_1',
      to: 'ann_1',
      ending: 'Declined',
      wasInProgress: false,
      events: [{ event: 'CallIsPlaced' }, { event: 'Declined' }],
      exitCode: 3,
    },
  ]);
  await listener.ended();
});

it('cancels a ringing call on Ctrl-C', async () => {
  const { listen, place } = await callingWorld();
  const listener = await listen('ann_1', '--once', '--answer', 'ignore');
  const placed = await place('bob_1', 'ann_1').says('CallIsPlaced');
  placed.signal('SIGINT');
  expect(await placed.ended()).toBe(3);
  expect(placed.events).toEqual(['CallIsPlaced', 'Cancelled']);
  await listener.ended();
  expect(listener.events).toEqual(['Cancelled']);
});

it('ends --once with a call that is cancelled before the phone rings', async () => {
  const { env, run, place } = await callingWorld();
  const proxy = await cutProxy(env['ENGAGECTL_BASE_URL']!);
  const argv = ['listen', '--cuid', 'ann_1', '--once', '--call-url', proxy.url];
  const listener = await run(argv).says('is waiting for calls');
  proxy.holdUntil('Cancelled'); // offer and end arrive together
  const placed = await place('bob_1', 'ann_1', '--cancel-after', '50ms').ended();
  expect([placed, await listener.ended()]).toEqual([3, 0]);
  expect(listener.events).toEqual(['Cancelled']);
  expect(listener.stderr).not.toContain('incoming call');
});

it('ends the call of a listener on Ctrl-C, and exits', async () => {
  const { listen, place } = await callingWorld();
  const listener = await listen('ann_1');
  const placed = await place('bob_1', 'ann_1').says('CallInProgress');
  listener.signal('SIGINT');
  expect(await listener.ended()).toBe(130);
  expect(listener.stderr).toContain('ann_1 stopped listening: stopped by SIGINT');
  expect(listener.stderr).not.toContain('--resume');
  expect(listener.events).toEqual(['Answered', 'CallInProgress', 'Ended']);
  expect(await placed.ended()).toBe(0);
});

it('exits on Ctrl-C although the router does not answer', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { run } = await callingWorld();
  const env = { ENGAGECTL_BASE_URL: `http://127.0.0.1:${port}` };
  const placed = run(['place', '--cuid', 'bob_1', '--to', 'ann_1', '--context', 'x'], env);
  const [socket] = (await once(server, 'connection')) as [Socket];
  onTestFinished(() => void socket.destroy());
  placed.signal('SIGINT');
  expect(await placed.ended()).toBe(130);
});

it('lets the process after a kill answer a waiting call', async () => {
  const { run, listen, place } = await callingWorld();
  const killed = await listen('ann_1');
  killed.signal('SIGKILL');
  await killed.ended();
  const placed = await place('bob_1', 'ann_1', '--hangup-after', '10ms').says('CallIsPlaced');
  const listener = run(['listen', '--cuid', 'ann_1', '--once']);
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(await listener.ended()).toBe(0);
  expect(listener.events).toEqual(['Answered', 'CallInProgress', 'Ended']);
});

it('uploads the outcome of a call as an event of both systems', async () => {
  const { world, env, listen, place } = await callingWorld();
  const listener = await listen('ann_1', '--once');
  const placed = place('bob_1', 'ann_1', '--hangup-after', '10ms');
  expect(await placed.ended()).toBe(0);
  await listener.ended();
  const range = ['--from', 'yesterday', '--to', 'today']; // midnight may pass
  const exported = ['export-events', '--event', 'SCEnd', ...range];
  const { code, stdout, stderr } = await world.run(exported, { env });
  expect(code, stderr).toBe(0);
  const [end] = stdout.split('\n');
  expect(JSON.parse(end ?? '')).toMatchObject({
    event_props: { context: 'Order 25', call_status: 'over', call_id: placed.lines[0]?.callId },
  });
});

it('needs no setup for two commands of --region local', async () => {
  const world = makeWorld();
  const local = ['--region', 'local'];
  const listener = new CallProcess(world, {}, ['listen', '--cuid', 'ann_1', '--once', ...local]);
  await listener.says('is waiting for calls');
  expect(listener.stderr).toContain('this command routes calls');
  const argv = ['place', '--cuid', 'bob_1', '--to', 'ann_1', '--context', 'hello', ...local];
  const placed = new CallProcess(world, {}, [...argv, '--hangup-after', '10ms']);
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(await listener.ended()).toBe(0);
  expect(placed.stderr).not.toContain('routed');
});

it('exits 141 when the reader of the events closes stdout', async () => {
  const { listen, place } = await callingWorld();
  const listener = await listen('ann_1');
  listener.child.stdout?.destroy();
  const placed = place('bob_1', 'ann_1');
  expect(await listener.ended()).toBe(141);
  await placed.ended();
});

it('prints no control sequences of a context', async () => {
  const { listen, run } = await callingWorld();
  const listener = await listen('ann_1', '--answer', 'ignore', '--once');
  const argv = ['place', '--cuid', 'bob_1', '--to', 'ann_1', '--context', '\u001B[31mred\u202E'];
  const placed = run(argv);
  expect(await placed.ended()).toBe(2);
  expect(placed.stderr).not.toMatch(/[\u202E]/);
  expect(placed.stderr).not.toContain('\u001B');
  listener.signal('SIGINT');
  await listener.ended();
});

it('replaces the first listener of a cuid by a second, and the first reports it', async () => {
  const { listen } = await callingWorld();
  const first = await listen('ann_1');
  const second = await listen('ann_1');
  expect(await first.ended()).toBe(3);
  expect(first.stderr).toContain('ann_1 receives no more calls here: CUID_ELSEWHERE');
  second.signal('SIGINT');
  await second.ended();
});

it('refuses another device of one cuid', async () => {
  const { world, run, listen } = await callingWorld();
  const first = await listen('ann_1');
  const elsewhere = { ENGAGECTL_STATE_DIR: world.path('elsewhere') };
  const second = run(['listen', '--cuid', 'ann_1'], elsewhere);
  expect(await second.ended()).toBe(3);
  expect(second.stderr).toContain('CUID_ELSEWHERE');
  first.signal('SIGINT');
  await first.ended();
});

it.each([
  ['y\n', ['CallIsPlaced', 'Answered', 'CallInProgress', 'Ended']],
  ['n\n', ['CallIsPlaced', 'Declined']],
  ['Ctrl-C', ['CallIsPlaced', 'Declined']],
])('asks on a terminal: %j', async (typed, told) => {
  const { world, env, place } = await callingWorld();
  const stop = new AbortController();
  const stdin = new PassThrough();
  const terminal = { env, stdin, tty: true, sleep: 'real', signal: stop.signal } as const;
  const runtime = world.runtime(terminal);
  const argv = ['call', 'listen', '--cuid', 'ann_1', '--answer', 'prompt', '--once'];
  const listened = main(argv, runtime);
  await expect
    .poll(() => runtime.output().stderr, { timeout: 20_000 })
    .toContain('is waiting for calls');
  const placed = place('bob_1', 'ann_1', '--hangup-after', '10ms');
  await expect
    .poll(() => runtime.output().stderr, { timeout: 20_000 })
    .toContain('Answer the call from bob_1? [y/n]');
  if (typed === 'Ctrl-C') stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  else stdin.write(typed);
  await placed.ended();
  expect(placed.events).toEqual(told);
  expect(await listened).toBe(typed === 'Ctrl-C' ? 130 : 0);
});

it('asks only on a terminal', async () => {
  const { run } = await callingWorld();
  const listener = run(['listen', '--cuid', 'ann_1', '--answer', 'prompt']);
  expect(await listener.ended()).toBe(2);
  expect(listener.stderr).toContain('--answer prompt requires a terminal');
});

it('transmits the audio of each side to the other', async () => {
  const { world, listen, place } = await callingWorld();
  writeFileSync(world.path('440.wav'), writeWav(tone(440)));
  writeFileSync(world.path('880.wav'), writeWav(tone(880)));
  const voice = ['--play', '440.wav', '--record', 'heard-by-ann.wav'];
  const listener = await listen('ann_1', '--once', ...voice);
  const other = ['--play', '880.wav', '--record', 'heard-by-bob.wav'];
  const placed = place('bob_1', 'ann_1', '--hangup-after', '1500ms', ...other);
  expect(await placed.ended(), placed.stderr).toBe(0);
  expect(await listener.ended(), listener.stderr).toBe(0);
  const heard = (file: string) => pitchOf(readWav(readFileSync(world.path(file))));
  expect(Math.abs(heard('heard-by-ann.wav') - 880)).toBeLessThan(20);
  expect(Math.abs(heard('heard-by-bob.wav') - 440)).toBeLessThan(20);
});

it('keeps both recordings of two phones that record to one file', async () => {
  const { world, listen, place } = await callingWorld();
  writeFileSync(world.path('880.wav'), writeWav(tone(880)));
  const listener = await listen('ann_1', '--once', '--record', 'heard.wav');
  const placed = place(
    'bob_1',
    'ann_1',
    '--hangup-after',
    '500ms',
    '--play',
    '880.wav',
    '--record',
    'heard.wav',
  );
  const caller = await placed.ended();
  expect(await listener.ended()).toBe(caller === 0 ? 8 : 0);
  const refused = caller === 0 ? listener : placed;
  expect(refused.stderr).toContain('heard.wav already exists');
  const [, kept = ''] = /the recording is in (\S+):/.exec(refused.stderr) ?? [];
  for (const file of [world.path('heard.wav'), kept])
    expect(readWav(readFileSync(file)).samples.length).toBeGreaterThan(0);
});

it('keeps the recording of calls with a side that also sends video', async () => {
  const { world, env, listen } = await callingWorld();
  const listener = await listen('ann_1', '--once', '--record', 'heard.wav');
  const media: MediaAdapter = {
    open: ({ sendSignal }) => {
      sendSignal({ description: { type: 'offer', sdp: offerOfVideo } });
      const connected = new Promise<void>(() => undefined);
      return Promise.resolve({ connected, setMuted: () => undefined, close: () => undefined });
    },
  };
  const { client: bob } = await testClient({ url: env['ENGAGECTL_BASE_URL']!, media });
  const account = { accountId: 'CALLS-1', apiKey: 'k3y-of-the-calls' };
  await bob.initialize({ ...annProperties, ...account, cuid: 'bob_1' });
  expect(await bob.call('ann_1', 'Order 25')).toMatchObject({ isSuccessful: true });
  await listener.says('Answered');
  await delay(500); // its WebRTC reads the offer
  bob.hangup();
  expect(await listener.ended(), listener.stderr).toBe(0);
  expect(readWav(readFileSync(world.path('heard.wav'))).rate).toBe(48_000);
});

const offerOfVideo = `
v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
t=0 0
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=rtpmap:96 VP8/90000
a=mid:0
a=sendrecv
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=rtcp-mux
a=fingerprint:sha-256 ${Array(32).fill('AA').join(':')}
a=setup:actpass
a=msid:s t
`
  .trimStart()
  .replaceAll('\n', '\r\n');

const tone = (hertz: number): Sound => ({
  rate: 16_000,
  samples: Int16Array.from({ length: 48_000 }, (_, n) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * hertz * n) / 16_000)),
  ),
});

/** Of the second half, as the first has the beginning of the call. */
function pitchOf({ rate, samples }: Sound): number {
  const half = samples.subarray(Math.floor(samples.length / 2), Math.floor(samples.length * 0.9));
  const rises = half.filter((sample, n) => n > 0 && half[n - 1]! < 0 && sample >= 0).length;
  return rises / (half.length / rate);
}

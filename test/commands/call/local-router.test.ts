import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { joinLocalRouter } from '../../../src/commands/call/local-router.js';
import { resolveAccount } from '../../../src/config/account.js';
import { claimRouter } from '../../../src/config/call-router-claim.js';
import { callingAccount } from '../../../src/config/credentials.js';
import { localCredentials } from '../../../src/config/local-account.js';
import { EngagectlError } from '../../../src/errors.js';
import { main } from '../../../src/main.js';
import { messagePrinter } from '../../../src/ui/messages.js';
import { authOf, RawClient, runRouter } from '../../service/calls/raw-client.js';
import type { CallEvent } from '../../../src/calling/protocol.js';
import type { PlaceResult } from '../../../src/jobs/calling/place-call.js';
import { BinProcess } from '../../support/processes/bin-process.js';
import { scriptedRouter, type ScriptedRouter } from '../../support/servers/scripted-router.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

/** What a command does that needs the router of --region local. */
async function joined(world: World) {
  const runtime = world.runtime({ sleep: 'real' });
  const settings = { region: 'local', flags: new Set(['region']) };
  const account = await resolveAccount(settings, runtime);
  const router = await joinLocalRouter(account, runtime, messagePrinter({}, runtime));
  return { router, said: () => runtime.output().stderr };
}

const clientOf = async (
  { router }: Awaited<ReturnType<typeof joined>>,
  cuid: string,
  deviceId?: string,
) => {
  const client = await new RawClient(router.url).opened();
  const { accountId, passcode: apiKey } = router;
  const auth = authOf({ cuid, accountId, apiKey });
  await client.ask('auth', deviceId === undefined ? auth : { ...auth, deviceId });
  return client;
};

it('runs the router in the first command; others join, and the next takes over at the same address', async () => {
  const world = makeWorld();
  const [first, second, third] = [await joined(world), await joined(world), await joined(world)];
  const { url } = first.router;
  expect([second.router.url, third.router.url]).toEqual([url, url]);
  expect(first.said()).toContain(`this command routes calls at ${url}`);
  expect(second.said() + third.said()).toBe('');

  const ann = await clientOf(first, 'ann_1');
  const bob = await clientOf(second, 'bob_1');
  const callId = await ann.call('bob_1');
  await bob.got('incoming');
  await bob.ask('answer', { callId });

  await first.router.close();
  expect([await ann.closed, await bob.closed]).toEqual([1001, 1001]);
  await until(() => (second.said() + third.said()).includes('this command now routes them'));
  const back = await new RawClient(url).opened();
  const { accountId, passcode: apiKey } = third.router;
  await back.ask('auth', authOf({ cuid: 'bob_1', accountId, apiKey, lastSeq: bob.lastSeq }));
  await back.got('Ended');

  await third.router.close();
  await second.router.close();
  await until(() => back.socket.readyState === 3);
});

it('agrees on one router among commands that start at the same instant', async () => {
  const world = makeWorld();
  const all = await Promise.all([1, 2, 3, 4].map(() => joined(world)));
  expect(new Set(all.map(({ router }) => router.url)).size).toBe(1);
  expect(all.filter(({ said }) => said().includes('this command routes calls'))).toHaveLength(1);
  await Promise.all(all.map(({ router }) => router.close()));
});

it('gives no key to a stranger at the announced address, and waits for the router', async () => {
  const world = makeWorld();
  const folder = path.join(world.stateDir, 'local');
  const claim = await claimRouter(folder);
  const stranger = await scriptedRouter({ apiKey: 'of the stranger' });
  claim!.announce(stranger.url.replace('ws', 'http'));
  const joining = joined(world);
  await until(() => stranger.texts.length > 0);
  const { accountId, passcode: apiKey } = await localCredentials(
    folder,
    world.runtime(),
    callingAccount,
  );
  const real = await runRouter({ accountId, apiKey });
  claim!.announce(real.url);
  const { router } = await joining;
  expect(router.url).toBe(real.url);
  expect(stranger.heard).toEqual([]);
  expect(stranger.texts.join()).not.toContain(apiKey);
  await router.close();
  claim!.release();
});

it('does not join a router that serves plain http to other machines', async () => {
  const world = makeWorld();
  const claim = await claimRouter(path.join(world.stateDir, 'local'));
  claim!.announce('http://192.0.2.1:8700');
  await expect(joined(world)).rejects.toMatchObject({
    id: 'E-UNAVAILABLE',
    details: { fix: 'restart it with --tls, or without --host' },
  });
  claim!.release();
});

it('keeps its files in the data directory private', async () => {
  const world = makeWorld();
  const { router } = await joined(world);
  const folder = path.join(world.stateDir, 'local');
  for (const name of readdirSync(folder)) {
    expect([name, statSync(path.join(folder, name)).mode & 0o077]).toEqual([name, 0]);
  }
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['call-api-key', 'call-router.json']));
  await router.close();
});

it('names a device id that a full disk left empty, and how to get another one', async () => {
  const world = makeWorld();
  const folder = path.join(world.stateDir, 'devices');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(folder, 'ann_1'), '');
  const argv = ['call', 'listen', '--cuid', 'ann_1', '--region', 'local'];
  const { code, stderr } = await world.run(argv);
  expect(code, stderr).toBe(9);
  expect(stderr).toContain('error E-FILE-READ');
  expect(stderr).toContain(`rm ${path.join(folder, 'ann_1')}`);
});

it.skipIf(process.platform === 'win32')(
  'stops waiting for a sound from a named pipe at SIGTERM',
  async () => {
    const world = makeWorld();
    execFileSync('mkfifo', [world.path('sound.wav')]);
    const options = '--cuid bob_1 --to ann_1 --context hello --region local --play sound.wav';
    const child = new BinProcess(world, ['call', 'place', ...options.split(' ')]);
    await until(() => child.stderr.includes('this command routes calls'));
    child.signal('SIGTERM');
    const timer = setTimeout(() => child.signal('SIGKILL'), 10_000);
    expect(await child.ended()).toBe(143);
    clearTimeout(timer);
  },
);

it('reports a stranger at the port of a stopped router, not another process with its cuid', async () => {
  const router = await scriptedRouter();
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'acc', ENGAGECTL_CALL_API_KEY: 'call-key' };
  const argv = ['call', 'listen', '--cuid', 'ann_1', '--call-url', router.url];
  const listening = makeWorld({ env }).run(argv, { sleep: 'real' });
  await until(() => router.heard.some(({ t }) => t === 'auth'));
  await router.settled();
  router.stop();
  await scriptedRouter({ port: Number(new URL(router.url).port), apiKey: 'of the stranger' });
  const { code, stderr } = await listening;
  expect([code, stderr]).toEqual([3, expect.stringContaining('no more calls here: AUTH_FAILURE')]);
  expect(stderr).toContain('or another program answers at its address');
  expect(stderr).not.toContain('cuid');
});

/** What callers and routers choose to look like a message of the program. */
const fake = '\nerror E-FAKE: no\twarning: x';

it('keeps the text of a router that refuses in one line of its messages', async () => {
  const router = await scriptedRouter();
  router.answer('hello', () => ({ refuse: fake }));
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'acc', ENGAGECTL_CALL_API_KEY: 'call-key' };
  const world = makeWorld({ env });
  const argv = ['call', 'listen', '--cuid', 'ann_1', '--call-url', router.url, '--verbose'];
  const { code, stderr } = await world.run([...argv, '--log-file', 'run.log']);
  expect([code, stderr]).toEqual([3, expect.stringContaining('CALL_FAILED')]);
  const log = readFileSync(world.path('run.log'), 'utf8');
  expect(stderr + log).not.toMatch(/^(?:\S+ \w+ +)?error E-FAKE/m);
});

it('redacts the API key that a router echoes, also on stdout', async () => {
  const key = 'secret/"key"-77';
  const world = makeWorld({ env: { ENGAGECTL_CALL_ACCOUNT_ID: 'acc' } });
  writeFileSync(world.path('key'), key);
  const env = { ENGAGECTL_CALL_API_KEY_FILE: 'key' };
  const callContext = `hello ${key}`;
  const details = { callId: key, callerCuid: key, calleeCuid: 'ann_1', callContext };
  const own = { ts: 'then', event: 'Answered', direction: 'Outgoing' };
  const odd = { ...details, ...own, channel: 'Socket', [key]: { more: [key] } } as const;
  const run = async (argv: string[], router: ScriptedRouter, act?: () => void) => {
    const stop = new AbortController();
    const runtime = world.runtime({ env, signal: stop.signal, sleep: 'real' });
    const url = ['--call-url', router.url, '-vv', '--log-file', 'run.log'];
    const running = main(['call', ...argv, ...url], runtime);
    if (act) {
      await until(() => router.heard.some(({ t }) => t === 'auth'));
      await router.settled();
      act();
      await router.settled();
      stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
    }
    const code = await running;
    const { stdout, stderr } = runtime.output();
    const written = `${stdout}${stderr}${readFileSync(world.path('run.log'), 'utf8')}`;
    expect(written).toContain('[passcode]');
    expect(written).not.toMatch(/secret\/|key\\*"-77/);
    return { code, stdout };
  };
  const place = ['place', '--cuid', 'bob_1', '--to', 'ann_1', '--context', 'hello'];
  writeFileSync(
    world.path('calls.csv'),
    'caller,callee,context,callee_does\nbob_1,ann_1,hi,absent\n',
  );
  for (const frame of ['auth', 'call']) {
    for (const argv of [place, [...place, '--json'], ['run', 'calls.csv']]) {
      const router = await scriptedRouter({ apiKey: key });
      router.answer(frame, () => ({ refuse: `CALL_FAILED ${key}` }));
      expect((await run(argv, router)).code).not.toBe(0);
    }
  }
  const router = await scriptedRouter({ apiKey: key });
  const listen = ['listen', '--cuid', 'ann_1', '--answer', 'ignore'];
  const { stdout } = await run(listen, router, () => {
    router.send('missed', { callId: key, actions: { [key]: key }, details: odd });
    router.send('incoming', { callId: key, details: odd, channel: 'Socket', expiresAt: 0 });
    router.send('event', { callId: key, direction: 'Incoming', event: 'Missed', details: odd });
    router.send('action', { callId: key, actionId: key, label: key, details: odd });
  });
  expect(stdout).toContain('"callContext":"hello [passcode]"');
  for (const text of Object.values(own)) expect(stdout).not.toContain(`"${text}"`);
});

it('keeps the text of a caller in one line of its messages and of its question', async () => {
  const router = await scriptedRouter();
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'acc', ENGAGECTL_CALL_API_KEY: 'call-key' };
  const world = makeWorld({ env });
  const stop = new AbortController();
  const stdin = new PassThrough();
  const runtime = world.runtime({ tty: true, stdin, signal: stop.signal, sleep: 'real' });
  const argv = ['call', 'listen', '--cuid', 'ann_1', '--answer', 'prompt'];
  const listening = main([...argv, '--call-url', router.url], runtime);
  const shown = () => runtime.output().stderr;
  await until(() => shown().includes('is waiting for calls'));
  const [callId, channel] = [`c${fake}`, 'Socket'] as const;
  const details = {
    callId,
    callerCuid: `bob${fake}`,
    calleeCuid: 'ann_1',
    callContext: fake,
    channel,
  };
  router.send('missed', { callId, actions: { [fake]: fake }, details });
  router.send('incoming', { callId, details, channel, expiresAt: 0 });
  await until(() => shown().includes('[y/n]'));
  expect(shown()).toMatch(/missed call c.*incoming call from bob.*Answer the call from bob/s);
  stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  expect(await listening).toBe(130);
  expect(shown()).not.toMatch(/^error E-FAKE/m);
});

/** A router that sends these events of the call, and the words of a command that places it. */
async function repeatingRouter(events: readonly CallEvent[]) {
  const router = await scriptedRouter();
  const details = {
    callId: 'call-1',
    callerCuid: 'bob_1',
    calleeCuid: 'ann_1',
    callContext: 'hello',
    channel: 'Socket',
  } as const;
  router.answer('call', () => {
    for (const event of events)
      router.send('event', { callId: 'call-1', direction: 'Outgoing', event, details });
    return { data: { callId: 'call-1' } };
  });
  const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'acc', ENGAGECTL_CALL_API_KEY: 'call-key' };
  const phones = ['--cuid', 'bob_1', '--to', 'ann_1', '--context', 'hello'];
  const argv = ['call', 'place', ...phones, '--json', '--call-url', router.url];
  return { router, argv, world: makeWorld({ env }) };
}

it('keeps few events of a call whose router repeats them', async () => {
  const repeated = Array.from({ length: 1000 }, () => 'Answered' as const);
  const { world, argv } = await repeatingRouter([
    'CallIsPlaced',
    ...repeated,
    'CallInProgress',
    'Ended',
  ]);
  const { code, stdout, stderr } = await world.run(argv);
  expect(code, stderr).toBe(0);
  const { ending, wasInProgress, events } = JSON.parse(stdout) as PlaceResult;
  expect({ ending, wasInProgress }).toEqual({ ending: 'Ended', wasInProgress: true });
  expect(events.length).toBeLessThan(100);
});

it('gives up a call whose router no longer answers, as one that was killed', async () => {
  const begun = ['CallIsPlaced', 'Answered', 'CallInProgress'] as const;
  const { router, world, argv } = await repeatingRouter(begun);
  router.answer('hangup', () => {
    router.stop();
    return undefined;
  });
  const { code, stderr } = await world.run([...argv, '--hangup-after', '0ms']);
  expect(code, stderr).toBe(5);
  expect(stderr).toContain('no more events of the call to ann_1');
});

import { once } from 'node:events';
import { createHmac } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { SocketClass } from '../../../src/calling/environment.js';
import { authOf, RawClient } from '../../service/calls/raw-client.js';
import { testClient } from '../../support/calling-client.js';
import { BinProcess } from '../../support/processes/bin-process.js';
import type { AckData } from '../../../src/calling/protocol.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALLS', ENGAGECTL_CALL_API_KEY: 'call-secret' };

/** `serve` in a process of its own. */
async function serve(world: World, args: readonly string[], more: Record<string, string> = env) {
  const child = new BinProcess(world, ['serve', '--port', '0', ...args], more);
  const url = await child.firstLine();
  const isSaid = () => /calls: E|calls are|calls of/.test(child.stderr);
  await until(() => child.stderr.includes('use it with') && isSaid());
  const stop = async () => {
    child.signal('SIGTERM');
    await child.ended();
  };
  return { url, stderr: () => child.stderr, stop };
}

async function join(url: string, cuid: string, apiKey = env.ENGAGECTL_CALL_API_KEY) {
  const client = await new RawClient(url).opened();
  const accountId = env.ENGAGECTL_CALL_ACCOUNT_ID;
  expect(await client.ask('auth', authOf({ cuid, accountId, apiKey }))).toBeTypeOf('object');
  return client;
}

it('serves calls with the account of the environment, and never prints its key', async () => {
  const world = makeWorld();
  const service = await serve(world, ['--memory', '--call-speed', '10']);
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await ann.call('bob_1');
  await bob.got('incoming');
  await ann.got('CallIsPlaced', 'Missed'); // after 3 s
  expect(service.stderr()).toContain('ENGAGECTL_CALL_ACCOUNT_ID=CALLS and the API key of this');
  expect(service.stderr()).not.toContain(env.ENGAGECTL_CALL_API_KEY);
});

it('creates its own key if none is given', async () => {
  const world = makeWorld();
  const service = await serve(world, ['--data', 'store'], {});
  const [, file = ''] = /ENGAGECTL_CALL_API_KEY_FILE=(\S+)/.exec(service.stderr()) ?? [];
  expect(file).toBe(world.path('store', 'call-api-key'));
  const client = await new RawClient(service.url).opened();
  const apiKey = readFileSync(file, 'utf8').trim();
  const auth = authOf({ cuid: 'ann_1', accountId: 'LOCAL-CALLS', apiKey });
  expect(await client.ask('auth', auth)).toMatchObject({ replay: 0 });

  const second = await serve(world, ['--data', 'store'], {});
  expect(second.stderr()).toContain(`are routed by another process, at ${service.url}`);
  expect((await fetch(`${second.url}/call/v1/signal`)).status).toBe(404);
});

it('--tls: commands with --region local join if they trust its certificate, and report otherwise', async () => {
  const world = makeWorld();
  const service = await serve(world, ['--tls'], {});
  const { code, stderr } = await world.run(['call', 'log', '--region', 'local']);
  expect(code).toBe(5);
  expect(stderr).toMatch(/is not trusted[^]*at https:[^]*NODE_EXTRA_CA_CERTS=/);
  const [, file = ''] = /NODE_EXTRA_CA_CERTS=(\S+)/.exec(service.stderr()) ?? [];
  const trusting = new BinProcess(world, ['call', 'log', '--region', 'local'], {
    NODE_EXTRA_CA_CERTS: file,
  });
  expect(await trusting.ended()).toBe(0);
});

it('refuses a data directory that everybody can write to', async () => {
  const world = makeWorld();
  mkdirSync(world.path('open'));
  chmodSync(world.path('open'), 0o777);
  const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
  const service = new BinProcess(world, ['serve', '--port', '0', '--data', 'open'], env);
  expect(await service.ended()).toBe(2);
  expect(service.stderr).toContain('E-CONFIG-FILE');
});

it('names a disk on which it cannot write its keys, not a defect', async () => {
  const world = makeWorld();
  // Writing fails as on a full disk: no file may have a byte.
  const tracer = ['bash', '-c', 'ulimit -f 0; trap "" XFSZ; exec "$@"', '-'];
  const account = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
  const args = ['serve', '--port', '0', '--data', 'store'];
  const service = new BinProcess(world, args, account, { tracer });
  expect(await service.ended()).toBe(9);
  expect(service.stderr).toContain('calls are not served: cannot write');
  expect(service.stderr).toContain('E-FILE-WRITE');
  expect(service.stderr).not.toContain('defect');
});

it('--require-tokens: lets in whoever has a token of call token, and phones that have its key', async () => {
  const world = makeWorld();
  const account = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
  const service = await serve(world, ['--require-tokens'], account);
  expect(service.stderr()).toContain(path.join('local', 'call-token-key'));
  const folder = path.join(world.stateDir, 'local');
  const apiKey = readFileSync(path.join(folder, 'call-api-key'), 'utf8').trim();
  const properties = {
    accountId: 'LOCAL-CALLS',
    apiKey,
    cuid: 'ann_1',
    allowPersistSocketConnection: true,
  };

  const stranger = await testClient({ url: service.url });
  expect((await stranger.client.initialize(properties)).error?.errorName).toBe('AUTH_FAILURE');
  const signed = await world.run([
    'call',
    'token',
    '--cuid',
    'ann_1',
    '--ttl',
    '1h',
    '--device',
    'd-1',
  ]);
  expect(signed).toMatchObject({ code: 0, stderr: '' });
  const token = () => signed.stdout.trim();
  const thief = await testClient({ url: service.url, deviceId: 'd-2', token });
  expect((await thief.client.initialize(properties)).error?.errorName).toBe('AUTH_FAILURE');
  const ann = await testClient({ url: service.url, deviceId: 'd-1', token });
  expect(await ann.client.initialize(properties)).toMatchObject({ isSuccessful: true });
  ann.client.onIncomingCall(({ callId }) => void ann.client.answer(callId));

  const call = ['--cuid', 'bob_1', '--to', 'ann_1', '--context', 'hello', '--hangup-after', '1ms'];
  const placed = new BinProcess(world, ['call', 'place', ...call, '--region', 'local']);
  expect(await placed.ended(), placed.stderr).toBe(0);
  await until(() => ann.events.includes('Incoming Ended'));

  const log = ['call', 'log', '--call-url', service.url];
  const asApp = { ENGAGECTL_CALL_ACCOUNT_ID: 'LOCAL-CALLS', ENGAGECTL_CALL_API_KEY: apiKey };
  expect((await world.run(log, { env: asApp })).code).toBe(4);
  const asOwner = { ENGAGECTL_CALL_ACCOUNT_ID: 'A', ENGAGECTL_CALL_API_KEY: 'p' };
  expect(await world.run(log, { env: asOwner })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"callContext":"hello"') as string,
  });
});

it('reads the token key from ENGAGECTL_CALL_TOKEN_KEY_FILE, and refuses a short one', async () => {
  const world = makeWorld();
  const named = { ENGAGECTL_CALL_TOKEN_KEY_FILE: 'key' };
  writeFileSync(world.path('key'), `${'k'.repeat(32)}\n`);
  const { stdout } = await world.run(['call', 'token', '--cuid', 'ann_1', '--json'], {
    env: named,
  });
  const { token, expiresAt } = JSON.parse(stdout) as { token: string; expiresAt: string };
  const [head, body, signature] = token.split('.');
  const expected = createHmac('sha256', 'k'.repeat(32))
    .update(`${head}.${body}`)
    .digest('base64url');
  expect(signature).toBe(expected);
  const claims = JSON.parse(Buffer.from(body!, 'base64url').toString()) as {
    iat: number;
    exp: number;
  };
  expect(claims).toMatchObject({ sub: 'ann_1', exp: claims.iat + 3600 });
  expect(Math.floor(Date.parse(expiresAt) / 1000)).toBe(claims.exp);
  writeFileSync(world.path('key'), 'short');
  const short = await world.run(['call', 'token', '--cuid', 'ann_1'], { env: named });
  expect(short).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/too short[^]*openssl rand -hex 32/) as string,
  });
});

it('--ice-servers: hands out servers, with credentials of their own for each client', async () => {
  const world = makeWorld();
  const servers = [
    { urls: 'stun:stun.example.com' },
    { urls: ['turn:turn.example.com:3478'], secret: 'shared', ttlSeconds: 600 },
    { urls: 'turns:turn.example.com', username: 'u', credential: 'c' },
  ];
  writeFileSync(world.path('ice.json'), JSON.stringify(servers));
  const service = await serve(world, ['--memory', '--ice-servers', 'ice.json']);
  const ann = await join(service.url, 'ann_1');
  const { iceServers } = (await ann.ask('ice', {})) as AckData['ice'];
  const [stun, turn, turns] = iceServers;
  expect([stun, turns]).toEqual([servers[0], servers[2]]);
  const [end, cuid] = turn!.username!.split(':');
  expect(cuid).toBe('ann_1');
  expect(Math.abs(Number(end) - 600 - Date.now() / 1000)).toBeLessThan(30);
  const password = createHmac('sha1', 'shared').update(turn!.username!).digest('base64');
  expect(turn).toEqual({ urls: servers[1]!.urls, username: turn!.username, credential: password });
});

it.each([
  ['{', 'it is not JSON'],
  ['{"urls":"stun:a"}', 'ICE servers: must be an array'],
  ['[{"urls":"http://a"}]', '0.urls: is not a stun:, turn: or turns: URL'],
  ['[{"urls":"turn:a","password":"x"}]', 'password'],
  ['[{"urls":"turn:a","secret":"s","username":"u"}]', '"secret" replaces "username"'],
])('--ice-servers: refuses %s', async (text, why) => {
  const world = makeWorld();
  writeFileSync(world.path('ice.json'), text);
  const args = ['serve', '--port', '0', '--memory', '--ice-servers', 'ice.json'];
  const { code, stderr } = await world.run(args);
  expect(code).toBe(2);
  expect(stderr).toContain(why);
});

it('--allow-host emulator: serves an app in the Android emulator, which calls this machine 10.0.2.2', async () => {
  // The emulator forwards 10.0.2.2 to the loopback interface of its host; the headers are those of React Native.
  const emulated = (port: string) =>
    class extends WebSocket {
      constructor(address: string, protocols: string[]) {
        const host = `10.0.2.2:${port}`;
        const headers = { Host: host, Origin: `http://${host}` };
        super(address.replace('10.0.2.2', '127.0.0.1'), protocols, { headers });
      }
    } as unknown as SocketClass;
  const world = makeWorld();
  const { ENGAGECTL_CALL_ACCOUNT_ID: accountId, ENGAGECTL_CALL_API_KEY: apiKey } = env;
  const properties = { accountId, apiKey, cuid: 'ann_1', allowPersistSocketConnection: true };
  for (const [args, isReachable] of [
    [['--memory', '--allow-host', 'emulator'], true],
    [['--memory'], false],
  ] as const) {
    const service = await serve(world, args);
    const { port } = new URL(service.url);
    const url = `ws://10.0.2.2:${port}`;
    const ann = await testClient({ url, WebSocket: emulated(port) });
    expect((await ann.client.initialize(properties)).isSuccessful).toBe(isReachable);
    expect(service.stderr().includes('accepted host names: 10.0.2.2')).toBe(isReachable);
    await service.stop();
  }
});

it('--calls off refuses every call', async () => {
  const service = await serve(makeWorld(), ['--memory', '--calls', 'off']);
  const ann = await join(service.url, 'ann_1');
  expect(await ann.ask('call', { to: 'bob_1', context: 'x' })).toBe('FEATURE_OFF');
});

it('--push-hook: runs a command with the offer for a device that is not connected', async () => {
  const world = makeWorld();
  const hook =
    'cat > "$ENGAGECTL_PUSH_CUID.part" && mv "$ENGAGECTL_PUSH_CUID.part" "$ENGAGECTL_PUSH_CUID.json"; exit 3';
  const service = await serve(world, ['--memory', '--push-hook', hook]);
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await bob.ask('bye', {});
  const callId = await ann.call('bob_1');
  await until(() => existsSync(world.path('bob_1.json')));
  const offer: unknown = JSON.parse(readFileSync(world.path('bob_1.json'), 'utf8'));
  expect(offer).toMatchObject({ callId, cuid: 'bob_1', deviceId: 'device of bob_1' });
  await until(() => service.stderr().includes('the push hook failed for bob_1: exit code 3'));
});

it('--push-hook: gives a command the environment it needs, without secrets', async () => {
  const world = makeWorld();
  const secrets = {
    ENGAGECTL_ACCOUNT_ID: 'A',
    ENGAGECTL_PASSCODE: 'pass-secret',
    ENGAGECTL_PASSCODE_FILE: '',
    GITHUB_TOKEN: 'token-secret',
    HTTPS_PROXY: 'http://me:proxy-secret@127.0.0.1:1',
    NODE_OPTIONS: '--no-warnings',
  };
  const hook = 'env > env.part && mv env.part env.txt';
  const more = { ...env, ...secrets, LC_ALL: 'C.UTF-8', TZ: 'Asia/Kolkata' };
  const service = await serve(world, ['--memory', '--push-hook', hook], more);
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await bob.ask('bye', {});
  const callId = await ann.call('bob_1');
  await until(() => existsSync(world.path('env.txt')));
  const text = readFileSync(world.path('env.txt'), 'utf8');
  expect(text).not.toContain('secret');
  const names = new Set(text.split('\n').map((line) => line.replace(/=[^]*/, '')));
  for (const name of [...Object.keys(secrets), ...Object.keys(env)])
    expect(names).not.toContain(name);
  for (const line of [
    `ENGAGECTL_PUSH_CALL_ID=${callId}`,
    'ENGAGECTL_PUSH_CUID=bob_1',
    `ENGAGECTL_STATE_DIR=${world.stateDir}`,
    'LC_ALL=C.UTF-8',
    'TZ=Asia/Kolkata',
  ])
    expect(text.split('\n')).toContain(line);
  expect(names).toContain('PATH');
});

it('--push-hook: sends the offer to a URL', async () => {
  const bodies: unknown[] = [];
  const receiver = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      bodies.push(JSON.parse(text));
      response.writeHead(bodies.length === 1 ? 204 : 500).end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void receiver.close());
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/push`;
  const service = await serve(makeWorld(), ['--memory', '--push-hook', url]);
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  await bob.ask('bye', {});
  const first = await ann.call('bob_1');
  await until(() => bodies.length === 1);
  expect(bodies[0]).toMatchObject({ callId: first, cuid: 'bob_1' });
  await ann.ask('hangup', {});
  await ann.call('bob_1');
  await until(() => service.stderr().includes('the push hook failed for bob_1: HTTP 500'));
});

it('uploads finished calls as events of the other system', async () => {
  const world = makeWorld();
  const account = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
  const service = await serve(world, ['--memory'], { ...env, ...account });
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1', 'order 25');
  await bob.ask('decline', { callId, reasonCode: 1005 });
  await ann.got('CallIsPlaced', 'ReceiverBusyOnAnotherCall');
  for (const [event, identity, cuid] of [
    ['SCEnd', 'ann_1', 'bob_1'],
    ['SCOutgoing', 'ann_1', 'bob_1'],
    ['SCIncoming', 'bob_1', 'ann_1'],
  ] as const) {
    const args = [
      'export-events',
      '--event',
      event,
      '--from',
      'yesterday',
      '--to',
      'today',
      '-o',
      '-',
      '--base-url',
      service.url,
    ];
    const { code, stdout, stderr } = await world.run(args, { env: account });
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      profile: { identity },
      event_props: {
        call_id: callId,
        cuid,
        context: 'order 25',
        epoch: expect.any(Number) as number,
        call_status: 'declined',
        reason: 'busy',
        reason_code: 1005,
      },
    });
  }
  await service.stop();
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createSocket } from 'node:dgram';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runRouter } from '../service/calls/raw-client.js';
import { hasWrtc, speaker } from '../support/processes/speaking-phone.js';
import { until } from '../support/until.js';

// Voice through a real TURN server: coturn, with the credentials that the router hands out, and no other candidates.

const turnserver = '/usr/bin/turnserver';
const isPossible = hasWrtc && existsSync(turnserver);
if (!existsSync(turnserver)) process.stderr.write('SKIPPED: no coturn; nobody relays voices\n');

const secret = 'shared-with-turn';

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  return port;
}

/** Starts coturn on loopback. Returns its URL, and what it logged. */
async function turn() {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-turn-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const address = ['--listening-ip=127.0.0.1', '--relay-ip=127.0.0.1', `--listening-port=${port}`];
  const account = ['--use-auth-secret', `--static-auth-secret=${secret}`, '--realm=test'];
  const quiet = ['--no-cli', '--no-tls', '--no-dtls', '--no-stun-backward-compatibility'];
  const files = [
    '-n',
    '--log-file=stdout',
    '--verbose',
    `--pidfile=${folder}/pid`,
    `--userdb=${folder}/db`,
  ];
  const child = spawn(
    turnserver,
    [...files, ...address, ...account, ...quiet, '--allow-loopback-peers'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let log = '';
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (text: string) => (log += text));
  const isListening = () => log.includes('UDP listener opened on');
  await until(isListening, { message: () => `coturn listens; it logged: ${log}` });
  return { url: `turn:127.0.0.1:${port}?transport=udp`, log: () => log };
}

it.skipIf(!isPossible)('transmits a tone in both directions through a TURN server', async () => {
  const server = await turn();
  const { url } = await runRouter({ iceServers: [{ urls: server.url, secret }] });
  const bob = speaker(url, 'bob_1', '880', '--relay');
  expect(await bob.line()).toBe('ready');
  const ann = speaker(url, 'ann_1', '440', 'bob_1', '--relay');
  expect(await ann.line()).toBe('ready');
  expect(Number(await ann.line())).toBeCloseTo(880, -1);
  expect(Number(await bob.line())).toBeCloseTo(440, -1);
  ann.hangUp();
  expect([(await ann.exit)[0], (await bob.exit)[0]]).toEqual([0, 0]);
  for (const cuid of ['ann_1', 'bob_1'])
    expect(server.log()).toMatch(
      new RegExp(`user <\\d+:${cuid}>: incoming packet ALLOCATE processed, success`),
    );
});

it.skipIf(!isPossible)(
  'ends a call whose credentials the TURN server does not accept',
  async () => {
    const server = await turn();
    const service = await runRouter({
      iceServers: [{ urls: server.url, secret: 'another' }],
      timers: { connecting: 2000 },
    });
    const bob = speaker(service.url, 'bob_1', '880', '--relay');
    expect(await bob.line()).toBe('ready');
    speaker(service.url, 'ann_1', '440', 'bob_1', '--relay');
    const calls = async () => {
      const { text } = await service.call('GET', '/_local/calls');
      return (JSON.parse(text) as { calls: { status?: string; inProgressAt?: number }[] }).calls;
    };
    await until(async () => (await calls())[0]?.status === 'over', { message: 'the call ends' });
    expect((await calls())[0]?.inProgressAt).toBeUndefined();
    expect(server.log()).not.toContain('ALLOCATE processed, success');
  },
);

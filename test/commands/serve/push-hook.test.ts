import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { main } from '../../../src/main.js';
import { authOf, RawClient } from '../../service/calls/raw-client.js';
import { makeWorld } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

// What `serve --push-hook` does about a call for a device that is not connected, in process.

const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALLS', ENGAGECTL_CALL_API_KEY: 'call-secret' };

/** A service with this hook, and ann, who calls bob: his device is known and not connected. */
async function callNobody(hook: string, deviceId = 'device of bob_1') {
  const world = makeWorld({ env });
  const ending = new AbortController();
  const runtime = world.runtime({ signal: ending.signal });
  const ended = main(['serve', '--memory', '--port', '0', '--push-hook', hook], runtime);
  const output = () => runtime.output();
  onTestFinished(async () => {
    ending.abort();
    await ended;
  });
  await until(() => output().stderr.includes('use it with'), { message: () => output().stderr });
  const url = output().stdout.trim();
  const join = async (cuid: string, device = `device of ${cuid}`) => {
    const client = await new RawClient(url).opened();
    const account = { accountId: 'CALLS', apiKey: env.ENGAGECTL_CALL_API_KEY };
    expect(await client.ask('auth', authOf({ cuid, deviceId: device, ...account }))).toBeTypeOf(
      'object',
    );
    return client;
  };
  const [ann, bob] = [await join('ann_1'), await join('bob_1', deviceId)];
  await bob.ask('bye', {});
  const callId = await ann.call('bob_1');
  const told = (text: string) =>
    until(() => output().stderr.includes(text), { message: () => output().stderr });
  return { world, callId, told };
}

it('posts the offer to a URL, and reports a response that is not a success', async () => {
  const received: { type: string | undefined; body: string }[] = [];
  const receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ type: request.headers['content-type'], body });
      response.writeHead(500, { connection: 'close' }).end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void receiver.close());
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const { callId, told } = await callNobody(`http://127.0.0.1:${port}/push`);
  await told('the push hook failed for bob_1: HTTP 500');
  expect(received.map(({ type }) => type)).toEqual(['application/json']);
  expect(JSON.parse(received[0]!.body)).toMatchObject({ callId, cuid: 'bob_1' });
});

it('reports a URL that does not answer, with the reason', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const { told } = await callNobody(`http://127.0.0.1:${port}/push`);
  await told('the push hook failed for bob_1: connect ECONNREFUSED');
});

it('passes the offer to a command by stdin and environment, and reports its exit code', async () => {
  const { world, callId, told } = await callNobody(
    'cat > offer.json; echo "$ENGAGECTL_PUSH_CALL_ID $ENGAGECTL_PUSH_CUID $ENGAGECTL_PUSH_DEVICE_ID" > words; exit 3',
  );
  await told('the push hook failed for bob_1: exit code 3');
  const offer = JSON.parse(readFileSync(world.path('offer.json'), 'utf8')) as object;
  expect(offer).toMatchObject({ callId, cuid: 'bob_1', deviceId: 'device of bob_1' });
  expect(readFileSync(world.path('words'), 'utf8')).toBe(`${callId} bob_1 device of bob_1\n`);
});

it('reports a device id that no variable can contain, and keeps running', async () => {
  const { told } = await callNobody('exit 0', 'bob\u0000');
  await told('the push hook failed for bob_1: ');
});

it('refuses a URL whose certificate would not be verified', async () => {
  const world = makeWorld({ env: { ...env, NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  const hook = 'https://127.0.0.1:1/push';
  const argv = ['serve', '--memory', '--port', '0', '--push-hook', hook];
  const { code, stderr } = await world.run(argv);
  expect([code, stderr]).toEqual([2, expect.stringContaining('NODE_TLS_REJECT_UNAUTHORIZED=0')]);
});

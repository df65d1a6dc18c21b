import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { once } from 'node:events';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import {
  provenText,
  signalPath,
  subprotocol,
  type AckData,
  type ClientFrames,
} from '../../../src/calling/protocol.js';
import { until } from '../../support/until.js';
import { run, type Running } from '../running.js';
import { askRest, authOf, callAccount, join, RawClient, runRouter } from './raw-client.js';
import { runs } from '../../support/property-runs.js';

/** A router whose waits are not up before a busy machine has sent all that a test sends. */
const patientRouter = () => runRouter({ timers: { auth: 3_600_000, ringing: 3_600_000 } });

/** What the router does with anybody must leave these two alone. */
async function undisturbed(service: Running, work: () => Promise<void>): Promise<void> {
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1');
  await work();
  expect(await bob.ask('answer', { callId })).toBe('ok');
  await ann.got('CallIsPlaced', 'Answered');
}

const stranger = (service: Running) => new RawClient(service.url).opened();

it.each([
  ['{', 4400],
  ['[]', 4400],
  ['nonsense', 4400],
  ['null', 4400],
  [Buffer.from([1, 2, 3]), 1003],
  [JSON.stringify({ t: 'hangup', id: 1, more: 'x'.repeat(17 * 1024) }), 1009],
  ['x'.repeat(1024 * 1024), 1009],
])('closes the socket after invalid frame %#', async (frame, code) => {
  const service = await patientRouter();
  await undisturbed(service, async () => {
    for (const client of [await stranger(service), await join(service.url, 'eve_1')]) {
      client.socket.send(frame);
      expect(await client.closed).toBe(code);
    }
  });
});

it('closes the socket after invalid UTF-8', async () => {
  const service = await runRouter();
  const client = await stranger(service);
  client.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
  expect(await client.closed).toBe(1007);
});

it('allows media descriptions that are longer than other frames', async () => {
  const service = await runRouter();
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const callId = await ann.call('bob_1');
  await bob.ask('answer', { callId });
  expect(await ann.ask('sdp', { callId, payload: 'x'.repeat(60 * 1024) })).toBe('ok');
  await bob.got('incoming', 'Answered', 'sdp');
  ann.socket.send(JSON.stringify({ t: 'sdp', id: 9, callId, payload: 'x'.repeat(66 * 1024) }));
  expect(await ann.closed).toBe(1009);
});

it('closes the socket after a frame that is nested too deep to be passed on or stored', async () => {
  const service = await patientRouter();
  await undisturbed(service, async () => {
    const [eve, mallory] = [await join(service.url, 'eve_1'), await join(service.url, 'mallory')];
    const callId = await eve.call('mallory');
    expect(await mallory.ask('answer', { callId })).toBe('ok');
    const nested = '['.repeat(30_000) + ']'.repeat(30_000);
    eve.socket.send(`{"t":"sdp","id":9,"callId":"${callId}","payload":${nested}}`);
    expect(await eve.closed).toBe(4400);
    const other = await stranger(service);
    const auth = JSON.stringify({ t: 'auth', id: 1, ...authOf({ cuid: 'other_1' }) });
    const caps = `{"more":${nested.slice(23_000, -23_000)}}`;
    other.socket.send(auth.replace('"caps":{}', () => `"caps":${caps}`));
    expect(await other.closed).toBe(4400);
  });
});

it('rejects frames before auth, a second auth, wrong shapes and unknown types', async () => {
  const service = await runRouter();
  const client = await stranger(service);
  expect(await client.ask('call', { to: 'bob_1', context: 'x' })).toBe('WRONG_ORDER');
  expect(await client.ask('hangup', {})).toBe('WRONG_ORDER');
  client.socket.send('{"t":"seen","seq":3}');
  client.socket.send('{"t":"video","id":77}');
  client.socket.send('{"id":77}');
  const { callId: _, ...wrong } = { ...authOf({ cuid: 'ann_1' }), callId: 0 };
  expect(await client.raw({ t: 'auth', ...wrong, cuid: 'a\u202Eb_cd' })).toMatchObject({
    ok: false,
    err: { name: 'BAD_REQUEST', message: 'auth: cuid must be a cuid' },
  });
  expect(await client.ask('auth', authOf({ cuid: 'ann_1' }))).toMatchObject({ replay: 0 });
  expect(await client.ask('auth', authOf({ cuid: 'ann_1' }))).toBe('WRONG_ORDER');
});

it.each([{ apiKey: 'wrong' }, { accountId: 'wrong' }])('answers auth with %j', async (wrong) => {
  const service = await runRouter();
  const client = await stranger(service);
  expect(await client.ask('auth', authOf({ cuid: 'ann_1', ...wrong }))).toBe('AUTH_FAILURE');
  expect(await client.closed).toBe(4401);
});

it('requests authentication again without a proof or key', async () => {
  const client = await stranger(await runRouter());
  const { apiKey: _, ...auth } = authOf({ cuid: 'ann_1' });
  expect(await client.ask('auth', auth)).toBe('BAD_REQUEST');
  expect(await client.ask('auth', authOf({ cuid: 'ann_1' }))).toMatchObject({ replay: 0 });
});

it('accepts a proof for one socket, cuid and device only, and only after hello', async () => {
  const service = await runRouter();
  const nonce = 'n'.repeat(32);
  const hello = async (client: RawClient) =>
    (await client.ask('hello', { nonce })) as AckData['hello'];
  const prove = (text: string) =>
    createHmac('sha256', callAccount.apiKey).update(text).digest('hex');
  const { apiKey: _, ...auth } = authOf({ cuid: 'ann_1' });

  const client = await stranger(service);
  const challenge = await hello(client);
  expect(challenge.proof).toBe(prove(provenText.router(nonce, challenge.nonce)));
  expect(await client.ask('hello', { nonce })).toBe('WRONG_ORDER');
  const proof = prove(provenText.client(auth, nonce, challenge.nonce));

  const refused = async (frame: ClientFrames['auth'], greets = true) => {
    const other = await stranger(service);
    if (greets) expect((await hello(other)).nonce).not.toBe(challenge.nonce);
    expect(await other.ask('auth', frame)).toBe('AUTH_FAILURE');
    expect(await other.closed).toBe(4401);
  };
  await refused({ ...auth, proof });
  await refused({ ...auth, proof }, false);
  await refused({ ...auth, proof: challenge.proof });
  expect(await client.ask('auth', { ...auth, proof })).toMatchObject({ replay: 0 });

  for (const change of [{ cuid: 'bob_1' }, { deviceId: 'another' }, { accountId: 'another' }]) {
    const eve = await stranger(service);
    const { nonce: routerNonce } = await hello(eve);
    const own = prove(provenText.client(auth, nonce, routerNonce));
    expect(await eve.ask('auth', { ...auth, ...change, proof: own })).toBe('AUTH_FAILURE');
  }
});

it('closes a socket that does not authenticate in time', async () => {
  const service = await runRouter({ timers: { auth: 200 } });
  let ann: RawClient | undefined;
  const isIn = async () => {
    ann = await join(service.url, 'ann_1').catch(() => undefined);
    return ann !== undefined;
  };
  await until(isIn, { message: 'a client authenticates in time' });
  const client = await stranger(service); // its time is up later than that of ann would be
  expect(await client.closed).toBe(4408);
  expect(await ann!.ask('hangup', {})).toBe('ok');
});

it('allows one device per cuid: its newer socket replaces the older, another device is refused', async () => {
  const service = await runRouter();
  const ann = await join(service.url, 'ann_1');
  const other = await stranger(service);
  expect(await other.ask('auth', authOf({ cuid: 'ann_1', deviceId: 'another' }))).toBe(
    'CUID_ELSEWHERE',
  );
  expect(await other.closed).toBe(4403);
  const again = await join(service.url, 'ann_1');
  expect(await ann.closed).toBe(4409);
  again.socket.terminate();
  await again.closed;
  await until(() => again.socket.readyState === WebSocket.CLOSED);
  await join(service.url, 'ann_1', { deviceId: 'another' });
});

it.each([
  ['a foreign page', { Origin: 'https://evil.test' }, 403],
  ['a page without an origin', { Origin: 'null' }, 403],
  ['a foreign name of this machine', { Host: 'evil.test' }, 403],
])('refuses a socket to %s', async (_, headers, status) => {
  const service = await runRouter();
  const address = service.url.replace('http', 'ws') + signalPath;
  const socket = new WebSocket(address, subprotocol, { headers });
  const [, answer] = (await once(socket, 'unexpected-response')) as [
    unknown,
    { statusCode: number },
  ];
  expect(answer.statusCode).toBe(status);
  socket.on('error', () => undefined).terminate();
});

it.each(['http://localhost:3000', 'http://127.0.0.1:8080'])(
  'accepts a socket from a page of %s',
  async (Origin) => {
    const service = await runRouter();
    expect((await new RawClient(service.url, { Origin }).opened()).socket.readyState).toBe(1);
  },
);

it.each([
  [{}, 426],
  [{ Upgrade: 'h2c', Connection: 'Upgrade, close' }, 426],
  [{ Upgrade: 'websocket', Connection: 'Upgrade, close', 'Sec-WebSocket-Key': 'A' }, 400],
])('names the missing part of a request with %j', async (headers, status) => {
  const service = await runRouter();
  const answer = await service.get(signalPath, headers);
  expect(answer).toContain(`HTTP/1.1 ${status}`);
});

it('serves no calls unless calling is enabled', async () => {
  const service = await run();
  expect(await service.get(signalPath, {})).toContain('HTTP/1.1 404');
});

it('closes the oldest of 1,000 unauthenticated sockets, and serves authenticated ones', async () => {
  // None of them is dropped for its silence before the last one is there.
  const service = await patientRouter();
  await undisturbed(service, async () => {
    const silent: RawClient[] = [];
    while (silent.length < 1000) {
      const next = Array.from({ length: 50 }, () => new RawClient(service.url));
      silent.push(...(await Promise.all(next.map((client) => client.opened()))));
    }
    await join(service.url, 'eve_1');
    await join(service.url, 'eve_2');
    // Who has said its name makes room again.
    await until(() => silent.some(({ socket }) => socket.readyState === WebSocket.CLOSED));
    const left = silent.filter(({ socket }) => socket.readyState === WebSocket.OPEN);
    expect(left).toHaveLength(999);
    expect(await left.at(-1)!.ask('auth', authOf({ cuid: 'eve_3' }))).toMatchObject({ replay: 0 });
    for (const { socket } of silent) socket.terminate();
  });
});

it('reads 200 frames at once of a socket that floods it, so others are answered in between', async () => {
  const service = await patientRouter();
  const [eve, ann] = [await join(service.url, 'eve_1'), await join(service.url, 'ann_1')];
  const flood = 60_000;
  let answered = 0;
  eve.socket.on('message', () => (answered += 1));
  for (let id = 1; id <= flood; id += 1)
    eve.socket.send(JSON.stringify({ t: 'probe', id: 1000 + id }));
  expect(await ann.ask('probe', {})).toBe('ok');
  expect(answered).toBeLessThan(1000);
  await until(() => answered >= 300, { message: () => `${answered} frames were answered` });
  eve.socket.terminate();
});

it('reads frames above the limit later, and loses none of them', async () => {
  const service = await runRouter({ limits: { framesPerSecond: 1000 } });
  const eve = await join(service.url, 'eve_1');
  const ids: number[] = [];
  eve.socket.on('message', (data: Buffer) => {
    ids.push((JSON.parse(data.toString()) as { re: number }).re);
  });
  const sent = Array.from({ length: 1500 }, (_, n) => 1000 + n);
  for (const id of sent) eve.socket.send(JSON.stringify({ t: 'probe', id }));
  await until(() => ids.length === sent.length);
  expect(ids).toEqual(sent);
});

it('a router that stops does not wait for the frames of a flood', async () => {
  const service = await patientRouter();
  const eve = await join(service.url, 'eve_1');
  for (let id = 2; id <= 60_000; id += 1) eve.socket.send(JSON.stringify({ t: 'probe', id }));
  await until(() => eve.lastAck > 100);
  await service.close();
  expect(await eve.closed).toBe(1001);
});

it('refuses the calls of a cuid above the limit per minute, on whatever socket, and no one else’s', async () => {
  let now = 1_700_000_000_000;
  const limits = { callsPerMinute: 3 };
  const service = await runRouter({ limits }, { now: () => now });
  const [ann, bob] = [await join(service.url, 'ann_1'), await join(service.url, 'bob_1')];
  const attempt = async (client: RawClient, to: string) => {
    const answer = await client.ask('call', { to, context: 'hello' });
    await client.ask('hangup', {});
    return typeof answer === 'object' ? 'placed' : answer;
  };
  for (const outcome of ['placed', 'placed', 'placed', 'TOO_MANY_CALLS'])
    expect(await attempt(ann, 'bob_1')).toBe(outcome);
  const newer = await join(service.url, 'ann_1');
  expect(await attempt(newer, 'bob_1')).toBe('TOO_MANY_CALLS');
  expect(await attempt(bob, 'ann_1')).toBe('placed');
  now += 20_000;
  expect(await attempt(newer, 'bob_1')).toBe('placed');
  expect(await attempt(newer, 'bob_1')).toBe('TOO_MANY_CALLS');
  const { records } = await askRest(service, 'GET', '/call/v1/calls');
  expect(records).toHaveLength(5);
});

/** A frame of a client, masked with zeros. */
function maskedFrame(frame: object): Buffer {
  const text = Buffer.from(JSON.stringify(frame));
  const head = Buffer.from([0x81, 0xfe, text.length >> 8, text.length & 0xff, 0, 0, 0, 0]);
  return Buffer.concat([head, text]);
}

const handshake = [
  `GET ${signalPath} HTTP/1.1`,
  'Host: 127.0.0.1',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  `Sec-WebSocket-Protocol: ${subprotocol}`,
  '\r\n',
].join('\r\n');

it('drops a client that reads nothing, and redelivers its frames when it reconnects', async () => {
  const service = await runRouter();
  const ann = await join(service.url, 'ann_1');
  const auth = authOf({ cuid: 'bob_1' });
  const bob = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => undefined);
  onTestFinished(() => void bob.destroy());
  let text = '';
  bob.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  bob.write(handshake);
  bob.write(maskedFrame({ t: 'auth', id: 1, ...auth }));
  await until(() => text.includes('"session"'));
  const callId = await ann.call('bob_1');
  bob.write(maskedFrame({ t: 'answer', id: 2, callId }));
  await until(() => text.includes('Answered'));
  bob.pause();
  const isConnected = async () => {
    const { devices } = await askRest(service, 'GET', '/call/v1/devices');
    return (devices as { state: string }[])[1]?.state === 'connected';
  };
  // How much the kernel keeps for a socket is its own affair.
  const isDropped = async () => {
    for (let n = 0; n < 50; n += 1) {
      await ann.ask('sdp', { callId, payload: 'x'.repeat(60 * 1024) });
    }
    return !(await isConnected());
  };
  await until(isDropped, { message: 'the router drops the socket that does not read' });
  await ann.ask('hangup', {});
  await ann.got('CallIsPlaced', 'Answered', 'Ended');
  const back = await join(service.url, 'bob_1', { lastSeq: 2 });
  await back.got('Ended');
});

const piece = fc.oneof(
  fc.string(),
  fc.json(),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc
    .record(
      {
        t: fc.constantFrom('auth', 'call', 'answer', 'decline', 'hangup', 'ready', 'sdp', 'seen'),
        id: fc.oneof(fc.nat(), fc.anything()),
        callId: fc.anything(),
        to: fc.oneof(fc.constant('bob_1'), fc.anything()),
        context: fc.oneof(fc.constant('x'), fc.anything()),
        seq: fc.anything(),
        payload: fc.anything(),
        caps: fc.anything(),
        cuid: fc.oneof(fc.constant('ann_1'), fc.anything()),
      },
      { requiredKeys: ['t'] },
    )
    .map((frame) =>
      JSON.stringify(frame, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value)),
    ),
);

it('survives random frames, known and unknown', async () => {
  const service = await patientRouter();
  await undisturbed(service, () =>
    fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(piece, { maxLength: 20 }), async (known, frames) => {
        const client = known ? await join(service.url, 'eve_1') : await stranger(service);
        for (const frame of frames) client.socket.send(frame);
        client.socket.close();
        await client.closed;
      }),
      { numRuns: runs(150) },
    ),
  );
});

it('survives random bytes instead of frames or a handshake', async () => {
  const service = await runRouter();
  const { port } = new URL(service.url);
  await undisturbed(service, () =>
    fc.assert(
      fc.asyncProperty(fc.nat(4), fc.uint8Array({ maxLength: 500 }), async (cut, bytes) => {
        const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
        const closed = once(socket, 'close');
        onTestFinished(() => void socket.destroy());
        socket.resume().write(cut === 0 ? handshake.slice(0, bytes.length) : handshake);
        socket.end(bytes);
        await closed;
      }),
      { numRuns: runs(150) },
    ),
  );
});

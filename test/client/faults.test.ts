import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { RequestFailure } from '../../src/client/failure.js';
import {
  accept,
  afterReading,
  answer,
  commit,
  cut,
  drip,
  hang,
  hangUp,
  html,
  redirect,
  reset,
  stall,
  startFaultServer,
  throttle,
  type Framing,
} from '../support/servers/fault-server.js';
import {
  clientOf,
  failureOf,
  never,
  pageText,
  passcode,
  records,
  rig,
} from '../support/loopback-client.js';
import { until } from '../support/until.js';

const success = '{"status":"success","processed":1,"unprocessed":[]}';
const soon = { timeoutMs: 400 };

it.each([
  ['reset before reading', reset()],
  ['reset after reading', afterReading(reset())],
  ['reset after the commit', commit(reset())],
  ['closed without an answer', commit(hangUp())],
])('%s: reports that the service may have processed the request', async (_, step) => {
  const { client } = await rig([step]);
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toMatchObject({ kind: 'connection', sent: true });
});

it('reports a refused connection as not sent', async () => {
  const server = await startFaultServer([accept()]);
  await server[Symbol.asyncDispose]();
  const { client } = await clientOf(server.url);
  const failure = failureOf(await client.write('demerge', records(1), never));
  expect(failure).toMatchObject({ kind: 'connection', sent: false });
  expect(failure.message).toContain('ECONNREFUSED');
  await client.close();
});

// A label of 64 characters fails in the resolver itself: no packet leaves the machine.
it('reports a failed name lookup as not sent', async () => {
  const { client } = await clientOf(`https://${'a'.repeat(64)}.invalid`);
  const failure = failureOf(await client.write('demerge', records(1), never));
  expect(failure).toMatchObject({ kind: 'connection', sent: false });
  await client.close();
});

/** A TCP port that accepts connections and treats them as told. */
async function tcpPort(onConnection: (socket: Socket) => unknown) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  return (server.address() as AddressInfo).port;
}

it.each([
  ['breaks off', (socket: Socket) => void socket.destroy()],
  ['answers nonsense', (socket: Socket) => void socket.end('not TLS at all')],
  ['never ends', () => undefined],
])('reports a TLS handshake that %s as not sent', async (_, onConnection) => {
  const port = await tcpPort(onConnection);
  const { client } = await clientOf(`https://127.0.0.1:${port}`, soon);
  for (const attempt of [
    client.write('demerge', records(1), never),
    client.profile('email', 'a', never),
  ]) {
    expect(failureOf(await attempt)).toMatchObject({ sent: false });
  }
  await client.close();
});

it.each([
  ['hangs before the commit', hang(), 0],
  ['hangs after the commit', commit(hang()), 1],
  ['stalls in the body', stall(success, 10), 0],
  ['drips for too long', drip(success, { bytes: 1, pauseMs: 40 }), 0],
])('applies the timeout to the whole of a write that %s', async (_, step, executed) => {
  const { client, server } = await rig([step], soon);
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toEqual({
    kind: 'timeout',
    sent: true,
    message: 'no complete answer within 0.4 s',
  });
  await expect.poll(() => server.executed.length).toBe(executed);
});

it('lets a read exceed the timeout while bytes arrive', async () => {
  // Each piece is worth seconds at the slowest pace that is accepted, however late it comes.
  const body = `{"status":"success","records":[${' '.repeat(30_000)}]}`;
  const { client } = await rig([drip(body, { bytes: 1500, pauseMs: 80 })], { timeoutMs: 1000 });
  expect(await pageText(client)).toBe(body);
});

it('does not mistake a slow reader of a page for a stalled service', async () => {
  const body = 'x'.repeat(1_000_000);
  const { client } = await rig([answer(200, body)], { timeoutMs: 700 });
  const page = await client.page('events', 'c', never);
  if (!page.ok) throw new Error(page.failure.message);
  let bytes = 0;
  await page.answer.read((chunk) => {
    if (bytes === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1600);
    bytes += chunk.length;
  });
  expect(bytes).toBe(body.length);
});

it('times out a read that receives no byte, before or within its body', async () => {
  const { client } = await rig([hang(), stall('{"status":"success"}', 5)], soon);
  const attempt = await client.page('events', 'c', never);
  expect(failureOf(attempt)).toMatchObject({ kind: 'timeout', sent: true });
  const error: unknown = await pageText(client).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RequestFailure);
  expect((error as RequestFailure).failure).toEqual({
    kind: 'timeout',
    sent: true,
    message: 'no byte received within 0.4 s',
  });
});

const framings: Framing[] = ['length', 'chunked', 'close'];
it.each(framings)('never treats a truncated answer (%s) as a success', async (framing) => {
  const { client } = await rig([cut(success, 20, framing)]);
  for (const attempt of [
    await client.write('upload', records(1), never),
    await client.write('demerge', records(1), never),
    await client.profile('identity', 'a', never),
  ]) {
    expect(failureOf(attempt).kind).toBe(framing === 'close' ? 'unreadable' : 'connection');
    expect(failureOf(attempt).sent).toBe(true);
  }
});

it.each(['length', 'chunked'] as const)(
  'reports a truncated page (%s) as an error',
  async (framing) => {
    const { client } = await rig([cut('{"status":"success","records":[]}', 20, framing)]);
    await expect(pageText(client)).rejects.toThrow(RequestFailure);
  },
);

it.each([
  ['nothing', answer(200, ''), 'an empty body'],
  ['HTML', html(), 'Sign in to this network'],
  ['half JSON', answer(200, '{"status":"succ'), '{"status":"succ'],
  ['an unknown word', answer(200, { status: 'done', processed: 1 }), '"done"'],
  ['a count that is none', answer(200, { status: 'success', processed: '1' }), '"1"'],
  ['an array', answer(200, '[]'), '[]'],
  ['compressed bytes', answer(200, success, { 'Content-Encoding': 'gzip' }), 'gzip'],
  ['a refusal that names no code', answer(200, { status: 'fail', error: 'no' }), '"no"'],
])('rejects HTTP 200 with %s as a response', async (_, step, quoted) => {
  const { client } = await rig([step]);
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toMatchObject({ kind: 'unreadable', sent: true });
  expect(failure.message).toContain(quoted);
});

it('quotes only the first 200 bytes of an invalid response', async () => {
  const { client } = await rig([answer(200, 'y'.repeat(5000))]);
  const { message } = failureOf(await client.write('upload', records(1), never));
  expect(/y+$/.exec(message)?.[0]).toHaveLength(200);
});

it('does not keep an endless answer in memory', async () => {
  const { client } = await rig([
    async ({ read, response }) => {
      await read();
      const block = Buffer.alloc(1 << 20, ' ');
      while (!response.destroyed && response.write(block)) await delay(0);
      response.on('drain', () => void (response.destroyed || response.write(block)));
    },
  ]);
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toMatchObject({
    kind: 'unreadable',
    message: expect.stringContaining('more than'),
  });
});

it.each([
  [
    400,
    { status: 'fail', error: 'Malformed request', code: 400 },
    400,
    'HTTP 400: Malformed request',
  ],
  [
    200,
    { status: 'fail', error: 'Passcode Invalid', code: 401 },
    401,
    'HTTP 200, code 401: Passcode Invalid',
  ],
  [200, { status: 'fail', error: 'x', code: '503' }, 503, 'HTTP 200, code 503: x'],
  [500, { status: 'fail', error: 'slow down', code: 429 }, 429, 'HTTP 500, code 429: slow down'],
  [500, { status: 'fail', error: 'x', code: 13 }, 500, 'HTTP 500, code 13: x'],
  [408, { status: 'fail', error: 'x', code: 3 }, 408, 'HTTP 408, code 3: x'],
  [400, { status: 'fail', error: 'x', code: 13 }, 13, 'HTTP 400, code 13: x'],
  [400, { status: 'fail', error: ['a', 'b'], code: 400 }, 400, 'HTTP 400: ["a","b"]'],
  [403, 'go away', 403, 'HTTP 403: go away'],
  [500, { status: 'success', processed: 1 }, 500, 'HTTP 500: {"status":"success","processed":1}'],
  [413, '', 413, 'HTTP 413: an empty body'],
  [400, { status: 'success', processed: 1 }, 400, 'HTTP 400: {"status":"success","processed":1}'],
  [429, { status: 'partial' }, 429, 'HTTP 429: {"status":"partial"}'],
  [400, { unprocessed: [1] }, 400, 'HTTP 400: {"unprocessed":…'],
  [422, { processed: 1 }, 422, 'HTTP 422: {"processed":1}'],
  [422, { processed: 0 }, 422, 'HTTP 422: {"processed":0}'],
])('treats HTTP %i %j as a refusal with status %i', async (status, body, counted, message) => {
  const { client } = await rig([answer(status, body)]);
  const failure = failureOf(await client.write('upload', records(1), never));
  const saysProcessed = /success|partial|processed":[1…]/.test(message);
  const mayBeProcessed = status >= 500 || status === 408 || saysProcessed || undefined;
  expect(failure).toEqual({
    kind: 'refused',
    sent: true,
    status: counted,
    message,
    mayBeProcessed,
  });
});

it('accepts a fail body with processed as a response', async () => {
  const { client } = await rig([
    answer(200, { status: 'fail', processed: 0, code: 400, unprocessed: [] }),
  ]);
  expect(await client.write('upload', records(1), never)).toMatchObject({ ok: true });
});

const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
it.each([
  ['7', {}, 7000],
  [' 120 ', {}, 120_000],
  ['0', {}, 0],
  ['Wed, 21 Oct 2015 07:28:30 GMT', { Date: date }, 30_000],
  ['Wed, 21 Oct 2015 07:27:00 GMT', { Date: date }, 0],
  ['soon', {}, undefined],
  ['-5', {}, undefined],
  ['1.5', {}, undefined],
  ['', {}, undefined],
])('parses the header Retry-After: %s', async (value, headers, milliseconds) => {
  const { client } = await rig([throttle(value, headers)]);
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toMatchObject({ kind: 'refused', status: 429 });
  expect('retryAfterMs' in failure ? failure.retryAfterMs : undefined).toBe(milliseconds);
});

it('measures a Retry-After date by the local clock if there is no Date header', async () => {
  const step = throttle('Wed, 21 Oct 2015 07:28:05 GMT', { Date: '' });
  const { client } = await rig([step], { now: () => Date.parse(date) });
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(failure).toMatchObject({ retryAfterMs: 5000 });
});

it.each([301, 302, 303, 307, 308])('does not follow HTTP %i, and leaks nothing', async (status) => {
  await using other = await startFaultServer([accept()]);
  const { client, logged } = await rig([redirect(status, `${other.url}/1/upload?steal=1`)]);
  const host = new URL(other.url).host;
  for (const attempt of [
    await client.write('upload', records(1), never),
    await client.page('events', 'c', never),
    await client.profile('identity', 'a', never),
  ]) {
    const failure = failureOf(attempt);
    expect(failure).toMatchObject({ kind: 'refused', status });
    expect(failure.message).toContain(host);
    expect(failure.message).not.toContain('steal');
  }
  expect(other.received).toEqual([]);
  expect(logged.join('\n')).not.toContain(passcode);
});

it('removes the passcode from every text that the service echoes', async () => {
  const echo = `your passcode ${passcode} is wrong`;
  const entry = { status: 'fail', code: 512, error: echo, record: { x: echo } };
  const { client, logged } = await rig([
    answer(401, { status: 'fail', error: echo, code: 401 }),
    answer(500, echo),
    answer(200, `${'z'.repeat(190)}${passcode}`),
    redirect(302, `http://${passcode}.example.test/`),
    answer(200, { status: 'partial', processed: 0, unprocessed: [entry] }),
  ]);
  const outcomes = [];
  for (let i = 0; i < 5; i += 1) outcomes.push(await client.write('upload', records(1), never));
  // Of single records, where the words are judged first.
  expect(outcomes.at(-1)).toMatchObject({ ok: true, answer: { unprocessed: [entry] } });
  const failures = outcomes.slice(0, -1).map(failureOf);
  const text = JSON.stringify(failures) + logged.join('\n');
  expect(text).not.toMatch(/seeded/i);
  expect(text).toContain('your passcode [passcode] is wrong');
});

it('throws the reason of an abort at any stage', async () => {
  const reason = new Error('stopped by the user');
  const aborted = AbortSignal.abort(reason);
  const { client, server } = await rig([hang(), hang(), stall('{"status":"success"}', 3)]);
  await expect(client.write('upload', records(1), aborted)).rejects.toBe(reason);
  expect(server.received).toHaveLength(0);
  for (const start of [
    (signal: AbortSignal) => client.write('upload', records(1), signal),
    (signal: AbortSignal) => client.page('events', 'c', signal),
    (signal: AbortSignal) => client.profile('identity', 'a', signal),
  ]) {
    const stop = new AbortController();
    const expected = server.received.length + 1;
    const attempt = start(stop.signal);
    attempt.catch(() => undefined);
    await until(() => server.received.length >= expected);
    stop.abort(reason);
    await expect(attempt).rejects.toBe(reason);
  }
});

it('does not wait for a connection attempt after an abort', async () => {
  let isConnected = false;
  const port = await tcpPort(() => (isConnected = true));
  const { client } = await clientOf(`https://127.0.0.1:${port}`);
  const stop = new AbortController();
  const attempt = client.write('upload', records(1), stop.signal);
  await until(() => isConnected);
  const reason = new Error('stopped');
  stop.abort(reason);
  await expect(attempt).rejects.toBe(reason);
  await client.close();
});

it('logs one line per request, without its query', async () => {
  const { client, logged } = await rig([answer(200, '{"status":"success"}'), reset()]);
  await client.profile('email', 'someone@example.test', never);
  await client.profile('email', 'someone@example.test', never);
  expect(logged).toHaveLength(2);
  expect(logged[0]).toMatch(/^GET 127\.0\.0\.1:\d+\/1\/profile\.json: 200, 20 bytes, \d+ ms$/);
  expect(logged[1]).toMatch(/^GET 127\.0\.0\.1:\d+\/1\/profile\.json: .+, \d+ ms$/);
  expect(logged.join()).not.toContain('someone');
});

it.each([
  ['backslashes', '\\\\'],
  ['percent signs', '%25'],
  ['ampersands', '&amp;'],
  ['the first letter', 's'],
  ['spaces', ' '],
  ['line ends', '\n '],
])('shows a million %s without noticeable CPU time', async (_, piece) => {
  const { client } = await rig([answer(200, piece.repeat(1_000_000))]);
  const before = process.cpuUsage();
  const failure = failureOf(await client.write('upload', records(1), never));
  expect(process.cpuUsage(before).user).toBeLessThan(5_000_000);
  expect(failure.message.length).toBeLessThan(300);
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createCallingClient } from '../../src/client/http-client.js';
import { accept, after, answer, startFaultServer } from '../support/servers/fault-server.js';
import {
  clientOf,
  failureOf,
  never,
  pageText,
  passcode,
  records,
  rig,
} from '../support/loopback-client.js';

it('sends path, headers and body as specified', async () => {
  const { client, server } = await rig([accept()]);
  const body = records(3);
  expect(await client.write('upload', body, never)).toEqual({
    ok: true,
    answer: { status: 'success', processed: 3, unprocessed: [] },
  });
  await client.write('subscribe', body, never, { dryRun: false });
  await client.write('subscribe', body, never, { dryRun: true });
  expect(await client.write('demerge', Buffer.from('{"identities":["a"]}'), never)).toEqual({
    ok: true,
    answer: { status: 'success' },
  });
  expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /1/upload',
    'POST /1/subscribe',
    'POST /1/subscribe?dryRun=1',
    'POST /1/demerge/profiles.json',
  ]);
  expect(server.received[0]?.body).toEqual(body);
  expect(server.received[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-service-account-id': 'ACC-1',
    'x-service-passcode': passcode,
    'content-length': String(body.length),
  });
});

it('uses another header prefix and a path in the base URL', async () => {
  await using server = await startFaultServer([accept()]);
  const { client } = await clientOf(`${server.url}/region/`, { headerPrefix: 'X-Other' });
  await client.write('upload', records(1), never);
  await client.close();
  expect(server.received[0]?.url).toBe('/region/1/upload');
  expect(server.received[0]?.headers['x-other-passcode']).toBe(passcode);
});

it('opens a cursor with only the given parameters', async () => {
  const { client, server } = await rig([answer(200, { status: 'success', cursor: 'AA%2Fb%3D' })]);
  const query = {
    eventName: 'Charged "x"',
    from: 20240101,
    to: 20240131,
    batchSize: 4991,
  } as const;
  const flags = { app: true, events: false, profile: false } as const;
  expect(await client.openCursor({ kind: 'events', ...query }, never)).toEqual({
    ok: true,
    answer: 'AA%2Fb%3D',
  });
  await client.openCursor({ kind: 'profiles', ...query, ...flags }, never);
  expect(server.received.map(({ url }) => url)).toEqual([
    '/1/events.json?batch_size=4991',
    '/1/profiles.json?batch_size=4991&app=true&events=false&profile=false',
  ]);
  expect(server.received[0]?.body.toString()).toBe(
    '{"event_name":"Charged \\"x\\"","from":20240101,"to":20240131}',
  );
});

it('puts a cursor into the URL exactly as received', async () => {
  const cursor = `A%2Fb%3D%3D+c=/~.-_%25${'z'.repeat(2400)}`;
  const { client, server } = await rig([answer(200, '{"status" : "success"}')]);
  expect(await pageText(client, cursor)).toBe('{"status" : "success"}');
  expect(server.received[0]?.url).toBe(`/1/events.json?cursor=${cursor}`);
});

it.each(['a b', 'a&b', 'a#b', 'a\r\nb', ''])('refuses to send cursor %j', async (cursor) => {
  const { client, server } = await rig([answer(200)]);
  await expect(client.page('events', cursor, never)).rejects.toMatchObject({ id: 'E-CURSOR' });
  expect(server.received).toEqual([]);
});

it('treats a cursor of unknown characters as an invalid response', async () => {
  const { client } = await rig([answer(200, { status: 'success', cursor: 'a b' })]);
  const query = { kind: 'events', eventName: 'x', from: 20240101, to: 20240101 } as const;
  const attempt = await client.openCursor({ ...query, batchSize: 23 }, never);
  expect(failureOf(attempt)).toMatchObject({ kind: 'unreadable' });
});

const cursorFrom = async (cursor: string, options: { passcode?: string } = {}) => {
  const { client } = await rig([answer(200, { status: 'success', cursor })], options);
  const query = { kind: 'events', eventName: 'x', from: 20240101, to: 20240101 } as const;
  return client.openCursor({ ...query, batchSize: 23 }, never);
};

it('accepts a cursor that contains a short passcode by chance', async () => {
  const attempt = await cursorFrom('aB-17z', { passcode: 'B-17' });
  expect(attempt).toEqual({ ok: true, answer: 'aB-17z' });
});

it.each([
  passcode,
  Buffer.from(passcode).toString('base64'),
  Buffer.from(passcode).toString('hex'),
])('refuses a cursor that contains the passcode: %s', async (secret) => {
  await expect(cursorFrom(`a${secret}z`)).rejects.toMatchObject({ id: 'E-CURSOR' });
});

it('passes a page on in chunks, with its length if known', async () => {
  const body = `{"status":"success","records":[${'{"a":1.00},'.repeat(50_000)}{}]}`;
  const { client } = await rig([answer(200, body)]);
  const page = await client.page('profiles', 'c', never);
  if (!page.ok) throw new Error(page.failure.message);
  const chunks: Buffer[] = [];
  await page.answer.read((chunk) => void chunks.push(chunk));
  expect(page.answer.length).toBe(body.length);
  expect(chunks.length).toBeGreaterThan(1);
  expect(Buffer.concat(chunks).toString()).toBe(body);
});

it('reads every answer into its own memory, small ones one after the other', async () => {
  const sizes = [1, 70_000, 3, 2_000_000, 262_144, 5, 524_288, 40, 1_300_000, 2];
  const bodies = sizes.map((size, at) => Buffer.alloc(size, `${at}.${size};`));
  const [first, ...others] = bodies.map((body) => answer(200, body.toString()));
  const { client } = await rig([first!, ...others]);
  const pages: Buffer[][] = [];
  for (const _ of bodies) {
    const page = await client.page('profiles', 'c', never);
    if (!page.ok) throw new Error(page.failure.message);
    const pieces: Buffer[] = [];
    await page.answer.read((piece) => void pieces.push(piece));
    pages.push(pieces);
  }
  for (const [at, pieces] of pages.entries()) {
    expect(Buffer.concat(pieces).equals(bodies[at]!)).toBe(true);
  }
});

it('can stop reading in the middle of a page', async () => {
  const { client } = await rig([answer(200, 'x'.repeat(4_000_000)), accept()]);
  const page = await client.page('profiles', 'c', never);
  if (!page.ok) throw new Error(page.failure.message);
  const enough = new Error('enough');
  let pieces = 0;
  const reading = page.answer.read(() => {
    pieces += 1;
    throw enough;
  });
  await expect(reading).rejects.toBe(enough);
  expect(pieces).toBe(1);
  expect(await client.write('upload', records(1), never)).toMatchObject({ ok: true });
});

const recordTexts = [
  '{"identity":"a","n":12345678901234567890,"f":1.00,"e":1e400,"s":"\\u00e9\\/"}',
  '{ "a" : [ 1 , { "record" : "}" } ] , "q" : "\\"]}" }',
  '{}',
];
it.each(recordTexts)('passes on the record %s byte for byte', async (text) => {
  for (const body of [
    `{"status":"success","record":${text}}`,
    `{\n "record" : ${text} ,\n "other":{"record":1},"status" : "success" }`,
    `{"rec\\u006frd":${text},"status":"success"}`,
  ]) {
    const { client, server } = await rig([answer(200, body)]);
    const found = await client.profile('identity', 'a+b&c=é/ü', never);
    if (!found.ok) throw new Error(found.failure.message);
    expect(found.answer?.toString()).toBe(text);
    expect(server.received[0]?.url).toBe('/1/profile.json?identity=a%2Bb%26c%3D%C3%A9%2F%C3%BC');
  }
});

it.each([
  [200, { status: 'success' }],
  [200, { status: 'success', record: null }],
  [200, { status: 'success', error: 'User not found', code: 404 }],
  [200, { status: 'success', code: 200 }],
  [200, { status: 'fail', error: 'User not found' }],
  [200, { status: 'fail', error: 'User not found', code: 404 }],
  [404, { status: 'fail', error: 'User not found', code: 404 }],
  [400, { status: 'fail', error: 'No such user', code: 400 }],
  [200, { status: 'fail', error: 'no user', code: 'NOT_FOUND' }],
])('reports no matching user for HTTP %i %j', async (status, body) => {
  const { client } = await rig([answer(status, body)]);
  expect(await client.profile('email', 'a@example.test', never)).toEqual({
    ok: true,
    answer: undefined,
  });
});

it.each([
  [200, { status: 'fail', error: 'x', code: 401 }, 401],
  [200, { status: 'fail', error: 'x', code: 429 }, 429],
  [200, { status: 'success', error: 'x', code: 429 }, 429],
  [200, { status: 'success', record: null, code: '503' }, 503],
  [500, { status: 'fail', error: 'An unknown error occurred' }, 500],
  [400, { status: 'fail', error: 'Malformed request', code: 400 }, 400],
  [404, '<html>not here</html>', 404],
])('reports an error for HTTP %i %j, not an unknown user', async (status, body, kind) => {
  const { client } = await rig([answer(status, body)]);
  const failure = failureOf(await client.profile('objectId', 'o1', never));
  expect(failure).toMatchObject({ kind: 'refused', status: kind });
});

it.each(['[]', '{}', '{"status":"success","record":[1]}', '{"status":"success","record":"x"}'])(
  'rejects %s as a response of endpoint 5',
  async (body) => {
    const { client } = await rig([answer(200, body)]);
    const failure = failureOf(await client.profile('identity', 'a', never));
    expect(failure).toMatchObject({ kind: 'unreadable' });
  },
);

it.each([
  ['passcode', { passcode: 'line\nend-secret' }],
  ['passcode', { passcode: 'пароль' }],
  ['passcode', { passcode: '' }],
  ['account id', { accountId: 'a\r\nX-Evil: 1' }],
  ['header prefix', { headerPrefix: 'X Service' }],
])('refuses a %s that cannot be a header, without quoting it', async (what, options) => {
  const create = clientOf('http://127.0.0.1:1', options);
  const error: unknown = await create.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ id: 'E-CONFIG' });
  expect(String(error)).toContain(what);
  expect(String(error)).not.toMatch(/end-secret|пароль|Evil/);
});

it('opens a connection for each request in flight', async () => {
  const { client, server } = await rig([after(30, accept())], { maxInFlight: 3 });
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([1, 2, 3].map((count) => client.write('upload', records(count), never)));
  }
  expect(server.mostInFlight).toBe(3);
  expect(server.executed).toHaveLength(9);
});

it.each([
  ['is text', '{"records":[{}],"next":"5"}'],
  ['follows no records', '{"records":[],"next":5}'],
  ['is not larger', '{"records":[{}],"next":0}'],
  ['follows what is no call', '{"records":[{},null],"next":5}'],
  ['follows a list', '{"records":[[]],"next":5}'],
  ['follows a time that is none', '{"records":[{"endedAt":1e300}],"next":5}'],
  ['follows a time that is text', '{"records":[{"endedAt":"x"}],"next":5}'],
  ['follows buttons that are none', '{"records":[{"actions":"a"}],"next":5}'],
])('takes no list of calls whose next %s', async (_, text) => {
  const server = createServer((_request, response) => response.end(text)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = await createCallingClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accountId: 'A',
    passcode: 'k',
    headerPrefix: 'X-Service',
    timeoutMs: 5000,
    maxInFlight: 1,
    env: {},
    now: () => 0,
    monotonic: () => 0,
    onRequest: () => undefined,
  });
  onTestFinished(() => client.close());
  const listed = await client.list({ since: 0, after: 0 }, new AbortController().signal);
  expect(listed).toMatchObject({ ok: false, failure: { kind: 'unreadable' } });
});

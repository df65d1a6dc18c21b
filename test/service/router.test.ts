import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen, type Upgrade } from '../../src/service/http-server.js';
import { router, type Route } from '../../src/service/router.js';
import { sendResponse, success } from '../../src/service/response.js';
import type { ServiceContext } from '../../src/service/service.js';
import { Clock } from '../../src/service/clock.js';
import { RequestLog } from '../../src/service/control/request-log.js';
import { Settings } from '../../src/service/settings.js';
import { serviceDefaults } from '../support/service-defaults.js';
import { until } from '../support/until.js';
import { startService } from '../../src/service/start.js';
import { startService as startTestService } from '../../src/testing.js';
import { defaults, headers, profileRecord, run, Running } from './running.js';

const options = { ...serviceDefaults, accountId: 'A', passcode: 'p' };
/** As much of a service as the table below uses. */
const service = {
  options,
  settings: new Settings(options),
  requests: new RequestLog({
    passcode: options.passcode,
    now: options.now,
    clock: new Clock(options.now),
    mostText: undefined,
    onRequest: undefined,
  }),
} as unknown as ServiceContext;

const named = (name: string, method: 'GET' | 'PUT', path: string): Route => ({
  method,
  path,
  answer: ({ response, path: asked }) =>
    sendResponse(response, success({ name: `"${name}"`, asked: `"${asked}"` }), service),
});

/** Switches to a protocol that repeats what it is sent, until the other side ends. */
const echo: Upgrade = async (socket, head) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\n');
  socket.write(head);
  socket.on('data', (chunk) => socket.write(chunk)).once('end', () => socket.end('bye'));
  await once(socket, 'close');
};

const routes = [
  named('exact', 'GET', '/files/one'),
  named('below', 'GET', '/files/*'),
  named('put', 'PUT', '/files/*'),
  named('plain', 'GET', '/echo'),
];

async function start() {
  const listening = await listen(
    { port: 0, host: '127.0.0.1', tls: undefined },
    {
      answer: router(routes, service),
      upgradeOf: (request) => (request.headers.upgrade === 'echo' ? echo : undefined),
    },
  );
  onTestFinished(() => listening.close());
  return listening;
}

/** A connection on which `head` was sent; `text` grows with what comes back. */
async function send(port: number, head: readonly string[]) {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const connection = { socket, text: '' };
  socket.setEncoding('latin1').on('data', (text: string) => (connection.text += text));
  socket.write([...head, '', ''].join('\r\n'));
  return connection;
}

const asking = (protocol: string, path = '/echo', host = '127.0.0.1') => [
  `GET ${path} HTTP/1.1`,
  `Host: ${host}`,
  'Connection: Upgrade',
  `Upgrade: ${protocol}`,
];

it.each([
  ['GET', '/files/one', 200, '"name":"exact"'],
  ['GET', '/files/two/three', 200, '"name":"below","asked":"/files/two/three"'],
  ['PUT', '/files/one', 200, '"name":"put"'],
  ['DELETE', '/files/one', 405, '"code":405'],
  ['GET', '/file', 404, '"code":404'],
])('answers %s %s with %i', async (method, path, status, text) => {
  const { port } = await start();
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  expect(answer.status).toBe(status);
  expect(await answer.text()).toContain(text);
});

it('passes a connection on to another protocol', async () => {
  const { port } = await start();
  const connection = await send(port, asking('echo'));
  await until(() => connection.text.includes('101 Switching'));
  connection.socket.end('hello');
  await until(() => connection.socket.closed);
  expect(connection.text).toMatch(/hellobye$/);
});

it('answers a request normally if the offered protocol is not supported', async () => {
  const { port } = await start();
  for (const [path, name] of [
    ['/echo', 'plain'],
    ['/files/one', 'exact'],
  ] as const) {
    const connection = await send(port, asking('h2c', path));
    await until(() => connection.text.includes(`"name":"${name}"`));
    connection.socket.write(`GET /files/two HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until(() => connection.text.includes('"name":"below"'));
  }
});

it('reads the body of a request that offers h2c, as some clients do', async () => {
  const { url } = await run();
  const body = '{"d":[]}';
  const head = [
    'POST /1/upload HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade, HTTP2-Settings',
  ];
  const { 'Content-Type': type, ...credentials } = headers;
  const lines = Object.entries({ ...credentials, 'content-type': type, Upgrade: 'h2c' });
  const connection = await send(Number(new URL(url).port), [
    ...head,
    ...lines.map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.length}`,
  ]);
  connection.socket.write(body.slice(0, 3));
  await fetch(url); // whose answer says that the server has read these three bytes, too
  connection.socket.write(body.slice(3));
  await until(() => connection.text.includes('"processed":0'));
});

it('waits a second for another protocol to end, then closes the connection', async () => {
  const listening = await start();
  const [kind, stubborn] = [
    await send(listening.port, asking('echo')),
    await send(listening.port, asking('echo')),
  ];
  await until(() => [kind, stubborn].every(({ text }) => text.includes('101')));
  const started = performance.now();
  const closed = listening.close();
  kind.socket.end('last words');
  await until(() => kind.text.endsWith('last wordsbye'));
  await closed;
  expect(performance.now() - started).toBeGreaterThan(900);
  await until(() => stubborn.socket.closed);
});

describe('the service', () => {
  const { 'Content-Type': _, ...credentials } = headers;
  const account = {
    accountId: headers['X-Service-Account-Id'],
    passcode: headers['X-Service-Passcode'],
  };
  const authorized = Object.entries(credentials).map(([name, value]) => `${name}: ${value}`);

  /** Sends lines on a new connection and returns all that comes back until its end. */
  async function answerTo(port: number, lines: readonly string[], ca?: string): Promise<string> {
    const socket =
      ca === undefined ? connect(port, '127.0.0.1') : connectTls({ port, host: '127.0.0.1', ca });
    onTestFinished(() => void socket.destroy());
    socket.write([...lines, ...authorized, '', ''].join('\r\n'));
    return textOf(socket);
  }
  const portOf = ({ url }: { url: string }) => Number(new URL(url).port);

  it.each([
    ['PATCH', '/1/upload', 'POST'],
    ['DELETE', '/1/events.json', 'POST, GET'],
    ['POST', '/_local/settings', 'GET, PUT'],
  ])('names the allowed methods when it refuses %s %s', async (method, path, allowed) => {
    const service = await run();
    const answer = await fetch(service.url + path, { method, headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')?.split(', ').toSorted()).toEqual(
      allowed.split(', ').toSorted(),
    );
  });

  it('accepts absolute-form targets, whose host counts instead of the header', async () => {
    const service = await run();
    await service.upload(profileRecord('ann'));
    const get = async (host: string) =>
      answerTo(portOf(service), [
        `GET http://${host}/1/profile.json?identity=ann HTTP/1.1`,
        'Host: 127.0.0.1',
        'Connection: close',
      ]);
    expect(await get(`127.0.0.1:${portOf(service)}`)).toMatch(/^HTTP\/1\.1 200 [^]*"ann"/);
    expect(await get('attacker.test')).toMatch(/^HTTP\/1\.1 403 [^]*not called attacker\.test/);
  });

  it('decodes percent-encoded unreserved characters of a path, and no others', async () => {
    const service = await run();
    const { url } = service;
    expect((await fetch(`${url}/%31/profile%2Ejson?identity=a`, { headers })).status).toBe(200);
    expect((await fetch(`${url}/1%2Fprofile.json?identity=a`, { headers })).status).toBe(404);
    expect((await fetch(`${url}/%zz`, { headers })).status).toBe(404);
  });

  it.each([
    ['plain HTTP', false],
    ['TLS', true],
  ])('answers HTTP/1.0 without a Host header over %s', async (_name, tls) => {
    const service = await startTestService({ tls, ...account });
    onTestFinished(() => service.close());
    const ca = tls ? readFileSync(service.caFile!, 'utf8') : undefined;
    const lines = ['GET /1/profile.json?identity=a HTTP/1.0'];
    expect(await answerTo(portOf(service), lines, ca)).toMatch(/^HTTP\/1\.1 200 [^]*"success"/);
  });

  it.each([
    '/1/profile.json?identity=a&identity=b',
    '/1/profile.json?identity=a&identity=a',
    '/1/events.json?cursor=a&cursor=b',
    '/1/upload?dryRun=1&dryRun=0',
  ])('rejects the repeated parameter of %s', async (path) => {
    const service = await run();
    const body = path.startsWith('/1/upload') ? { d: [] } : undefined;
    const answer = await service.call(body ? 'POST' : 'GET', path, body);
    expect(answer).toMatchObject({ http: 400, error: 'Malformed request' });
    const { text } = await service.call('GET', '/_local/requests');
    expect(text).toMatch(/the parameter \\"\w+\\" is repeated/);
  });

  it('tells a client of plain HTTP that the port serves TLS, and then serves TLS', async () => {
    const service = await startTestService({ tls: true, ...account });
    onTestFinished(() => service.close());
    const lines = ['GET /_local/health HTTP/1.1', 'Host: localhost', 'Connection: close'];
    expect(await answerTo(portOf(service), lines)).toMatch(
      /^HTTP\/1\.1 400 [^]*serves TLS: the URL must start with https:/,
    );
    const ca = readFileSync(service.caFile!, 'utf8');
    expect(await answerTo(portOf(service), lines, ca)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('closes a connection to a TLS port that never sent anything', async () => {
    const service = await startTestService({ tls: true, ...account });
    const socket = connect(portOf(service), '127.0.0.1');
    await once(socket, 'connect');
    // The answer on a second connection says that the first one was accepted.
    await answerTo(portOf(service), ['GET / HTTP/1.1']);
    await service.close();
    expect(await textOf(socket)).toBe('');
  });

  it.each([
    ['new connections', 'close'],
    ['connections that are used again', 'keep'],
  ] as const)('counts twelve parallel look-ups always the same on %s', async (_, connection) => {
    const service = await run({ variants: { connection } });
    for (let round = 0; round < 4; round++) {
      const all = Array.from({ length: 12 }, (__, n) =>
        // A client on a busy machine is interrupted between its requests.
        delay(n < 3 ? n * 4 : 20 + (n % 4) * 15).then(() =>
          service.call('GET', '/1/profile.json?identity=a'),
        ),
      );
      const statuses = (await Promise.all(all)).map(({ http }) => http);
      expect(statuses.filter((status) => status === 429)).toHaveLength(9);
    }
  });

  it('names a full disk, stores nothing of the request, and continues when there is room', async () => {
    const warnings: unknown[] = [];
    const started = await startService({
      ...defaults,
      onDefect: (error) => warnings.push(error),
    });
    const service = new Running(started);
    onTestFinished(() => service.close());
    const { store } = started.service;
    const resize = (pages: number) => store.get(`PRAGMA max_page_count = ${pages}`, []);
    resize(1); // SQLite takes the present size as the smallest
    const users = Array.from({ length: 1000 }, (__, n) =>
      profileRecord(`u${n}`, { x: 'y'.repeat(400) }),
    );
    expect(await service.upload(...users)).toMatchObject({
      http: 507,
      error: 'The disk of the local service is full',
    });
    expect(String(warnings)).toContain('full');
    resize(1_000_000);
    expect(await service.profile('identity', 'u0')).toBeUndefined();
    expect(await service.upload(...users)).toMatchObject({ http: 200, processed: 1000 });
  });
});

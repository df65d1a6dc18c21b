import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { listen, type Upgrade } from '../../src/service/http-server.js';
import { router, type Route } from '../../src/service/router.js';
import { sendResponse, success } from '../../src/service/response.js';
import type { ServiceContext } from '../../src/service/service.js';
import { Clock } from '../../src/service/clock.js';
import { RequestLog } from '../../src/service/control/request-log.js';
import { Settings } from '../../src/service/settings.js';
import { serviceDefaults } from '../support/service-defaults.js';
import { until } from '../support/until.js';
import { headers, run } from './running.js';

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

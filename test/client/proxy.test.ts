import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { accept, startFaultServer } from '../support/servers/fault-server.js';
import { clientOf, failureOf, never, passcode, records, rig } from '../support/loopback-client.js';

/** A proxy that notes what it is asked and refuses it. */
async function startProxy(answer = 'HTTP/1.1 502 Bad Gateway\r\n\r\n') {
  const asked: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      asked.push(data.toString());
      if (answer !== '') socket.end(answer);
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  return { asked, url: `http://user:proxy-secret@127.0.0.1:${port}` };
}

const target = 'https://region.example.test';

it.each(['HTTPS_PROXY', 'https_proxy'])('connects to %s through a tunnel', async (name) => {
  const proxy = await startProxy();
  const { client, logged } = await clientOf(target, { env: { [name]: proxy.url } });
  const failure = failureOf(await client.write('demerge', records(1), never));
  await client.close();
  expect(failure).toMatchObject({ kind: 'connection', sent: false });
  expect(proxy.asked[0]).toMatch(/^CONNECT region\.example\.test:443 /);
  expect(proxy.asked[0]).toMatch(/proxy-authorization: Basic /i);
  expect(proxy.asked.join()).not.toContain(passcode);
  expect(failure.message + logged.join()).not.toContain('proxy-secret');
});

it('times out a proxy that stalls, and reports the request as not sent', async () => {
  const proxy = await startProxy('');
  const { client } = await clientOf(target, { env: { HTTPS_PROXY: proxy.url }, timeoutMs: 400 });
  for (const attempt of [
    client.write('demerge', records(1), never),
    client.profile('email', 'a', never),
  ]) {
    expect(failureOf(await attempt)).toMatchObject({ kind: 'timeout', sent: false });
  }
  await client.close();
});

// This machine under an address that does not count as loopback; nothing listens there.
const here = 'https://0.0.0.0:9';
it.each(['0.0.0.0', '0.0.0.0:9', 'other.test, 0.0.0.0', '*'])(
  'bypasses the proxy for NO_PROXY=%s',
  async (list) => {
    const proxy = await startProxy();
    const { client } = await clientOf(here, { env: { HTTPS_PROXY: proxy.url, NO_PROXY: list } });
    const failure = failureOf(await client.write('demerge', records(1), never));
    await client.close();
    expect(failure).toMatchObject({ kind: 'connection', sent: false });
    expect(failure.message).toContain('ECONNREFUSED');
    expect(proxy.asked).toEqual([]);
  },
);

it('uses the proxy if NO_PROXY names another host', async () => {
  const proxy = await startProxy();
  const { client } = await clientOf(here, {
    env: { HTTPS_PROXY: proxy.url, NO_PROXY: '0.0.0.0:8' },
  });
  await client.write('demerge', records(1), never);
  await client.close();
  expect(proxy.asked).toHaveLength(1);
});

it('never proxies loopback', async () => {
  const proxy = await startProxy();
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, http_proxy: proxy.url };
  const { client } = await rig([accept()], { env });
  expect(await client.write('upload', records(1), never)).toMatchObject({ ok: true });
  await using server = await startFaultServer([accept()]);
  const named = await clientOf(server.url.replace('127.0.0.1', 'localhost'), { env });
  await named.client.write('upload', records(1), never);
  await named.client.close();
  expect(proxy.asked).toEqual([]);
});

it.each([
  'proxy-secret:3128',
  'socks5://u:proxy-secret@127.0.0.1',
  'http://',
  'http://u:p@x/proxy-secret@127.0.0.1:1',
  'http://u:proxy-secret%zz@127.0.0.1:1',
  'http://127.0.0.1:1/?token=proxy-secret',
  'http://127.0.0.1:1#proxy-secret',
])('refuses the proxy %s without quoting it', async (url) => {
  const create = clientOf(target, { env: { HTTPS_PROXY: url } });
  const error: unknown = await create.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ id: 'E-CONFIG' });
  expect(String(error)).toContain('HTTPS_PROXY');
  expect(String(error)).not.toContain('proxy-secret');
});

it('refuses to send the passcode to an unverified certificate, on loopback too', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  for (const url of [target, 'https://127.0.0.1:1', 'https://localhost:1', 'https://[::1]:1'])
    await expect(clientOf(url, { env })).rejects.toMatchObject({ id: 'E-CONFIG' });
  const { client } = await clientOf('http://127.0.0.1:1', { env });
  await client.close();
});

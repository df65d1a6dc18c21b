import { createServer as createProxy } from 'node:http';
import { createServer } from 'node:https';
import { connect, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { certificate, hasOpenssl } from '../support/certificate.js';
import { accountAt } from '../support/account-environment.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld } from '../support/test-environment.js';

// Node reads NODE_EXTRA_CA_CERTS at its start: these tests run the built command.
const passcode = 'seeded-pass-7Q';

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** A service behind TLS, and a proxy that tunnels to it and notes what passes in the clear. */
async function behindProxy(
  tls: { readonly key: Buffer; readonly cert: Buffer },
  answer = '{"status":"success","record":{"identity":"a"}}',
) {
  const passcodes: unknown[] = [];
  const service = createServer(tls, (request, response) => {
    passcodes.push(request.headers['x-service-passcode']);
    response.setHeader('Connection', 'close');
    response.end(answer);
  });
  const port = await listening(service);
  const seen: string[] = [];
  const proxy = createProxy().on('connect', (request, socket) => {
    seen.push(`${request.url ?? ''} ${JSON.stringify(request.headers)}`);
    const upstream = connect(port, '127.0.0.1');
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.on('data', (data: Buffer) => seen.push(data.toString('latin1')));
    socket.on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  return { passcodes, seen, url: `http://user:proxy-secret@127.0.0.1:${await listening(proxy)}` };
}

const getProfile = (env: Readonly<Record<string, string>>) => run(['get-profile', 'a'], env);

async function run(argv: readonly string[], env: Readonly<Record<string, string>>, stdin = '') {
  const account = accountAt('https://region.test', passcode, 'ACC-1');
  const words = [...argv, '--max-attempts', '1'];
  return new BinProcess(makeWorld(), words, { ...account, ...env }, { stdin }).outcome();
}

it.skipIf(!hasOpenssl())('works through a proxy with its own certificate authority', async () => {
  const tls = certificate('region.test');
  const { passcodes, seen, url } = await behindProxy(tls);
  const env = { HTTPS_PROXY: url, NODE_EXTRA_CA_CERTS: tls.file };
  expect(await getProfile(env)).toEqual({ code: 0, stdout: '{"identity":"a"}\n', stderr: '' });
  expect(passcodes).toEqual([passcode]);
  expect(seen[0]).toContain('region.test:443');
  expect(seen.join()).not.toContain(passcode);
});

it.skipIf(!hasOpenssl())('reads a response of many TLS records', async () => {
  const tls = certificate('localhost');
  const record = JSON.stringify({ identity: 'a', note: 'änd so on, '.repeat(200_000) });
  const service = createServer(tls, (_, response) => {
    response.end(`{"status":"success","record":${record}}`);
  });
  const env = {
    ENGAGECTL_BASE_URL: `https://localhost:${await listening(service)}`,
    NODE_EXTRA_CA_CERTS: tls.file,
  };
  const { code, stdout, stderr } = await getProfile(env);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout === `${record}\n`).toBe(true);
});

it.skipIf(!hasOpenssl())('sends nothing to a server with an untrusted certificate', async () => {
  const { passcodes, url } = await behindProxy(certificate('region.test'));
  const { code, stdout, stderr } = await getProfile({ HTTPS_PROXY: url });
  expect([code, stdout]).toEqual([5, '']);
  expect(stderr).toMatch(/self-signed certificate/);
  expect(stderr).not.toMatch(/proxy-secret|seeded/);
  expect(passcodes).toEqual([]);
});

const demergeThree = ['demerge', '--yes', '--chunk-size', '1', '--quiet', '--json', '-'];
const three = 'identity\na\nb\nc\n';

it.skipIf(!hasOpenssl())('opens a tunnel for each request that must not be repeated', async () => {
  const tls = certificate('region.test');
  const { seen, url } = await behindProxy(tls, '{"status":"success"}');
  const env = { HTTPS_PROXY: url, NODE_EXTRA_CA_CERTS: tls.file };
  const { code, stdout } = await run(demergeThree, env, three);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 3 });
  expect(code).toBe(0);
  expect(seen.filter((text) => text.startsWith('region.test:443'))).toHaveLength(3);
});

it.skipIf(!hasOpenssl())('skips a 100 Continue over TLS', async () => {
  const tls = certificate('localhost');
  const server = createTlsServer(tls, (socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => {
      const body = '{"status":"success"}';
      socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
  });
  const port = await listening(server);
  const env = { ENGAGECTL_BASE_URL: `https://localhost:${port}`, NODE_EXTRA_CA_CERTS: tls.file };
  const { code, stdout } = await run(demergeThree, env, three);
  expect(JSON.parse(stdout)).toMatchObject({ accepted: 3 });
  expect(code).toBe(0);
});

it.skipIf(!hasOpenssl())('sends nothing to an unverified certificate on loopback', async () => {
  let requests = 0;
  const service = createServer(certificate('localhost'), (_, response) => {
    requests += 1;
    response.end('{"status":"success","record":{"identity":"a"}}');
  });
  const { code, stderr } = await getProfile({
    ENGAGECTL_BASE_URL: `https://localhost:${await listening(service)}`,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  });
  expect(code).toBe(2);
  expect(stderr).toContain('NODE_TLS_REJECT_UNAUTHORIZED=0 is set');
  expect(requests).toBe(0);
});

it('reports that a server does not speak TLS', async () => {
  const port = await listening(createProxy((_, response) => response.end()));
  const { code, stderr } = await run(['get-profile', 'a'], {
    ENGAGECTL_BASE_URL: `https://127.0.0.1:${port}`,
  });
  expect(code).toBe(5);
  expect(stderr).toContain(
    'the server does not speak TLS: the address may need http:// or another port',
  );
  expect(stderr).not.toMatch(/SSL routines|openssl/);
});

import { spawnSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { get } from 'node:https';
import { networkInterfaces } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { request } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../../src/main.js';
import { defaultVariants } from '../../../src/service/settings.js';
import { makeCertificate } from '../../../src/service/test-certificate.js';
import { BinProcess, binPath } from '../../support/processes/bin-process.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

const health = fileURLToPath(new URL('../../../bin/health.mjs', import.meta.url));
const hasStrace = spawnSync('strace', ['-V']).status === 0;
let world: World;
beforeEach(() => {
  world = makeWorld();
});

/** Starts the real program; resolves with its URL. */
async function serve(args: string[], env: Record<string, string> = {}) {
  const child = new BinProcess(world, ['serve', '--port', '0', ...args], env);
  const url = await child.firstLine();
  const stop = async (signal: NodeJS.Signals) => {
    child.signal(signal);
    const code = await child.ended();
    return { code, stdout: child.stdout, stderr: child.stderr };
  };
  return { url, stop };
}

function openedForWriting(pipe: string): number | undefined {
  try {
    return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
}

describe('serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    'prints one line with its URL, and %s ends it with exit 0',
    async (signal) => {
      const { url, stop } = await serve([]);
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      const { code, stdout } = await stop(signal);
      expect(code).toBe(0);
      expect(stdout).toBe(`${url}\n`);
    },
  );

  test('ends with its standard input, or on a signal, with --exit-with-stdin', async () => {
    const start = async () => {
      const argv = ['serve', '--port', '0', '--memory', '--exit-with-stdin'];
      const child = new BinProcess(world, argv, {}, { stdin: null });
      return { child, url: await child.firstLine() };
    };
    const first = await start();
    first.child.child.stdin?.write('what it reads is ignored\n');
    expect((await fetch(`${first.url}/_local/health`)).status).toBe(200);
    first.child.child.stdin?.end();
    expect(await first.child.ended()).toBe(0);
    const second = await start();
    second.child.signal('SIGTERM');
    expect(await second.child.ended()).toBe(0);
  });

  test('shows its settings and variants, and none of its other flags', async () => {
    const env = { ENGAGECTL_ACCOUNT_ID: 'ACC', ENGAGECTL_PASSCODE: 'page-passcode' };
    const flags = ['--memory', '--strict', '--echo', 'intact', '--push-hook', 'curl secret'];
    const { url } = await serve([...flags, '--call-speed', '2'], env);
    const headers = { 'X-Service-Account-Id': 'ACC', 'X-Service-Passcode': 'page-passcode' };
    const answer = await request(`${url}/_local/settings`, { headers });
    const { strict, variants } = (await answer.body.json()) as Record<string, unknown>;
    expect([strict, variants]).toEqual([true, { ...defaultVariants, echo: 'intact' }]);
  });

  test('ignores its standard input otherwise', async () => {
    const { url } = await serve(['--memory']); // it is empty and closed
    expect((await fetch(`${url}/_local/health`)).status).toBe(200);
  });

  test('creates credentials once in a 0600 file, and prints its path but not the passcode', async () => {
    const { url, stop } = await serve([]);
    const file = path.join(world.stateDir, 'local', 'passcode');
    const passcode = readFileSync(file, 'utf8').trim();
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');

    const env = {
      ENGAGECTL_BASE_URL: url,
      ENGAGECTL_ACCOUNT_ID: 'LOCAL',
      ENGAGECTL_PASSCODE_FILE: file,
    };
    expect(await world.run(['config', 'check'], { env })).toMatchObject({ code: 0 });

    const { stdout, stderr } = await stop('SIGTERM');
    expect(stderr).toContain(`ENGAGECTL_PASSCODE_FILE=${file}`);
    expect(stdout + stderr).not.toContain(passcode);
    await (await serve([])).stop('SIGTERM');
    expect(readFileSync(file, 'utf8').trim()).toBe(passcode);
  });

  test('reads account and passcode from the environment', async () => {
    const pair = { ENGAGECTL_ACCOUNT_ID: 'MINE', ENGAGECTL_PASSCODE: 'my-own-passcode' };
    const { url, stop } = await serve(['--memory'], pair);
    const check = (env: Record<string, string>) =>
      world.run(['config', 'check'], { env: { ENGAGECTL_BASE_URL: url, ...env } });
    expect(await check(pair)).toMatchObject({ code: 0 });
    expect(await check({ ...pair, ENGAGECTL_PASSCODE: 'another' })).toMatchObject({ code: 4 });
    const { stdout, stderr } = await stop('SIGTERM');
    expect(stdout + stderr).not.toContain('my-own-passcode');
  });

  test('uses another header prefix', async () => {
    const { url } = await serve(['--memory', '--header-prefix', 'X-Acme']);
    const env = {
      ENGAGECTL_BASE_URL: url,
      ENGAGECTL_ACCOUNT_ID: 'LOCAL',
      ENGAGECTL_PASSCODE_FILE: path.join(world.stateDir, 'local', 'passcode'),
    };
    expect(await world.run(['config', 'check'], { env })).toMatchObject({ code: 4 });
    expect(
      await world.run(['config', 'check', '--header-prefix', 'X-Acme'], { env }),
    ).toMatchObject({ code: 0 });
  });

  test('fails as often as configured', async () => {
    const { url } = await serve(['--memory', '--fail-rate', '1']);
    const env = {
      ENGAGECTL_BASE_URL: url,
      ENGAGECTL_ACCOUNT_ID: 'LOCAL',
      ENGAGECTL_PASSCODE_FILE: path.join(world.stateDir, 'local', 'passcode'),
    };
    expect(await world.run(['config', 'check'], { env })).toMatchObject({ code: 5 });
  });

  test.skipIf(!hasStrace)('creates its passcode on a file system without hard links', async () => {
    const inject = ['-f', '-qq', '-o', '/dev/null', '-e', 'inject=link,linkat:error=EPERM'];
    const args = [binPath, 'get-profile', 'nobody', '--region', 'local', '--quiet'];
    const state = { ENGAGECTL_STATE_DIR: world.stateDir };
    const traced = spawnSync('strace', [...inject, process.execPath, ...args], {
      env: { PATH: process.env['PATH'], ENGAGECTL_CONFIG_DIR: world.configDir, ...state },
      encoding: 'utf8',
    });
    expect(traced).toMatchObject({ status: 3, stdout: '' });
    const file = path.join(world.stateDir, 'local', 'passcode');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8').trim().length).toBeGreaterThan(20);
  });

  test('exits 2 for a port in use, with a fix', async () => {
    const { url } = await serve(['--memory']);
    const { code, stderr } = await world.run(['serve', '--port', new URL(url).port, '--memory']);
    expect(code).toBe(2);
    expect(stderr).toContain('--port 0');
  });

  test('exits 9 naming the directory of a store that cannot be opened', async () => {
    writeFileSync(world.path('file'), '');
    const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
    const { code, stderr } = await world.run(['serve', '--port', '0', '--data', 'file'], { env });
    expect(code).toBe(9);
    expect(stderr).toContain(world.path('file'));
  });

  test('exits 9 for a store of another version, which stays unchanged', async () => {
    const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
    const database = new Database(world.path('service.db'));
    database.exec('CREATE TABLE events (id INTEGER PRIMARY KEY); PRAGMA user_version = 1');
    database.close();
    const { code, stderr } = await world.run(['serve', '--port', '0', '--data', '.'], { env });
    expect(code).toBe(9);
    expect(stderr).toContain('another version of engagectl made it');
    const after = new Database(world.path('service.db'));
    expect(after.prepare('SELECT name FROM sqlite_schema').all([])).toMatchObject([
      { name: 'events' },
    ]);
    after.close();
  });

  test('exits 9 for a damaged store, which stays unchanged, with the command to type', async () => {
    const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
    writeFileSync(world.path('service.db'), Buffer.alloc(8192));
    const { code, stderr } = await world.run(['serve', '--port', '0', '--data', '.'], { env });
    expect(code).toBe(9);
    expect(stderr).toContain(`begin with an empty one: mv ${world.path('.')}`);
    expect(readFileSync(world.path('service.db'))).toEqual(Buffer.alloc(8192));
  });

  const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
  const headers = { 'X-Service-Account-Id': 'A', 'X-Service-Passcode': 'p' };
  const seedLine = '{"type":"profile","identity":"a","profileData":{"City":"Oslo"}}\n';

  test('loads --seed into an empty store, reports otherwise, and logs a line per request with --log', async () => {
    writeFileSync(world.path('one.ndjson'), seedLine);
    writeFileSync(world.path('two.ndjson'), seedLine.replace('"a"', '"b"'));
    const args = ['--data', 'store', '--log', '--seed', 'one.ndjson', 'two.ndjson'];
    const first = await serve(args, env);
    const answer = await fetch(`${first.url}/1/profile.json?identity=b`, { headers });
    expect(await answer.json()).toMatchObject({ record: { profileData: { City: 'Oslo' } } });
    const { stderr } = await first.stop('SIGTERM');
    expect(stderr).toMatch(/^\S+ GET \/1\/profile\.json\?identity=b 200, \d+ ms, 0 bytes$/m);
    const second = await serve([...args, '--log-format', 'json'], env);
    await (await fetch(`${second.url}/1/profile.json?identity=b`, { headers })).text();
    const lines = (await second.stop('SIGTERM')).stderr.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'request', endpoint: 'profile', status: 200, fault: null }),
        expect.objectContaining({ message: expect.stringContaining('not loaded') as string }),
      ]),
    );
    expect(lines.join()).not.toContain('Passcode');
  });

  test('exits 8 with file and line for an invalid seed, and 9 for a missing one', async () => {
    writeFileSync(world.path('wrong.ndjson'), `${seedLine}{"identity":"x"}\n`);
    const args = ['serve', '--port', '0', '--memory', '--json', '--seed'];
    const wrong = await world.run([...args, 'wrong.ndjson'], { env });
    expect(wrong.code).toBe(8);
    expect(JSON.parse(wrong.stderr)).toMatchObject({
      error: { file: world.path('wrong.ndjson'), line: 2 },
    });
    expect((await world.run([...args, 'none.ndjson'], { env })).code).toBe(9);
  });

  test('ends on a signal while it waits for the writer of a named pipe with the seed', async () => {
    const pipe = world.path('seed.ndjson');
    spawnSync('mkfifo', [pipe]);
    const child = new BinProcess(world, ['serve', '--port', '0', '--memory', '--seed', pipe]);
    let ended: number | NodeJS.Signals | undefined;
    void child.ended().then((code) => (ended = code));
    let writer: number | undefined;
    // It fails until the program has opened the pipe.
    await until(() => (writer ??= openedForWriting(pipe)) !== undefined);
    child.signal('SIGINT');
    await until(() => ended !== undefined, { deadline: 8000 });
    closeSync(writer!);
    expect(ended).toBe(130);
  });

  test('accepts several header prefixes; other commands accept one', async () => {
    const prefixes = ['--header-prefix', 'X-One', '--header-prefix', 'X-Two'];
    const { url, stop } = await serve(['--memory', ...prefixes], env);
    for (const [prefix, status] of [
      ['X-One', 200],
      ['X-Two', 200],
      ['X-Service', 401],
    ] as const) {
      const sent = { [`${prefix}-Account-Id`]: 'A', [`${prefix}-Passcode`]: 'p' };
      const answer = await fetch(`${url}/1/profile.json?identity=a`, { headers: sent });
      expect(answer.status, prefix).toBe(status);
    }
    await stop('SIGTERM');
    const check = await world.run(['config', 'check', ...prefixes], { env });
    expect(check).toMatchObject({ code: 2 });
    expect(check.stderr).toContain('given twice');
  });

  test('is reachable from other machines with --host and --allow-host, and reports it', async () => {
    const open = await serve(
      ['--memory', '--host', '0.0.0.0', '--allow-host', 'engage', 'two.test'],
      env,
    );
    const { port } = new URL(open.url);
    const ask = async (url: string, host: string) => {
      const answer = await request(`${url}/1/profile.json?identity=a`, {
        headers: { ...headers, host },
      });
      await answer.body.dump();
      return answer.statusCode;
    };
    for (const [host, status] of [
      ['engage', 200],
      ['TWO.test:443', 200],
      ['10.0.0.7', 200],
      ['localhost', 200],
      ['evil.test', 403],
    ] as const)
      expect(await ask(open.url, host), host).toBe(status);
    const here = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal);
    if (here) expect(await ask(`http://${here.address}:${port}`, here.address)).toBe(200);
    const { stderr } = await open.stop('SIGTERM');
    expect(stderr).toContain('0.0.0.0: other machines can reach it');
    expect(stderr).toContain('accepted host names: engage, two.test');

    const strict = await serve(['--memory'], env);
    expect(await ask(strict.url, '10.0.0.7')).toBe(403);
    expect((await strict.stop('SIGTERM')).stderr).not.toContain('other machines');
    const nowhere = await world.run(['serve', '--memory', '--port', '0', '--host', '203.0.113.9'], {
      env,
    });
    expect(nowhere).toMatchObject({ code: 2, stdout: '' });
    expect(nowhere.stderr).toContain('no such address');
    expect(nowhere.stderr).toContain('fix: leave out --host');
  });

  test('checks its own address in the health check', async () => {
    const { url } = await serve(['--memory', '--host', '127.0.0.2'], env);
    const cmdline = world.path('cmdline');
    const words = ['node', 'engagectl', 'serve', '--host', '127.0.0.2', '--port'];
    writeFileSync(cmdline, [...words, new URL(url).port].join('\0'));
    expect(spawnSync(process.execPath, [health, cmdline]).status).toBe(0);
  });

  test('serves TLS with its own certificate, which clients trust by its file', async () => {
    const { url, stop } = await serve(['--memory', '--tls', '--allow-host', 'engage.test'], env);
    expect(url).toMatch(/^https:\/\/127/);
    // Another one, with the same folder for what it keeps.
    const second = await serve(['--memory', '--tls', '--host', '0.0.0.0'], env);
    const fileOf = (of: string) =>
      path.join(world.stateDir, 'local', `certificate-${new URL(of).port}.pem`);
    const file = fileOf(url);
    const trusting = (servername?: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const ca = readFileSync(file);
        get(`${url}/_local/health`, { ca, servername }, (answer) =>
          resolve(answer.resume().statusCode),
        ).on('error', reject);
      });
    expect(await trusting()).toBe(200);
    expect(await trusting('engage.test')).toBe(200);
    await expect(trusting('other.test')).rejects.toThrow('altnames');
    const ofAll = new X509Certificate(readFileSync(fileOf(second.url)));
    for (const { address } of Object.values(networkInterfaces()).flatMap((all = []) => all))
      expect(ofAll.checkIP(address), address).toBe(address);
    await second.stop('SIGTERM');
    const client = spawnSync(process.execPath, [binPath, 'config', 'check'], {
      env: { ...env, NODE_EXTRA_CA_CERTS: file, ENGAGECTL_BASE_URL: url, HOME: world.cwd },
    });
    expect(client.status, client.stderr.toString()).toBe(0);
    const cmdline = world.path('cmdline');
    writeFileSync(
      cmdline,
      ['node', 'engagectl', 'serve', '--tls', `--port=${new URL(url).port}`].join('\0'),
    );
    expect(spawnSync(process.execPath, [health, cmdline]).status).toBe(0);
    const { stderr } = await stop('SIGTERM');
    expect(stderr).toContain(`NODE_EXTRA_CA_CERTS=${file}`);
    expect(existsSync(file)).toBe(false);
    expect(spawnSync(process.execPath, [health, cmdline]).status).toBe(1);
    writeFileSync(cmdline, 'node\0engagectl\0upload');
    expect(spawnSync(process.execPath, [health, cmdline]).status).toBe(0);
  });

  test('accepts a given certificate, and reports what is wrong with it', async () => {
    const { cert, key } = makeCertificate([], Date.now());
    writeFileSync(world.path('cert.pem'), cert);
    writeFileSync(world.path('key.pem'), key);
    const { url } = await serve(
      ['--memory', '--tls-cert', 'cert.pem', '--tls-key', 'key.pem'],
      env,
    );
    const status = await new Promise((resolve) =>
      get(`${url}/_local/health`, { ca: cert }, (answer) => resolve(answer.resume().statusCode)),
    );
    expect(status).toBe(200);
    for (const [args, code] of [
      [['--tls-cert', 'cert.pem'], 2],
      [['--tls-cert', 'key.pem', '--tls-key', 'cert.pem'], 2],
      [['--tls-cert', 'none.pem', '--tls-key', 'key.pem'], 9],
    ] as const)
      expect(await world.run(['serve', '--memory', '--port', '0', ...args], { env })).toMatchObject(
        { code },
      );
  });

  test.each([
    ['--port', '65536'],
    ['--latency', '-1'],
    ['--fail-rate', '1.1'],
    ['--fail-rate', 'often'],
    ['--max-concurrent', '15'],
    ['--max-concurrent', '0,3'],
    ['--pending', '1.5'],
    ['--echo', 'loud'],
    ['--allow-host', 'http://engage'],
    ['--allow-host', 'engage:8787'],
    ['--allow-host', 'a b'],
    ['--data=x', '--memory'],
  ])('refuses %s %s with exit 2', async (...args) => {
    expect(await world.run(['serve', ...args])).toMatchObject({ code: 2, stdout: '' });
  });

  test('prints a link with the passcode on a terminal only', async () => {
    for (const tty of [true, false]) {
      const stop = new AbortController();
      const runtime = world.runtime({
        signal: stop.signal,
        env: { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'pass&code' },
        tty,
      });
      const running = main(['serve', '--port', '0', '--memory'], runtime);
      await until(() => runtime.output().stderr.includes('web page: '));
      stop.abort();
      await running;
      const { stdout, stderr } = runtime.output();
      expect(stderr).toContain(`web page: ${stdout.trim()}`);
      expect(stderr.includes('/#account=A&passcode=pass%26code')).toBe(tty);
    }
  });

  test('stops in process, too, on a signal', async () => {
    const stop = new AbortController();
    const runtime = world.runtime({ signal: stop.signal });
    const running = main(['serve', '--port', '0', '--memory', '--json'], runtime);
    await until(() => runtime.output().stdout !== '');
    stop.abort();
    expect(await running).toBe(0);
    expect(JSON.parse(runtime.output().stdout)).toEqual({
      schemaVersion: 1,
      url: expect.stringMatching(/^http:\/\/127/) as string,
    });
  });
});

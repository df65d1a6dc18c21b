import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Outcome } from '../support/world.js';
import { makeWorld, type World } from '../support/world.js';

const bin = fileURLToPath(new URL('../../bin/engagectl.js', import.meta.url));
const hasStrace = spawnSync('strace', ['-V']).status === 0;
let world: World;
beforeEach(() => {
  world = makeWorld();
});

/** Starts the real program; resolves with its URL. Killed at the end of the test. */
async function serve(args: string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0', ...args], {
    cwd: world.cwd,
    env: {
      PATH: process.env['PATH'],
      ENGAGECTL_CONFIG_DIR: world.configDir,
      ENGAGECTL_STATE_DIR: world.stateDir,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(() => {
    throw new Error(`serve ended early: ${stderr}`);
  });
  const line = once(createInterface(child.stdout), 'line');
  const [url] = (await Promise.race([line, ended])) as [string];
  ended.catch(() => undefined); // from here on it is stopped by the test
  const stop = async (signal: NodeJS.Signals): Promise<Outcome> => {
    child.kill(signal);
    const [code] = (await once(child, 'close')) as [number];
    return { code, stdout, stderr };
  };
  return { url, stop };
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

  test('makes credentials once, keeps them 0600, shows their file and not the passcode', async () => {
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

  test('takes account and passcode from the environment', async () => {
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

  test('fails as often as it is told to', async () => {
    const { url } = await serve(['--memory', '--fail-rate', '1']);
    const env = {
      ENGAGECTL_BASE_URL: url,
      ENGAGECTL_ACCOUNT_ID: 'LOCAL',
      ENGAGECTL_PASSCODE_FILE: path.join(world.stateDir, 'local', 'passcode'),
    };
    expect(await world.run(['config', 'check'], { env })).toMatchObject({ code: 5 });
  });

  test.skipIf(!hasStrace)('makes its passcode on a file system without hard links', async () => {
    const inject = ['-f', '-qq', '-o', '/dev/null', '-e', 'inject=link,linkat:error=EPERM'];
    const args = [bin, 'get-profile', 'nobody', '--region', 'local', '--quiet'];
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

  test('a port in use is exit 2 with the way out', async () => {
    const { url } = await serve(['--memory']);
    const { code, stderr } = await world.run(['serve', '--port', new URL(url).port, '--memory']);
    expect(code).toBe(2);
    expect(stderr).toContain('--port 0');
  });

  test('a store that cannot be opened is exit 9 naming its folder', async () => {
    writeFileSync(world.path('file'), '');
    const env = { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' };
    const { code, stderr } = await world.run(['serve', '--port', '0', '--data', 'file'], { env });
    expect(code).toBe(9);
    expect(stderr).toContain(world.path('file'));
  });

  test('so is a store that another version made, which stays as it was', async () => {
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

  test.each([
    ['--port', '65536'],
    ['--latency', '-1'],
    ['--fail-rate', '1.1'],
    ['--fail-rate', 'often'],
    ['--max-concurrent', '15'],
    ['--max-concurrent', '0,3'],
    ['--pending', '1.5'],
    ['--echo', 'loud'],
    ['--data=x', '--memory'],
  ])('refuses %s %s with exit 2', async (...args) => {
    expect(await world.run(['serve', ...args])).toMatchObject({ code: 2, stdout: '' });
  });

  test('stops in process, too, when the signal comes', async () => {
    const stop = new AbortController();
    const running = world.run(['serve', '--port', '0', '--memory', '--json'], {
      signal: stop.signal,
    });
    setTimeout(() => stop.abort(), 500);
    const { code, stdout } = await running;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ url: expect.stringMatching(/^http:\/\/127/) as string });
  });
});

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import { hasOpen } from '../../support/processes/process-state.js';
import { makeWorld } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

// Contract §1: Ctrl-C works at once, also while nobody writes into the pipe that is read.

const bin = fileURLToPath(new URL('../../../bin/engagectl.js', import.meta.url));

describe('Ctrl-C while standard input is silent', () => {
  const commands = [
    'upload --region local',
    'upload --check',
    'subscribe --region local --type email --status Unsubscribe',
    'demerge --region local --yes',
    'get-profile --region local --input -',
    'config set --region eu1 --base-url https://eu1.example.com --account-id A --passcode-stdin',
  ];

  it.each(commands)('%s: before the first byte', async (line) => {
    const stop = new AbortController();
    const interrupt = () => stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped'));
    const stdin = new Readable({ read: () => void setImmediate(interrupt) });
    const outcome = await makeWorld().run(line.split(' '), { stdin, signal: stop.signal });
    expect(outcome).toMatchObject({ code: 130, stdout: '' });
    expect(outcome.stderr).toMatch(/^error E-INTERRUPTED: stopped\n(?: {2}\w+: .+\n){3}$/);
    expect(stdin.destroyed).toBe(true); // else it would keep the process alive
  });
});

describe.skipIf(process.platform !== 'linux')('a FIFO', () => {
  const start = () => {
    const world = makeWorld();
    execFileSync('mkfifo', [world.path('pipe.csv')]);
    const child = spawn(process.execPath, [bin, 'upload', 'pipe.csv', '--check', '--json'], {
      cwd: world.cwd,
      env: { ENGAGECTL_CONFIG_DIR: world.configDir, ENGAGECTL_STATE_DIR: world.stateDir },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    return { world, child };
  };

  it('is read to its end', async () => {
    const { world, child } = start();
    const writer = createWriteStream(world.path('pipe.csv'));
    writer.write('identity,x\na,1\n');
    await delay(50); // a pause is not the end
    writer.end('b,2\n');
    const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, read: 2 });
  });

  it('that nobody opens for writing can be left', async () => {
    const { world, child } = start();
    await until(() => hasOpen(child.pid!, world.path('pipe.csv')));
    child.kill('SIGINT');
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(130);
  });

  const account = {
    ENGAGECTL_BASE_URL: 'http://127.0.0.1:9',
    ENGAGECTL_ACCOUNT_ID: 'A',
    ENGAGECTL_PASSCODE_FILE: 'pipe',
  };
  const days = '--event A --from 2024-01-01 --to 2024-01-01';
  const startAt = (line: string, env: Readonly<Record<string, string>> = {}) => {
    const world = makeWorld();
    execFileSync('mkfifo', [world.path('pipe')]);
    writeFileSync(world.path('users.csv'), 'identity,x\na,1\n');
    const folders = { ENGAGECTL_CONFIG_DIR: world.configDir, ENGAGECTL_STATE_DIR: world.stateDir };
    const child = spawn(process.execPath, [bin, ...line.split(' ')], {
      cwd: world.cwd,
      env: { ...folders, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
    return { world, child };
  };

  it.each([
    ['--mapping', 'upload users.csv --check --mapping pipe', {}],
    ['the passcode', 'upload users.csv', account],
    ['-o', `export-profiles --region local ${days} -o pipe`, {}],
  ])('at %s that nobody opens can be left', async (_, line, env) => {
    const { world, child } = startAt(line, env);
    const ended = once(child, 'close');
    let told = '';
    child.stderr.on('data', (bytes: Buffer) => (told += bytes.toString()));
    // A FIFO that is written to is opened again and again until it has a reader, once the days were named.
    const isWaiting = () =>
      line.includes('-o pipe') ? told !== '' : hasOpen(child.pid!, world.path('pipe'));
    await until(() => child.exitCode !== null || isWaiting());
    expect(child.exitCode).toBe(null);
    child.kill('SIGINT');
    expect(((await ended) as [number | null])[0]).toBe(130);
  });

  it('at the step summary that nobody reads is a warning', async () => {
    const { child } = startAt('upload users.csv --check', { GITHUB_STEP_SUMMARY: 'pipe' });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([code, stderr]).toEqual([0, expect.stringContaining('the step summary could not')]);
  });
});

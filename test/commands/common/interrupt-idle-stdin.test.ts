import { execFileSync } from 'node:child_process';
import { createWriteStream, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import { BinProcess } from '../../support/processes/bin-process.js';
import { hasOpen } from '../../support/processes/process-state.js';
import { serve, written } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';
import { until } from '../../support/until.js';

// Contract §1: Ctrl-C works at once, also while nobody writes into the pipe that is read.

describe('D Ctrl-C while stdin is idle', () => {
  const commands = [
    'upload --region local',
    'upload --check',
    'subscribe --region local --type email --status Unsubscribe',
    'demerge --region local --yes',
    'get-profile --region local --input -',
    'config set --region eu1 --base-url https://eu1.example.com --account-id A --passcode-stdin',
  ];

  it.each(commands)('stops %s before the first byte', async (line) => {
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
  it('is read to its end, across a pause', async () => {
    const { service, world } = await serve();
    execFileSync('mkfifo', [world.path('pipe.csv')]);
    const upload = new BinProcess(world, ['upload', 'pipe.csv', '--json'], service.env);
    const writer = createWriteStream(world.path('pipe.csv'));
    writer.write('identity,x\na,1\n');
    await until(() => written(service).length === 1, { message: 'the first record is sent' });
    writer.end('b,2\n');
    expect(await upload.ended(), upload.stderr).toBe(0);
    expect(JSON.parse(upload.stdout)).toMatchObject({ read: 2, accepted: 2, requests: 2 });
  });

  it('that nobody opens for writing can be interrupted', async () => {
    const world = makeWorld();
    execFileSync('mkfifo', [world.path('pipe.csv')]);
    const upload = new BinProcess(world, ['upload', 'pipe.csv', '--check']);
    await until(() => hasOpen(upload.child.pid!, world.path('pipe.csv')));
    upload.signal('SIGINT');
    expect(await upload.ended(), upload.stderr).toBe(130);
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
    return { world, started: new BinProcess(world, line.split(' '), env) };
  };

  it.each([
    ['--mapping', 'upload users.csv --check --mapping pipe', {}],
    ['the passcode', 'upload users.csv', account],
    ['--tls-cert', 'serve --memory --port 0 --tls-cert pipe --tls-key pipe', {}],
    ['-o', `export-profiles --region local ${days} -o pipe`, {}],
  ])('at %s that nobody opens can be interrupted', async (_, line, env) => {
    const { world, started } = startAt(line, env);
    const { child } = started;
    // A FIFO that is written to is opened again and again until it has a reader, once the days were named.
    const isWaiting = () =>
      line.includes('-o pipe') ? started.stderr !== '' : hasOpen(child.pid!, world.path('pipe'));
    await until(() => child.exitCode !== null || isWaiting());
    expect(child.exitCode, started.stderr).toBe(null);
    started.signal('SIGINT');
    expect(await started.ended()).toBe(130);
  });

  it('at the step summary that nobody reads causes a warning', async () => {
    const { started } = startAt('upload users.csv --check', { GITHUB_STEP_SUMMARY: 'pipe' });
    expect(await started.ended(), started.stderr).toBe(0);
    expect(started.stderr).toContain('the step summary could not');
  });
});

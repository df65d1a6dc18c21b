import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { serve } from '../../support/serve.js';
import type { TestService, TestServiceOptions } from '../../../src/testing.js';
import type { Outcome, World } from '../../support/test-environment.js';
import { binPath, canRunAs } from '../../support/processes/bin-process.js';

// What a job without a person beside it relies on.

const at = (instant: string) => ({ now: () => Date.parse(instant) });
const yesterday = ['--event', 'A', '--from', 'yesterday', '--to', 'yesterday'];
const oneAttempt = ['--max-attempts', '1'];

/** So many users who did the event on both days that are yesterday here. */
const seed = (users = 1) =>
  ['2026-02-28T12:00:00Z', '2026-03-01T12:00:00Z'].flatMap((instant) =>
    Array.from({ length: users }, (_, n) => ({
      type: 'event',
      identity: `u${n}`,
      evtName: 'A',
      ts: Date.parse(instant) / 1000,
    })),
  );
const broken = { endpoint: 'profiles', answer: { status: 500 } } as const;

const files = (world: World) => readdirSync(world.cwd).toSorted();

describe('{date} in the name of an output', () => {
  it.each([
    ['UTC', 'users-2026-03-01.ndjson'],
    ['Asia/Tokyo', 'users-2026-03-02.ndjson'],
    ['America/New_York', 'users-2026-03-01.ndjson'],
  ])('is the day on which the run starts in %s', async (zone, name) => {
    const { world } = await serve({ seed: seed() });
    const args = ['export-profiles', ...yesterday, '-o', 'users-{date}.ndjson'];
    const zoned = [...args, '--timezone', zone, '--json'];
    const { code, stdout } = await world.run(zoned, at('2026-03-01T20:00:00Z'));
    expect(code).toBe(0);
    expect(files(world)).toEqual([name]);
    expect(JSON.parse(stdout)).toMatchObject({ output: name });
  });

  it('can be combined with {day} and {event}', async () => {
    const { world } = await serve({ seed: seed() });
    const args = ['export-events', ...yesterday, '-o', '{event}-{day}-of-{date}.csv'];
    expect((await world.run(args, at('2026-03-01T20:00:00Z'))).code).toBe(0);
    expect(files(world)).toEqual(['A-2026-02-28-of-2026-03-01.csv']);
  });

  it('works for get-profile', async () => {
    const { world } = await serve({ seed: seed(2) });
    const args = ['get-profile', 'u0', 'u1', '-o', 'both-{date}.ndjson'];
    expect((await world.run(args, at('2026-03-01T20:00:00Z'))).code).toBe(0);
    expect(files(world)).toEqual(['both-2026-03-01.ndjson']);
  });

  it('is that of the resumed run, whatever day it is', async () => {
    const { service, world } = await serve({ seed: seed(24) });
    await service.fault({ ...broken, after: 1, times: 1 });
    const args = ['export-profiles', ...yesterday, ...oneAttempt, '--output=u-{date}.ndjson'];
    args.push('--batch-size', '23');
    expect((await world.run(args, at('2026-03-01T23:59:00Z'))).code).toBe(5);
    expect(files(world)).toEqual(['u-2026-03-01.ndjson.partial']);
    const [run = ''] = readdirSync(path.join(world.stateDir, 'runs'));
    const resumed = await world.run(['runs', 'resume', run], at('2026-03-02T00:10:00Z'));
    expect(resumed.code).toBe(0);
    expect(files(world)).toEqual(['u-2026-03-01.ndjson']);
    expect(readFileSync(world.path('u-2026-03-01.ndjson'), 'utf8').match(/\n/g)).toHaveLength(24);
  });

  it('is matched by --resume on the same day, and starts a new file on the next', async () => {
    const { service, world } = await serve({ seed: seed() });
    await service.fault({ ...broken, times: 2 });
    await service.fault({ ...broken, after: 3 });
    const args = [
      'export-profiles',
      ...yesterday,
      ...oneAttempt,
      '-o',
      'u-{date}.ndjson',
      '--resume',
    ];
    expect((await world.run(args, at('2026-03-01T01:00:00Z'))).code).toBe(5);
    expect((await world.run(args, at('2026-03-01T02:00:00Z'))).code).toBe(5);
    expect((await world.run(args, at('2026-03-01T03:00:00Z'))).code).toBe(0);
    expect((await world.run(args, at('2026-03-02T01:00:00Z'))).code).toBe(5);
    expect(files(world)).toContain('u-2026-03-01.ndjson');
  });
});

const noon = at('2026-03-01T12:00:00Z');

it('refuses a second export to the same file with exit 8 while the first runs', async () => {
  let second: Promise<Outcome> | undefined;
  const args = ['export-profiles', ...yesterday, '-o', 'u-{date}.ndjson', '--resume', '--quiet'];
  const { service, world }: Awaited<ReturnType<typeof serve>> = await serve({
    seed: seed(),
    onRequest: async () => {
      second ??= world.run(args, noon);
      await second;
    },
  });
  expect(await world.run(args, noon)).toEqual({ code: 0, stdout: '', stderr: '' });
  const { code, stderr } = (await second) ?? { code: undefined, stderr: '' };
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-LOCKED')]);
  expect(service.requests({ endpoint: 'profiles-cursor' })).toHaveLength(1);
});

/** A user that the system does not know has no home folder; only root can play one. */
const nobody = { uid: 54_321, gid: 54_321 };

describe.skipIf(!canRunAs(nobody))(
  'D a user without a home directory and an empty environment',
  () => {
    async function run(args: string[], env: TestService['env'], cwd: string) {
      const child = spawn(process.execPath, [binPath, ...args], { ...nobody, env, cwd });
      child.stdin.end();
      const ended = once(child, 'close');
      const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return { code: ((await ended) as [number])[0], stdout, stderr };
    }
    async function folder(options?: TestServiceOptions) {
      const { service, world } = await serve(options);
      chmodSync(path.dirname(world.cwd), 0o755);
      chmodSync(world.cwd, 0o777);
      return { env: service.env, world };
    }

    it('can read to stdout and to a file', async () => {
      const { env, world } = await folder({ seed: seed() });
      const { cwd } = world;
      const days = ['--from', '2026-03-01', '--to', '2026-03-01'];
      const args = ['export-profiles', '--event', 'A', ...days];
      const piped = await run(args, env, cwd);
      expect(piped.code).toBe(0);
      expect(JSON.parse(piped.stdout)).toMatchObject({ identity: 'u0' });
      const kept = await run([...args, '-o', 'users.ndjson'], env, cwd);
      expect(kept.code).toBe(0);
      expect(kept.stderr).toContain('cannot be resumed');
      expect(readFileSync(path.join(cwd, 'users.ndjson'), 'utf8')).toBe(piped.stdout);
    });

    it('can write with --no-journal, and is told which variable to set otherwise', async () => {
      const { env, world } = await folder();
      writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\n');
      const refused = await run(['upload', 'users.csv'], env, world.cwd);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toMatch(/fix: .*ENGAGECTL_STATE_DIR/);
      const done = await run(['upload', 'users.csv', '--no-journal', '-q'], env, world.cwd);
      expect(done).toEqual({ code: 0, stdout: '', stderr: '' });
    });
  },
);

describe('under GitHub Actions', () => {
  const rows = Array.from({ length: 12 }, (_, index) => `u${index},x${index}\n`).join('');

  async function upload(
    env: Readonly<Record<string, string>>,
    more: string[] = [],
    name = 'u.csv',
  ) {
    const { world } = await serve({}, { env });
    writeFileSync(world.path(name), `identity,"Age, in %\n"\n${rows}`);
    const typed = ['--types', 'Age, in %\n:integer'];
    return { world, outcome: await world.run(['upload', name, ...typed, ...more]) };
  }
  const commands = (stderr: string) => stderr.split('\n').filter((line) => line.startsWith('::'));

  it('prints the first ten rejects as escaped annotations instead of lines', async () => {
    const { outcome } = await upload({ GITHUB_ACTIONS: 'true' }, ['--quiet'], 'a:b,\nc%.csv');
    expect(outcome.code).toBe(3);
    expect(outcome.stdout).toBe('');
    const lines = commands(outcome.stderr);
    expect(lines).toHaveLength(10);
    expect(lines[0]).toBe(
      '::error file=a%3Ab%2C%0Ac%25.csv,line=3,title=engagectl%3A validate::' +
        'column "Age, in %25\\n": "x0" is not an integer',
    );
    expect(outcome.stderr).not.toContain('warning:');
  });

  it('names files relative to the workspace', async () => {
    const first = await upload({ GITHUB_ACTIONS: 'true' });
    const env = { GITHUB_ACTIONS: 'true', GITHUB_WORKSPACE: path.dirname(first.world.cwd) };
    const args = ['upload', 'u.csv', '--types', 'Age, in %\n:integer'];
    const { stderr } = await first.world.run(args, { env });
    expect(commands(stderr)[0]).toMatch(/^::error file=work\/u\.csv,line=3,/);
  });

  it.each([
    ['elsewhere', {}, []],
    ['under --json', { GITHUB_ACTIONS: 'true' }, ['--json']],
  ])('prints no annotations %s', async (_what, env, more) => {
    const { outcome } = await upload(env, more);
    expect(outcome.code).toBe(3);
    expect(commands(outcome.stderr)).toEqual([]);
  });

  it('passes no commands of the input or service to the runner', async () => {
    const denied = {
      status: 'fail',
      error: 'no\n  ::set-output name=a::b\n##[add-path]/x',
      code: 401,
    };
    const { service, world } = await serve({}, { env: { GITHUB_ACTIONS: 'true' } });
    await service.fault({ answer: { status: 401, body: denied } });
    writeFileSync(world.path('u.csv'), 'identity,"x\n::error::a","x\n::error::a"\nu1,1,2\n');
    const refused = await world.run(['upload', 'u.csv']);
    const unknown = await world.run(['get-profile', 'a']);
    expect(unknown.stderr).toContain('set-output');
    expect(commands(refused.stderr)).toEqual([
      '::error file=u.csv,line=1,title=engagectl%3A E-HEADER-DUPLICATE::' +
        String.raw`u.csv: column "x\n::error::a" appears twice`,
    ]);
    expect(unknown.stderr).not.toMatch(/^\s*::/m);
    for (const { stderr } of [refused, unknown]) expect(stderr).not.toContain('##[');
  });

  it('adds the figures of an export to the step summary', async () => {
    const { world } = await serve({ seed: seed() });
    const env = { GITHUB_STEP_SUMMARY: world.path('summary.md') };
    const days = ['--from', '2026-03-01', '--to', '2026-03-01'];
    const args = ['export-profiles', '--event', 'A', ...days, '-o', 'users.ndjson', '--quiet'];
    expect(await world.run(args, { env })).toEqual({ code: 0, stdout: '', stderr: '' });
    const summary = readFileSync(world.path('summary.md'), 'utf8');
    expect(summary).toMatch(/^### engagectl export-profiles: done/);
    expect(summary).toContain('| records | 1 |');
  });
});

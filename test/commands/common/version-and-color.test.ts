import { spawnSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { version } from '../../../src/version.js';
import { serve } from '../../support/serve.js';
import { makeWorld } from '../../support/test-environment.js';
import { binPath } from '../../support/processes/bin-process.js';

// Small things that people look for first.

it.each([['--version'], ['-V'], ['version']])(
  'prints the version for %s, and more with --json',
  async (word) => {
    const world = makeWorld();
    expect(await world.run([word])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    const { stdout } = await world.run([word, '--json']);
    const { node } = process.versions;
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      version,
      node,
      platform: process.platform,
      undici: expect.stringMatching(/^7\.\d+\.\d+$/),
      libsql: expect.stringMatching(/^0\.\d+\.\d+$/),
      sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
    });
  },
);

it('predicts rejections by the service in a check, like a preview', async () => {
  const world = makeWorld();
  const event = { identity: 'u1', type: 'event', ts: 1_700_000_000, evtName: 'A' };
  writeFileSync(
    world.path('a.ndjson'),
    `${JSON.stringify({ ...event, evtData: { a: { b: 1 } } })}\n`,
  );
  const { code, stderr } = await world.run(['upload', 'a.ndjson', '--check']);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/"a": .*line 1 of a\.ndjson; the service rejects it with 512/),
  ]);
});

it.each([
  ['FORCE_COLOR', '1', true],
  ['CLICOLOR_FORCE', '1', true],
  ['FORCE_COLOR', '0', false],
  ['PLAIN', '1', false],
])('%s=%s colors output without a terminal: %s', async (name, value, isColored) => {
  const env = { [name]: value };
  const { stderr } = await makeWorld({ env }).run(['get-profile', 'u1']);
  expect(stderr.includes('\u001B[31merror')).toBe(isColored);
  const without = await makeWorld({ env: { ...env, NO_COLOR: '1' } }).run(['get-profile', 'u1']);
  expect(without.stderr).not.toContain('\u001B');
});

it('disables colors on a terminal with FORCE_COLOR=0', async () => {
  for (const [env, isColored] of [
    [{}, true],
    [{ FORCE_COLOR: '0' }, false],
  ] as const) {
    const { stderr } = await makeWorld({ tty: true, env }).run(['get-profile', 'u1']);
    expect(stderr.includes('\u001B[31merror')).toBe(isColored);
  }
});

it.each([
  [false, false],
  [false, true],
  [true, false],
  [true, true],
])('checks both streams separately, stdout a terminal: %s, stderr: %s', async (stdout, stderr) => {
  const { world } = await serve({}, { tty: { stdout, stderr } });
  writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
  await world.run(['upload', 'u.csv']);
  const found = await world.run(['get-profile', 'u1']);
  expect(found.stdout.trim().includes('\n')).toBe(stdout);
  const none = await world.run(['get-profile', 'nobody']);
  expect(none.stderr.includes('\u001B[31merror')).toBe(stderr);
});

it.each([
  ['100', 100],
  ['1', 80],
  ['0', undefined],
  ['', undefined],
])('prints piped output as on a terminal with ENGAGECTL_FORCE_TTY=%s', (forced, columns) => {
  const world = makeWorld();
  const env = { PATH: process.env['PATH'], TERM: 'xterm', ENGAGECTL_FORCE_TTY: forced };
  const folders = { ENGAGECTL_CONFIG_DIR: world.configDir, ENGAGECTL_STATE_DIR: world.stateDir };
  writeFileSync(world.path('u.csv'), 'identity\nu1\n');
  // Called by its name, so that help does not contain the path of this checkout.
  symlinkSync(binPath, world.path('engagectl'));
  const words = ['engagectl', 'upload', 'u.csv', '--region', 'local'];
  const all = { env: { ...env, ...folders }, cwd: world.cwd, encoding: 'utf8' } as const;
  const { stderr } = spawnSync(process.execPath, words, all);
  // A bar is drawn, and taken away again.
  expect(stderr.includes('\u001B[')).toBe(columns !== undefined);
  const help = spawnSync(process.execPath, ['engagectl', 'upload', '--help'], all).stdout.split(
    '\n',
  );
  const widest = Math.max(...help.map((line) => line.length));
  expect(widest).toBeLessThanOrEqual(columns ?? 80);
  expect(widest).toBeGreaterThan((columns ?? 80) - 5);
});

it.each([
  ['--no-input', {}],
  ['the variable', { ENGAGECTL_NO_INPUT: '1' }],
])('does not ask on a terminal with %s', async (how, env) => {
  const world = makeWorld({ env, tty: true });
  const more = how === '--no-input' ? [how] : [];
  writeFileSync(world.path('ids.txt'), 'u1\n');
  const demerge = await world.run(['demerge', 'ids.txt', '--region', 'local', ...more]);
  expect([demerge.code, demerge.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
  const set = ['config', 'set', '--region', 'eu1', '--base-url', 'https://eu1.example.test'];
  const asked = await world.run([...set, '--account-id', 'A', ...more]);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('--passcode-file')]);
});

it('does not ask in runs prune with --no-input', async () => {
  const { world, service } = await serve({}, { tty: true });
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  writeFileSync(world.path('users.csv'), 'identity\nu1\nu2\n');
  await world.run(['upload', 'users.csv', '--chunk-size', '1', '--concurrency', '1']);
  const { code, stderr } = await world.run(['runs', 'prune', '--no-input']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('deleted runs cannot be resumed')]);
  expect(stderr).toContain('1 unfinished run would be forgotten');
});

it('names the schema in every JSON output of config', async () => {
  const world = makeWorld();
  for (const args of [
    ['config', 'list'],
    ['config', 'path'],
  ]) {
    const { stdout } = await world.run([...args, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1 });
  }
});

it('omits request flags from help where no requests are made, and lists -h last', async () => {
  const world = makeWorld();
  const help = async (...words: string[]) => (await world.run([...words, '--help'])).stdout;
  expect(await help('config', 'list')).not.toContain('--max-attempts');
  expect(await help('config', 'check')).toContain('--max-attempts');
  for (const command of ['upload', 'config', 'runs']) {
    expect((await help(command)).trimEnd().split('\n').at(-1)).toMatch(/^ {2}-h, --help /);
  }
});

it('uses the singular for one record in each command', async () => {
  const { world } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,City\nu1,Oslo\n');
  writeFileSync(world.path('e.csv'), 'identity,ts,evtName\nu1,1795000000,Paid\n');
  writeFileSync(world.path('a.csv'), 'type,value,status\nemail,a@example.com,Unsubscribe\n');
  const range = ['--event', 'Paid', '--from', '2026-11-18', '--to', '2026-11-18', '-o'];
  for (const [line, headline] of [
    ['upload u.csv', 'uploaded 1 user'],
    ['upload e.csv --type event', 'uploaded 1 event'],
    ['subscribe a.csv', 'set 1 subscription status'],
    [`export-events ${range.join(' ')} e.ndjson`, 'exported 1 event'],
    [`export-profiles ${range.join(' ')} p.ndjson`, 'exported 1 profile'],
    ['demerge u.csv --yes', 'demerged 1 identity'],
  ] as const) {
    const { stderr } = await world.run(line.split(' '));
    expect(stderr.split('\n'), line).toContain(headline);
  }
});

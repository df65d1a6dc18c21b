import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startService, type TestService } from '../../../src/testing.js';
import { makeWorld, type World, type WorldOptions } from '../../support/test-environment.js';

// Writes with a config profile that is marked production.

let world: World;
let service: TestService;
beforeEach(async () => {
  world = makeWorld();
  service = await startService({ accountId: 'ACC-1', passcode: 'pass' });
  onTestFinished(() => service.close());
  writeFileSync(world.path('users.csv'), 'identity,City\nu1,Oslo\n');
  writeFileSync(world.path('phones.csv'), 'type,value,status\nphone,+441234567,Unsubscribe\n');
  writeFileSync(world.path('ids.txt'), 'u1\nu2\n');
  await save('--production');
});

const save = async (...more: string[]) => {
  const account = ['--region', 'eu1', '--base-url', service.url, '--account-id', 'ACC-1'];
  const args = ['config', 'set', ...account, '--passcode-stdin', '--no-check', ...more];
  expect(await world.run(args, { stdin: 'pass' })).toMatchObject({ code: 0 });
};

const terminal = (typed: string): WorldOptions => ({ tty: true, stdin: typed });

describe.each([
  ['upload users.csv', 'upload users.csv: creates or updates user profiles'],
  ['upload --type event --ts now users.csv --event-name E', 'upload users.csv: adds events'],
  ['subscribe phones.csv', 'subscribe phones.csv: sets subscription statuses'],
])('to a production account: %s', (line, says) => {
  const args = line.split(' ');

  test('shows where and what on a terminal, and continues when the region is typed', async () => {
    const { code, stderr } = await world.run(args, terminal('eu1\n'));
    expect(code).toBe(0);
    for (const part of ['PRODUCTION account ACC-1', 'region eu1', service.url, '"default"', says])
      expect(stderr).toContain(part);
    expect(service.requests()).toHaveLength(1);
  });

  test.each(['yes\n', '\n', ''])('sends nothing when %j is typed: exit 2', async (typed) => {
    const { code, stderr } = await world.run(args, terminal(typed));
    expect(code).toBe(2);
    expect(stderr).toContain('E-CONFIRM');
    expect(service.requests()).toHaveLength(0);
  });

  test('sends nothing on a terminal with --no-input, which is not consent', async () => {
    const { code, stderr } = await world.run([...args, '--no-input'], terminal('eu1\n'));
    expect([code, stderr]).toEqual([2, expect.stringContaining('add --yes when you are sure')]);
    expect(service.requests()).toHaveLength(0);
  });

  test.each([
    ['with --yes', [...args, '--yes'], terminal('')],
    ['where stdin is no terminal', args, { tty: { stderr: true } }],
    ['where stderr is no terminal', args, { tty: { stdin: true } }],
  ] as const)('does not ask %s', async (_what, argv, options) => {
    const { code, stderr } = await world.run(argv, options);
    expect(code).toBe(0);
    expect(stderr).not.toContain('PRODUCTION');
    expect(service.requests()).toHaveLength(1);
  });
});

test('does not ask for commands that change nothing', async () => {
  for (const args of [
    ['upload', 'users.csv', '--check'],
    ['subscribe', 'phones.csv', '--dry-run'],
  ]) {
    const { code, stderr } = await world.run(args, terminal(''));
    expect(code).toBe(0);
    expect(stderr).not.toContain('PRODUCTION');
  }
});

test('includes the warning in the question of demerge', async () => {
  const { code, stderr } = await world.run(['demerge', 'ids.txt'], terminal('2\n'));
  expect(code).toBe(0);
  expect(stderr).toContain('2 identities of ids.txt in PRODUCTION account ACC-1, region eu1');
});

test('does not ask for other profiles or the account of the environment', async () => {
  await save('--profile', 'staging');
  const args = ['upload', 'users.csv', '--profile', 'staging'];
  expect((await world.run(args, terminal(''))).stderr).not.toContain('PRODUCTION');
  const { env } = service;
  const outcome = await world.run(['upload', 'users.csv'], { ...terminal(''), env });
  expect(outcome.code).toBe(0);
  expect(outcome.stderr).not.toContain('PRODUCTION');
});

describe('config', () => {
  const shown = async (command: string) => (await world.run(['config', command])).stdout;

  test('list and show print the mark', async () => {
    expect(await shown('list')).toMatch(/^\* +default .* yes$/m);
    expect(await shown('show')).toMatch(/^production +yes +from config profile "default"$/m);
  });

  test('--no-production and --production alone change the profile only', async () => {
    const off = await world.run(['config', 'set', '--no-production']);
    expect(off).toMatchObject({ code: 0 });
    expect(await shown('show')).toMatch(/^production +no +from config profile "default"$/m);
    await world.run(['config', 'set', '--production']);
    expect(await shown('show')).toMatch(/^production +yes/m);
    expect((await world.run(['upload', 'users.csv'], terminal(''))).code).toBe(2);
  });

  test('a mark without a valid region or profile is refused', async () => {
    const noRegion = await world.run(['config', 'set', '--production', '--account-id', 'A']);
    expect(noRegion).toMatchObject({ code: 2 });
    expect(noRegion.stderr).toContain('--region');
    const noProfile = await world.run(['config', 'set', '--production', '--profile', 'other']);
    expect(noProfile).toMatchObject({ code: 2 });
    expect(noProfile.stderr).toContain('no config profile "other"');
  });
});

test('adds other settings and directories to config show --sources', async () => {
  const env = { ENGAGECTL_RETRY_FOR: '5m' };
  const args = ['config', 'show', '--sources', '--timeout', '90s'];
  const { stdout } = await world.run(args, { env });
  expect(stdout).toMatch(/^timeout +90s +from --timeout$/m);
  expect(stdout).toMatch(/^retry for +300s +from ENGAGECTL_RETRY_FOR$/m);
  expect(stdout).toMatch(/^max attempts +8 +from default$/m);
  expect(stdout).toMatch(/^state directory +\/.*state +from ENGAGECTL_STATE_DIR$/m);
  const json = await world.run([...args, '--json'], { env });
  expect(JSON.parse(json.stdout)).toMatchObject({
    timeoutMs: 90_000,
    stateFolder: world.stateDir,
    sources: { timeoutMs: '--timeout', retryBaseMs: 'default' },
  });
});

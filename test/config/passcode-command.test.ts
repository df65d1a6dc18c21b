import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startService } from '../../src/testing.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { until } from '../support/until.js';

// A passcode that a command of the user's secret store prints, through the command line.

const secret = 'store-pass-4kX';
let world: World;
beforeEach(() => {
  world = makeWorld({ sleep: 'real' });
});

/** Refuses every other passcode. */
async function serving(passcode = secret, accountId = 'ACC-1') {
  const service = await startService({ accountId, passcode });
  onTestFinished(() => service.close());
  return service;
}

const account = (url: string) => ['--region', 'eu1', '--base-url', url, '--account-id', 'ACC-1'];
const save = async (command: string, url = 'https://eu1.example') =>
  world.run(['config', 'set', ...account(url), '--passcode-command', command, '--no-check']);
const saved = () => {
  const text = readFileSync(path.join(world.configDir, 'config.json'), 'utf8');
  return (JSON.parse(text) as { profiles: { default: { regions: { eu1: object } } } }).profiles
    .default.regions.eu1;
};

/** A program of the user's, in the world's folder. */
function program(script: string): string {
  writeFileSync(world.path('store'), `#!/bin/sh\n${script}\n`);
  chmodSync(world.path('store'), 0o755);
  return './store';
}

describe('D the first line of the output', () => {
  test.each([
    ['alone', `printf ${secret}`],
    ['with a newline', `echo ${secret}`],
    ['with CRLF', `printf '${secret}\\r\\n'`],
    ['before notes', `printf '${secret}\\nuser: someone\\n'; echo noise >&2`],
    ['of a pipe', `echo xx${secret} | cut -c3-`],
    ['before a megabyte more', `echo ${secret}; head -c 1000000 /dev/zero`],
  ])('is the passcode: %s', async (_what, script) => {
    const service = await serving();
    expect(await save(program(script), service.url)).toMatchObject({ code: 0 });
    const outcome = await world.run(['config', 'check']);
    expect(outcome).toMatchObject({ code: 0 });
    expect(service.requests()).toMatchObject([{ status: 200 }]);
    expect(outcome.stderr).not.toContain('noise');
  });
});

test('gives the command an empty stdin and no passcode in its environment', async () => {
  const command = program('cat > seen-stdin; env > seen-env; echo pass-of-the-store');
  await save(command, (await serving('pass-of-the-store')).url);
  writeFileSync(world.path('file'), secret);
  // An explicit profile sets the environment's credentials aside.
  const env = { ENGAGECTL_PASSCODE: secret, ENGAGECTL_ACCOUNT_ID: 'ENV', PATH: '/usr/bin:/bin' };
  const args = ['config', 'check', '--profile', 'default'];
  expect(await world.run(args, { env, stdin: 'records' })).toMatchObject({ code: 0 });
  expect(readFileSync(world.path('seen-stdin'), 'utf8')).toBe('');
  const seen = readFileSync(world.path('seen-env'), 'utf8');
  expect(seen).toContain('ENGAGECTL_ACCOUNT_ID=ENV');
  expect(seen).not.toContain(secret);
});

describe('D exits 2 without printing the output if', () => {
  test.each([
    ['fails', `echo ${secret}; echo ${secret} >&2; exit 3`, 'exit 3'],
    ['is not there', '/no/such/program', 'exit 127'],
    ['is killed', 'kill -9 $$', 'SIGKILL'],
    ['prints nothing', 'true', 'empty'],
    ['begins with an empty line', `echo; echo ${secret}`, 'empty'],
    [
      'prints a long line',
      `printf ${secret}; head -c 70000 /dev/zero | tr '\\0' a`,
      '4,096 characters',
    ],
    ['prints what no header carries', `printf '${secret}\\001\\n'`, 'control character'],
  ])('the command %s', async (_what, script, why) => {
    await save(script);
    const { code, stdout, stderr } = await world.run(['get-profile', 'a', '--verbose']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error E-CONFIG: .*passcode_command of config profile "default"/m);
    expect(stderr).toContain(why);
    expect(stderr).not.toContain(secret);
  });

  test('the command takes too long', async () => {
    await save(`sleep 100 & echo ${secret}; wait`);
    const { code, stderr } = await world.run(['get-profile', 'a'], { sleep: 'instant' });
    expect(code).toBe(2);
    expect(stderr).toContain('within 60 s');
    expect(stderr).not.toContain(secret);
  });
});

test('stops waiting for it on Ctrl-C', async () => {
  await save(program('touch started; sleep 100'));
  const stop = new AbortController();
  const running = world.run(['config', 'check'], { signal: stop.signal });
  const reason = new Error('stopped');
  await until(() => existsSync(world.path('started')));
  stop.abort(reason);
  expect((await running).stderr).toContain('stopped');
});

test('show and list neither run the command nor print it or its output', async () => {
  await save(program(`touch ran; echo ${secret}`));
  for (const args of [['show'], ['show', '--sources'], ['list'], ['show', '--json']]) {
    const { code, stdout, stderr } = await world.run(['config', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('********');
    expect(stdout).not.toMatch(/\.\/store|store-pass/);
    if (args[0] === 'show') expect(stdout).toContain('passcode_command of config profile');
  }
  expect(() => readFileSync(world.path('ran'))).toThrow('ENOENT');
});

describe('config set', () => {
  test('saves a command in place of a passcode, and vice versa', async () => {
    await save('pass show engagectl/eu1');
    const common = { baseUrl: 'https://eu1.example', accountId: 'ACC-1' };
    expect(saved()).toEqual({ ...common, passcode_command: 'pass show engagectl/eu1' });
    const args = ['config', 'set', ...account('https://eu1.example'), '--passcode-stdin'];
    await world.run(args, { stdin: secret });
    expect(saved()).toEqual({ ...common, passcode: secret });
    await world.run(['config', 'set', '--region', 'eu1', '--passcode-command', 'again']);
    expect(saved()).toEqual({ ...common, passcode_command: 'again' });
  });

  test('refuses a command together with another source of the passcode', async () => {
    const args = [...account('https://eu1.example'), '--passcode-stdin', '--passcode-command', 'x'];
    expect(await world.run(['config', 'set', ...args])).toMatchObject({ code: 2 });
  });
});

test('refuses a region with both or neither', async () => {
  await save('x');
  const file = path.join(world.configDir, 'config.json');
  const text = readFileSync(file, 'utf8');
  for (const content of ['"passcode_command": "x", "passcode": "y"', '"timezone": "UTC"']) {
    writeFileSync(file, text.replace('"passcode_command": "x"', content));
    const { code, stderr } = await world.run(['config', 'list']);
    expect(code).toBe(2);
    expect(stderr).toContain('needs a passcode or a passcode_command');
  }
});

test('prefers the pair in the environment, and does not run the command', async () => {
  const service = await serving(secret, 'ENV');
  await save(program('touch ran; echo x'), service.url);
  const env = { ENGAGECTL_ACCOUNT_ID: 'ENV', ENGAGECTL_PASSCODE: secret };
  expect(await world.run(['config', 'check'], { env })).toMatchObject({ code: 0 });
  expect(service.requests()).toMatchObject([{ status: 200 }]);
  expect(() => readFileSync(world.path('ran'))).toThrow('ENOENT');
});

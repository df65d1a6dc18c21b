import { execFile } from 'node:child_process';
import { readdirSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startService } from '../../../src/testing.js';
import { accountAt } from '../../support/account-environment.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';
import { main } from '../../../src/main.js';
import { BinProcess, binPath } from '../../support/processes/bin-process.js';

const secret = 'Seed3d"pass\'word-ü$(id)';
const base = ['--region', 'eu1', '--base-url', 'https://eu1.example', '--account-id', 'ACC-1'];
const setArgs = ['config', 'set', ...base, '--no-check'];

let world: World;
beforeEach(() => {
  world = makeWorld();
});

const saveSecret = (args: string[] = []) =>
  world.run([...setArgs, '--passcode-stdin', ...args], { stdin: `${secret}\n` });
const savedFile = () => path.join(world.configDir, 'config.json');
const saved = () =>
  JSON.parse(readFileSync(savedFile(), 'utf8')) as {
    profiles: Record<string, { regions: Record<string, Record<string, string>> }>;
  };

describe('config set', () => {
  test('saves the given values, and reads the passcode from stdin', async () => {
    const outcome = await saveSecret(['--header-prefix', 'X-Acme', '--timezone', 'Asia/Tokyo']);
    expect(outcome).toMatchObject({ code: 0, stdout: '' });
    expect(outcome.stderr).toContain(savedFile());
    expect(saved().profiles['default']?.regions).toEqual({
      eu1: {
        baseUrl: 'https://eu1.example',
        accountId: 'ACC-1',
        passcode: secret,
        headerPrefix: 'X-Acme',
        timezone: 'Asia/Tokyo',
      },
    });
    expect((statSync(savedFile()).mode & 0o777).toString(8)).toBe('600');
  });

  test('reads the passcode from a file', async () => {
    writeFileSync(world.path('pass'), `${secret}\r\n`);
    expect(await world.run([...setArgs, '--passcode-file', 'pass'])).toMatchObject({ code: 0 });
    expect(saved().profiles['default']?.regions['eu1']?.['passcode']).toBe(secret);
  });

  test('asks for the passcode on a terminal without echo', async () => {
    const outcome = await world.run(setArgs, { tty: true, stdin: `${secret}\r` });
    expect(outcome.code).toBe(0);
    expect(outcome.stderr).toContain('Passcode (not shown): ');
    expect(outcome.stdout + outcome.stderr).not.toContain(secret);
    expect(saved().profiles['default']?.regions['eu1']?.['passcode']).toBe(secret);
  });

  test('saves nothing on Ctrl-C at the question: exit 130', async () => {
    const stdin = new PassThrough();
    const runtime = world.runtime({ tty: true, stdin });
    const running = main(setArgs, runtime);
    await until(() => runtime.output().stderr.includes('Passcode (not shown): '));
    stdin.write('half\u0003');
    expect(await running).toBe(130);
    expect(() => statSync(savedFile())).toThrow('ENOENT');
  });

  test('requires a passcode if there is no terminal', async () => {
    const { code, stderr } = await world.run(setArgs);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--passcode-stdin, --passcode-file/);
  });

  test('changes one value and keeps the others', async () => {
    await saveSecret();
    expect(
      (await world.run(['config', 'set', '--region', 'eu1', '--timezone', 'Asia/Tokyo'])).code,
    ).toBe(0);
    expect(saved().profiles['default']?.regions['eu1']).toMatchObject({
      accountId: 'ACC-1',
      passcode: secret,
      timezone: 'Asia/Tokyo',
    });
  });

  test('never combines a new account id with the old passcode', async () => {
    await saveSecret();
    const args = ['config', 'set', '--region', 'eu1', '--account-id', 'ACC-2'];
    expect((await world.run(args)).code).toBe(2);
    expect((await world.run([...args, '--passcode-stdin'], { stdin: 'other' })).code).toBe(0);
    expect(saved().profiles['default']?.regions['eu1']).toMatchObject({
      accountId: 'ACC-2',
      passcode: 'other',
    });
  });

  test('saves flags only, no variables of the environment', async () => {
    const env = { ENGAGECTL_TIMEZONE: 'Asia/Tokyo', ENGAGECTL_BASE_URL: 'https://env.example' };
    const { code } = await world.run([...setArgs, '--passcode-stdin'], { env, stdin: secret });
    expect(code).toBe(0);
    expect(saved().profiles['default']?.regions['eu1']).toEqual({
      baseUrl: 'https://eu1.example',
      accountId: 'ACC-1',
      passcode: secret,
    });
  });

  test.each([
    ['no region', ['config', 'set', '--base-url', 'https://x.example'], '--region'],
    ['no base URL', ['config', 'set', '--region', 'eu1', '--account-id', 'A'], '--base-url'],
    [
      'no account id',
      ['config', 'set', '--region', 'eu1', '--base-url', 'https://x.example'],
      '--account-id',
    ],
    [
      'http off loopback',
      [...setArgs, '--base-url', 'http://x.example']
        .slice(0, 4)
        .concat('--base-url', 'http://x.example', '--account-id', 'A'),
      'E-BASE-URL',
    ],
    [
      'an impossible region name',
      [
        'config',
        'set',
        '--region',
        '../eu1',
        '--base-url',
        'https://x.example',
        '--account-id',
        'A',
      ],
      '1 to 64',
    ],
    ['an impossible profile name', [...setArgs, '--profile', 'a b'], 'A-Z'],
    ['a time zone that is none', [...setArgs, '--timezone', 'Mars/Olympus'], 'IANA'],
    ['a header prefix that is none', [...setArgs, '--header-prefix', 'X Acme:'], 'header prefix'],
    [
      'two sources of the passcode',
      [...setArgs, '--passcode-stdin', '--passcode-file', 'x'],
      'passcode-stdin',
    ],
    ['a passcode as a flag', [...setArgs, '--passcode', secret], 'unknown option'],
  ])('refuses %s with exit 2, and saves nothing', async (_what, args, says) => {
    const { code, stdout, stderr } = await world.run(args, { stdin: secret });
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(says);
    expect(() => statSync(savedFile())).toThrow('ENOENT');
  });
});

describe('config use, list, remove, path', () => {
  beforeEach(async () => {
    await saveSecret();
    await world.run(
      [
        'config',
        'set',
        '--profile',
        'staging',
        '--region',
        'us1',
        '--base-url',
        'https://us1.example',
        '--account-id',
        'ACC-2',
        '--passcode-stdin',
      ],
      { stdin: secret },
    );
  });

  test('list shows every account and marks the one in use, without passcodes', async () => {
    const { code, stdout } = await world.run(['config', 'list']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\* +default +eu1 +ACC-1 +\*{8} +https:\/\/eu1\.example$/m);
    expect(stdout).toMatch(/^ +staging +us1 +ACC-2 +\*{8} +https:\/\/us1\.example$/m);
    expect(stdout).toContain(savedFile());
    const unknown = await world.run(['config', 'use', 'prod']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('or make it: engagectl config set --profile prod --region');
    await world.run(['config', 'use', 'staging']);
    expect((await world.run(['config', 'list'])).stdout).toMatch(/^\* +staging/m);
  });

  test('list --json is one object', async () => {
    const { stdout } = await world.run(['config', 'list', '--json']);
    expect(JSON.parse(stdout)).toEqual({
      schemaVersion: 1,
      file: savedFile(),
      accounts: [
        {
          profile: 'default',
          region: 'eu1',
          current: true,
          baseUrl: 'https://eu1.example',
          accountId: 'ACC-1',
          passcode: '********',
          production: false,
        },
        {
          profile: 'staging',
          region: 'us1',
          current: false,
          baseUrl: 'https://us1.example',
          accountId: 'ACC-2',
          passcode: '********',
          production: false,
        },
      ],
    });
  });

  test('show prints the source of each value', async () => {
    const { stdout } = await world.run(['config', 'show', '--timezone', 'Asia/Tokyo']);
    expect(stdout).toMatch(/^region +eu1 +from config profile "default"$/m);
    expect(stdout).toMatch(/^passcode +\*{8} +from config profile "default"$/m);
    expect(stdout).toMatch(/^time zone +Asia\/Tokyo +from --timezone$/m);
  });

  test('use and remove list the known names for an unknown one, exit 2', async () => {
    for (const args of [
      ['use', 'nobody'],
      ['remove', 'nobody'],
      ['use', 'default', '--region', 'nowhere'],
      ['remove', 'default', '--region', 'nowhere'],
    ]) {
      const { code, stderr } = await world.run(['config', ...args]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/known: (default, staging|eu1, local)/);
    }
  });

  test('remove deletes a region, then the profile, and its mark as in use', async () => {
    await world.run(['config', 'use', 'staging', '--region', 'us1']);
    await world.run(
      [
        'config',
        'set',
        '--profile',
        'staging',
        '--region',
        'us2',
        '--base-url',
        'https://us2.example',
        '--account-id',
        'A',
        '--passcode-stdin',
      ],
      { stdin: secret },
    );
    expect((await world.run(['config', 'remove', 'staging', '--region', 'us1'])).code).toBe(0);
    expect(saved()).toMatchObject({
      current: 'staging',
      profiles: { staging: { regions: { us2: {} } } },
    });
    expect(saved().profiles['staging']).not.toHaveProperty('region');
    await world.run(['config', 'remove', 'staging', '--region', 'us2']);
    expect(saved()).not.toHaveProperty('current');
    expect(Object.keys(saved().profiles)).toEqual(['default']);
    await world.run(['config', 'remove', 'default']);
    expect(saved()).toEqual({ profiles: {} });
  });

  test('path prints the location of the file', async () => {
    expect(await world.run(['config', 'path'])).toEqual({
      code: 0,
      stdout: `${savedFile()}\n`,
      stderr: '',
    });
  });
});

test('reports all errors of config set at once, and saves nothing', async () => {
  const wrong = ['--base-url', 'ftp://x', '--header-prefix', 'a b', '--call-account-id', 'C'];
  const { code, stderr } = await world.run(['config', 'set', '--region', 'eu9', ...wrong]);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /--base-url.*cannot be used; .*--header-prefix.*; region "eu9" is new and /,
  );
  expect(existsSync(savedFile())).toBe(false);
});

test('refuses a profile named twice', async () => {
  const { code, stderr } = await world.run(['config', 'show', '-p', 'a', '--profile', 'b']);
  expect(code).toBe(2);
  expect(stderr).toContain('twice');
});

describe('config check', () => {
  async function serve() {
    const service = await startService({ accountId: 'ACC-1', passcode: 'right' });
    onTestFinished(() => service.close());
    return service.url;
  }
  const env = (url: string, passcode = 'right') => accountAt(url, passcode, 'ACC-1');

  test('confirms account, passcode and region', async () => {
    const url = await serve();
    const outcome = await world.run(['config', 'check'], { env: env(url) });
    expect(outcome).toMatchObject({ code: 0, stdout: '' });
    expect(outcome.stderr).toContain('fit region');
    const json = await world.run(['config', 'check', '--json'], { env: env(url) });
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, accountId: 'ACC-1', baseUrl: url });
  });

  test('exits 4 for a wrong passcode, with a hint at the region', async () => {
    const { code, stderr } = await world.run(['config', 'check'], {
      env: env(await serve(), 'not-this-one'),
    });
    expect(code).toBe(4);
    expect(stderr).toContain('--region');
    expect(stderr).not.toContain('not-this-one');
  });

  test('exits 5 if the service is unreachable', async () => {
    const { code, stderr } = await world.run(['config', 'check'], {
      env: env('http://127.0.0.1:9'),
    });
    expect(code).toBe(5);
    expect(stderr).toContain('127.0.0.1:9');
  });
});

describe('the account of the calling system', () => {
  const calling = ['--call-account-id', 'CALLS-1', '--call-api-key-file', 'key'];
  const region = ['config', 'set', '--region', 'eu1'];
  beforeEach(() => writeFileSync(world.path('key'), 'key-of-calls\n'));

  test('is saved beside the other one, and shown without its key', async () => {
    await saveSecret();
    expect((await world.run([...region, ...calling])).code).toBe(0);
    expect(saved().profiles['default']?.regions['eu1']).toMatchObject({
      passcode: secret,
      callAccountId: 'CALLS-1',
      callApiKey: 'key-of-calls',
    });
    const { stdout } = await world.run(['config', 'show']);
    expect(stdout).toMatch(/^calling account +CALLS-1 +from config profile "default"$/m);
    expect(stdout).toMatch(/^call API key +\*{8} +from config profile "default"$/m);
    const list = await world.run(['config', 'list', '--json']);
    expect(JSON.parse(list.stdout)).toMatchObject({
      accounts: [{ callAccountId: 'CALLS-1', callApiKey: '********' }],
    });
  });

  test('is used as a pair', async () => {
    await saveSecret();
    const idAlone = [...region, '--call-account-id', 'CALLS-2'];
    const keyAlone = [...region, '--call-api-key-file', 'key'];
    expect((await world.run(idAlone)).stderr).toContain('--call-api-key-file is missing');
    expect((await world.run(keyAlone)).stderr).toContain('--call-account-id is missing');
    await world.run([...region, ...calling]);
    expect(await world.run(idAlone)).toMatchObject({ code: 2 });
    writeFileSync(world.path('key'), 'the-next-key');
    expect(await world.run(keyAlone)).toMatchObject({ code: 0 });
    expect(saved().profiles['default']?.regions['eu1']?.['callApiKey']).toBe('the-next-key');
  });

  test.each([
    [
      { ENGAGECTL_CALL_ACCOUNT_ID: 'C' },
      'without ENGAGECTL_CALL_API_KEY or ENGAGECTL_CALL_API_KEY_FILE',
    ],
    [{ ENGAGECTL_CALL_API_KEY: 'k' }, 'without ENGAGECTL_CALL_ACCOUNT_ID'],
    [{ ENGAGECTL_CALL_API_KEY: 'k', ENGAGECTL_CALL_API_KEY_FILE: 'key' }, 'are both set'],
  ])('of the environment with %j is exit 2', async (env, says) => {
    await saveSecret();
    const { code, stderr } = await world.run(['config', 'show'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(says);
  });

  test('of the environment takes precedence over the saved one', async () => {
    await saveSecret(calling);
    const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'CALLS-9', ENGAGECTL_CALL_API_KEY_FILE: 'key' };
    const { stdout } = await world.run(['config', 'show', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      callAccountId: 'CALLS-9',
      callApiKey: '********',
      sources: { callApiKey: 'ENGAGECTL_CALL_API_KEY_FILE' },
    });
    const flagged = await world.run(['config', 'show', '--json', '--profile', 'default'], { env });
    expect(JSON.parse(flagged.stdout)).toMatchObject({ callAccountId: 'CALLS-1' });
  });
});

describe('D no secret is printed', () => {
  test('in any output of any config command', async () => {
    const callKey = 'Seed3d-k3y-of-calls';
    writeFileSync(world.path('key'), `${callKey}\n`);
    const calling = ['--call-account-id', 'CALLS-1', '--call-api-key-file', 'key'];
    expect((await saveSecret(calling)).code).toBe(0);
    const commands = [
      [...setArgs, '--passcode-stdin', ...calling],
      ['config', 'use', 'default', '--region', 'eu1'],
      ['config', 'list'],
      ['config', 'show'],
      ['config', 'show', '--sources'],
      ['config', 'check'],
      ['config', 'path'],
      ['config', 'set', '--passcode', secret],
      ['config', 'set', '--call-api-key', callKey],
      ['config', 'remove', 'default'],
    ];
    const env = { HTTPS_PROXY: 'http://127.0.0.1:9' };
    for (const command of commands) {
      for (const more of [[], ['--json'], ['--verbose']]) {
        const { stdout, stderr } = await world.run([...command, ...more], {
          stdin: `${secret}\n`,
          env,
        });
        for (const text of [stdout, stderr]) {
          expect(text).not.toContain('Seed3d');
          for (const one of [secret, callKey]) {
            expect(text).not.toContain(Buffer.from(one).toString('base64').slice(0, 12));
          }
        }
      }
    }
    for (const name of readdirSync(world.configDir)) expect(name).toBe('config.json');
  });

  test.each([
    'https://user:Seed3d@eu1.example',
    'https://Seed3d@eu1.example',
    'user:Seed3d@eu1.example',
    'https://eu1.example?passcode=Seed3d',
    'https://eu1.example/?mail=a@Seed3d',
    'https://eu1.example/#Seed3d',
  ])('in a base URL that was written by hand: %s', async (baseUrl) => {
    const service = await startService({ accountId: 'ACC-1', passcode: 'right' });
    onTestFinished(() => service.close());
    const account = { accountId: 'ACC-1', passcode: 'wrong' };
    const regions = { eu1: { ...account, baseUrl: service.url }, us1: { ...account, baseUrl } };
    mkdirSync(world.configDir, { mode: 0o700 });
    writeFileSync(savedFile(), JSON.stringify({ profiles: { default: { regions } } }), {
      mode: 0o600,
    });
    for (const [words, expected] of [
      ['config list', 0],
      ['config show --region us1', 2],
      ['config check --region eu1', 4],
      ['doctor --region us1', 2],
    ] as const) {
      for (const more of [[], ['--json']]) {
        const { code, stdout, stderr } = await world.run([...words.split(' '), ...more]);
        expect(code, stderr).toBe(expected);
        expect(stdout + stderr).not.toContain('Seed3d');
        if (words === 'config list') expect(stdout).toContain(service.url);
      }
    }
  });

  test('in the name of a member that was written by hand', async () => {
    const regions = { eu1: { Seed3d: 'passcode', passcod: 'x' } };
    const wrong = { Seed3d: 1, profiles: { default: { regions, Seed3d: 1 }, 'Seed3d!': {} } };
    mkdirSync(world.configDir, { mode: 0o700 });
    writeFileSync(savedFile(), JSON.stringify(wrong), { mode: 0o600 });
    for (const words of [['config', 'list'], ['doctor'], ['config', 'show', '--json']]) {
      const { code, stdout, stderr } = await world.run(words);
      expect(code, stderr).toBe(2);
      expect(stdout + stderr).not.toContain('Seed3d');
      expect(stderr).toContain('profiles.default has an unknown member');
      expect(stderr).toContain('profiles has a name that is not of 1 to 64 of A-Z a-z 0-9 _ and -');
      expect(stderr).toMatch(/"?passcod\\?"; did you mean \\?"passcode/);
    }
  });

  test('in the arguments of the process', async () => {
    const started = new BinProcess(world, [...setArgs, '--passcode-stdin'], {}, { stdin: null });
    const { child } = started;
    child.stdin?.write('Seed');
    if (process.platform === 'linux') {
      const args = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8');
      expect(args).not.toContain('Seed');
    }
    child.stdin?.end('3d\n');
    expect(await started.ended(), started.stderr).toBe(0);
  });
});

test('finds its directory without HOME and any variable', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [binPath, 'config', 'path'], {
    env: {},
  });
  expect(stdout).toMatch(/engagectl.config\.json\n$/);
});

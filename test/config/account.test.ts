import { chmodSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { makeWorld, type World } from '../support/test-environment.js';

// Through `config show --json`: what a command would use, and where each value comes from.

const secrets = { saved: 'saved-pass-9f3', environment: 'env-pass-77c' };
let world: World;

beforeEach(() => {
  world = makeWorld();
});

async function save(args: string[]): Promise<void> {
  const stdin = `${secrets.saved}\n`;
  const { code, stderr } = await world.run(
    ['config', 'set', '--no-check', '--passcode-stdin', ...args],
    {
      stdin,
    },
  );
  expect(stderr).toContain('saved');
  expect(code).toBe(0);
}

const saveRegion = (region: string, more: string[] = []) =>
  save([
    '--region',
    region,
    '--base-url',
    `https://${region}.example`,
    '--account-id',
    `ACC-${region}`,
    ...more,
  ]);

async function show(args: string[] = [], env: Record<string, string> = {}) {
  const outcome = await world.run(['config', 'show', '--json', ...args], { env });
  const printed = outcome.stdout + outcome.stderr;
  for (const secret of Object.values(secrets)) expect(printed).not.toContain(secret);
  return outcome;
}

async function account(args?: string[], env?: Record<string, string>) {
  const { code, stdout, stderr } = await show(args, env);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout) as Record<string, unknown> & { sources: Record<string, string> };
}

async function error(args?: string[], env?: Record<string, string>) {
  const { code, stdout, stderr } = await show(args, env);
  expect(stdout).toBe('');
  const shown = (JSON.parse(stderr) as { error: Record<string, string | number> }).error;
  expect(shown['exitCode']).toBe(code);
  return shown;
}

const pair = { ENGAGECTL_ACCOUNT_ID: 'ACC-ENV', ENGAGECTL_PASSCODE: secrets.environment };
const complete = { ...pair, ENGAGECTL_BASE_URL: 'https://env.example' };

describe('precedence', () => {
  const flags = {
    '--header-prefix': ['--header-prefix', 'X-Flag'],
    '--timezone': ['--timezone', 'Asia/Tokyo'],
  } as const;
  const variables = {
    ENGAGECTL_HEADER_PREFIX: 'X-Env',
    ENGAGECTL_TIMEZONE: 'Europe/Berlin',
  } as const;

  test.each([
    ['headerPrefix', '--header-prefix', 'ENGAGECTL_HEADER_PREFIX', 'X-Flag', 'X-Saved'],
    ['timezone', '--timezone', 'ENGAGECTL_TIMEZONE', 'Asia/Tokyo', 'America/New_York'],
  ] as const)(
    'uses flag, environment, config profile for %s',
    async (field, flag, variable, flagged, saved) => {
      await saveRegion('eu1', ['--header-prefix', 'X-Saved', '--timezone', 'America/New_York']);
      const env = { [variable]: variables[variable] };

      const byFlag = await account([...flags[flag]], env);
      expect([byFlag[field], byFlag.sources[field]]).toEqual([flagged, flag]);
      const byVariable = await account([], env);
      expect([byVariable[field], byVariable.sources[field]]).toEqual([
        variables[variable],
        variable,
      ]);
      const byProfile = await account([], { [variable]: '' });
      expect([byProfile[field], byProfile.sources[field]]).toEqual([
        saved,
        'config profile "default"',
      ]);
    },
  );

  test('uses flag, environment, config profile for the base URL', async () => {
    await saveRegion('eu1');
    const flag = ['--base-url', 'https://flag.example'];
    const sources = [await account(flag, complete), await account([], complete), await account()];
    expect(sources.map(({ baseUrl, sources: { baseUrl: source } }) => [baseUrl, source])).toEqual([
      ['https://flag.example', '--base-url'],
      ['https://env.example', 'ENGAGECTL_BASE_URL'],
      ['https://eu1.example', 'config profile "default"'],
    ]);
  });

  test('saved credentials go to no address of the environment: exit 2', async () => {
    await saveRegion('eu1');
    const refused = await error([], { ENGAGECTL_BASE_URL: 'https://env.example' });
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
    expect(refused['message']).toBe(
      'ENGAGECTL_BASE_URL is not the address saved in config profile "default"',
    );
    // The saved address, however it is spelled, and one on the command line are accepted.
    const same = await account([], { ENGAGECTL_BASE_URL: 'https://EU1.example/' });
    expect(same['baseUrl']).toBe('https://eu1.example');
    const typed = await account(['--base-url', 'https://env.example']);
    expect(typed['baseUrl']).toBe('https://env.example');
  });

  test('uses defaults for the other settings', async () => {
    await saveRegion('eu1');
    expect(await account()).toMatchObject({
      headerPrefix: 'X-Service',
      timezone: 'UTC',
      sources: { headerPrefix: 'default', timezone: 'default' },
    });
  });

  test('uses flag, environment, config use, "default" for the config profile', async () => {
    for (const profile of ['default', 'used', 'env', 'flag'])
      await saveRegion('eu1', ['--profile', profile]);
    const env = { ENGAGECTL_PROFILE: 'env' };
    expect(await account()).toMatchObject({ profile: 'default' });
    await world.run(['config', 'use', 'used']);
    expect(await account()).toMatchObject({ profile: 'used' });
    expect(await account([], env)).toMatchObject({ profile: 'env' });
    expect(await account(['--profile', 'flag'], env)).toMatchObject({ profile: 'flag' });
  });
});

describe('regions', () => {
  test('uses the only region of a profile', async () => {
    await saveRegion('eu1');
    expect(await account()).toMatchObject({ region: 'eu1', accountId: 'ACC-eu1' });
  });

  test('exits 2 and lists several regions, until one is named or chosen', async () => {
    await saveRegion('eu1');
    await saveRegion('us1');
    const refused = await error();
    expect(refused).toMatchObject({ id: 'E-REGION', exitCode: 2 });
    expect(refused['message']).toContain('eu1, us1');
    expect(refused['fix']).toContain('config use default --region');

    expect(await account(['--region', 'us1'])).toMatchObject({ accountId: 'ACC-us1' });
    expect(await account([], { ENGAGECTL_REGION: 'us1' })).toMatchObject({ accountId: 'ACC-us1' });
    await world.run(['config', 'use', 'default', '--region', 'eu1']);
    expect(await account()).toMatchObject({ accountId: 'ACC-eu1' });
    expect(await account(['--region', 'us1'])).toMatchObject({ accountId: 'ACC-us1' });
  });

  test.each(['nowhere', 'constructor', '__proto__'])(
    'lists the known regions for unknown region %s',
    async (name) => {
      await saveRegion('eu1');
      const refused = await error(['--region', name]);
      expect(refused).toMatchObject({ id: 'E-REGION', exitCode: 2, why: 'known: eu1, local' });
    },
  );

  test('names the built-in region and the command to type for an unknown region without any config', async () => {
    const refused = await error(['--region', 'eu1']);
    expect(refused).toMatchObject({ id: 'E-REGION', exitCode: 2 });
    expect(refused['message']).toBe('there is no region "eu1"');
    expect(refused['why']).toContain('known: local');
    expect(refused['fix']).toContain('engagectl config set --region eu1 --base-url <url>');
    expect(refused['fix']).toContain('--region local');
  });

  test.each(['nobody', 'constructor', '__proto__'])(
    'lists the known profiles for unknown profile %s',
    async (name) => {
      await saveRegion('eu1');
      const refused = await error(['--profile', name]);
      expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2, why: 'known: default' });
    },
  );

  test('names an unknown profile even if there are none', async () => {
    const refused = await error(['--profile', 'nobody']);
    expect(refused).toMatchObject({
      id: 'E-CONFIG',
      exitCode: 2,
      message: 'there is no config profile "nobody"',
    });
  });

  test('explains how to save an account, and how to do without, if there is none', async () => {
    const refused = await error();
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
    expect(refused['fix']).toMatch(/config set.*--region local/);
  });
});

describe('D credentials are used as a pair', () => {
  test('from the environment alone', async () => {
    expect(await account([], complete)).toMatchObject({
      region: 'env.example',
      baseUrl: 'https://env.example',
      accountId: 'ACC-ENV',
      passcode: '********',
    });
  });

  test('from the environment before the config profile', async () => {
    await saveRegion('eu1');
    const shown = await account([], pair);
    expect(shown).toMatchObject({ accountId: 'ACC-ENV', baseUrl: 'https://eu1.example' });
    expect(shown.sources).toMatchObject({
      accountId: 'ENGAGECTL_ACCOUNT_ID',
      passcode: 'ENGAGECTL_PASSCODE',
    });
  });

  test.each([
    ['id', { ENGAGECTL_ACCOUNT_ID: 'ACC-ENV' }],
    ['passcode', { ENGAGECTL_PASSCODE: secrets.environment }],
    ['passcode file', { ENGAGECTL_PASSCODE_FILE: 'anything' }],
    ['id beside an empty passcode', { ENGAGECTL_ACCOUNT_ID: 'ACC-ENV', ENGAGECTL_PASSCODE: '' }],
  ])('exit 2 for half a pair (%s), with a config profile too', async (_what, env) => {
    await saveRegion('eu1');
    const refused = await error([], env);
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
    expect(refused['message']).toMatch(
      /ENGAGECTL_ACCOUNT_ID.*ENGAGECTL_PASSCODE|ENGAGECTL_PASSCODE.*ENGAGECTL_ACCOUNT_ID/,
    );
    expect(refused['fix']).toContain('--profile');
  });

  test('with one passcode only', async () => {
    const refused = await error([], { ...complete, ENGAGECTL_PASSCODE_FILE: 'x' });
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
  });

  test.each([
    ['half a pair', { ENGAGECTL_ACCOUNT_ID: 'ACC-ENV', ENGAGECTL_BASE_URL: 'https://env.example' }],
    ['a whole account', complete],
  ])('from an explicit --profile, which disregards %s of the environment', async (_what, env) => {
    await saveRegion('eu1');
    const shown = await account(['--profile', 'default'], env);
    expect(shown).toMatchObject({ accountId: 'ACC-eu1', baseUrl: 'https://eu1.example' });
  });

  test('ENGAGECTL_PROFILE does not disregard the environment', async () => {
    await saveRegion('eu1');
    expect(await account([], { ...pair, ENGAGECTL_PROFILE: 'default' })).toMatchObject({
      accountId: 'ACC-ENV',
    });
  });

  test('from an explicit --profile with an explicit --base-url', async () => {
    await saveRegion('eu1');
    const args = ['--profile', 'default', '--base-url', 'http://127.0.0.1:9'];
    expect(await account(args, complete)).toMatchObject({
      accountId: 'ACC-eu1',
      baseUrl: 'http://127.0.0.1:9',
    });
  });
});

describe('the passcode', () => {
  test('is read from a file of any mode, without its last newline', async () => {
    writeFileSync(world.path('secret'), `${secrets.environment}\n`);
    chmodSync(world.path('secret'), 0o444);
    const { ENGAGECTL_PASSCODE: _, ...env } = complete;
    await account([], { ...env, ENGAGECTL_PASSCODE_FILE: 'secret' });
  });

  test('exits 2 if its file is missing, without what is set, which may be the passcode', async () => {
    const { ENGAGECTL_PASSCODE: _, ...env } = complete;
    const refused = await error([], { ...env, ENGAGECTL_PASSCODE_FILE: secrets.environment });
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2, why: 'there is no such file' });
    expect(refused['message']).toContain('ENGAGECTL_PASSCODE_FILE names no file');
    expect(JSON.stringify(refused)).not.toContain(secrets.environment);
  });

  test('exits 2 with its source and length if it is too long to be one', async () => {
    const text = 'Kq7"\\é'.repeat(900);
    writeFileSync(world.path('secret'), text);
    const { ENGAGECTL_PASSCODE: _, ...env } = complete;
    for (const more of [{ ENGAGECTL_PASSCODE: text }, { ENGAGECTL_PASSCODE_FILE: 'secret' }]) {
      const refused = await error(['-vv'], { ...env, ...more });
      expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
      expect(refused['message']).toBe(`the passcode (${Object.keys(more)[0]}) is too long`);
      expect(refused['why']).toContain('5,400 characters, more than 4,096');
      expect(JSON.stringify(refused)).not.toContain('Kq7');
    }
    const taken = { ENGAGECTL_PASSCODE: text.slice(0, 4096) };
    expect(await account([], { ...env, ...taken })).toMatchObject({ accountId: 'ACC-ENV' });
  });

  test('exits 2 naming a file that cannot be read', async () => {
    const { ENGAGECTL_PASSCODE: _, ...env } = complete;
    const refused = await error([], { ...env, ENGAGECTL_PASSCODE_FILE: world.path('.') });
    expect(refused).toMatchObject({ id: 'E-CONFIG', exitCode: 2 });
    expect(refused['message']).toContain('cannot be read from');
  });

  test.each([
    ['a newline', 'two\nlines'],
    ['a carriage return', 'pass\r'],
    ['a tab', 'pass\tcode'],
    ['a C1 control', 'pass\u0085code'],
    ['a character beyond Latin-1', 'pass€code'],
    ['a byte order mark', '\uFEFFpasscode'],
    ['a space at the end', 'passcode '],
  ])('with %s is refused and not printed', async (_what, passcode) => {
    const { code, stdout, stderr } = await world.run(['config', 'show'], {
      env: { ...complete, ENGAGECTL_PASSCODE: passcode },
    });
    expect(code).toBe(2);
    expect(stderr).toContain('ENGAGECTL_PASSCODE');
    for (const part of ['pass', 'two', 'lines']) {
      expect(stdout).not.toContain(part);
      expect(stderr.replaceAll(/passcode \(ENGAGECTL_PASSCODE\)/g, '')).not.toContain(part);
    }
  });

  test.each(['quote"inside', "it's", 'ünïcode', 'with space inside', '$(id)'])(
    'may be %s',
    async (passcode) => {
      await account([], { ...complete, ENGAGECTL_PASSCODE: passcode });
    },
  );
});

describe('--region local', () => {
  test('needs no account', async () => {
    expect(await account(['--region', 'local'])).toMatchObject({
      region: 'local',
      accountId: 'LOCAL',
    });
  });

  test('on the command line disregards the environment, half pairs included', async () => {
    expect(await account(['--region', 'local'], complete)).toMatchObject({ accountId: 'LOCAL' });
    const half = { ENGAGECTL_PASSCODE: secrets.environment };
    expect(await account(['--region', 'local'], half)).toMatchObject({ accountId: 'LOCAL' });
  });

  test('can be chosen by ENGAGECTL_REGION and config use', async () => {
    expect(await account([], { ENGAGECTL_REGION: 'local' })).toMatchObject({ accountId: 'LOCAL' });
    await saveRegion('eu1');
    await world.run(['config', 'use', 'default', '--region', 'local']);
    expect(await account()).toMatchObject({ region: 'local', accountId: 'LOCAL' });
  });

  test.each([
    ['two flags', ['--region', 'local', '--base-url', 'http://127.0.0.1:1'], {}],
    ['two variables', [], { ENGAGECTL_REGION: 'local', ENGAGECTL_BASE_URL: 'http://127.0.0.1:1' }],
  ])('excludes a base URL: %s', async (_what, args, env) => {
    expect(await error(args, env as Record<string, string>)).toMatchObject({
      id: 'E-CONFIG',
      exitCode: 2,
    });
  });

  test('cannot be the name of a saved region', async () => {
    const args = [
      'config',
      'set',
      '--region',
      'local',
      '--base-url',
      'https://x.example',
      '--account-id',
      'A',
    ];
    const { code, stderr } = await world.run(args);
    expect(code).toBe(2);
    expect(stderr).toContain('built in');
  });
});

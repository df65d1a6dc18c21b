import { execFile, execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { readConfig, updateConfig } from '../../src/config/config-file.js';
import type { Config } from '../../src/config/schema.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { makeWorld, type World } from '../support/test-environment.js';

const run = promisify(execFile);
const secret = 'pass-5d1e';
const region = { baseUrl: 'https://eu1.example', accountId: 'ACC', passcode: secret };
const saved: Config = { profiles: { default: { regions: { eu1: region } } } };

let world: World;
let file: string;
beforeEach(() => {
  world = makeWorld({ sleep: 'real' });
  file = path.join(world.configDir, 'config.json');
});

const mode = (name: string) => (statSync(name).mode & 0o777).toString(8);

describe('writing', () => {
  test.each([0o000, 0o022])(
    'creates a 0600 file in a 0700 directory, whatever the umask (%o)',
    async (umask) => {
      const before = process.umask(umask);
      try {
        await updateConfig(world.runtime(), () => saved);
      } finally {
        process.umask(before);
      }
      expect([mode(world.configDir), mode(file)]).toEqual(['700', '600']);
      expect(readdirSync(world.configDir)).toEqual(['config.json']);
      expect(await readConfig(world.runtime())).toEqual(saved);
    },
  );

  test('tightens the mode of an existing directory', async () => {
    mkdirSync(world.configDir, { mode: 0o755 });
    await updateConfig(world.runtime(), () => saved);
    expect(mode(world.configDir)).toBe('700');
  });

  test('refuses a directory that everybody can write to, without changing it', async () => {
    mkdirSync(world.configDir);
    chmodSync(world.configDir, 0o777);
    await expect(updateConfig(world.runtime(), () => saved)).rejects.toMatchObject({
      id: 'E-CONFIG-FILE',
      message: expect.stringContaining('can be written by everybody') as string,
    });
    expect(mode(world.configDir)).toBe('777');
  });

  test('keeps dotted values and unusual names', async () => {
    const odd: Config = {
      current: 'constructor',
      profiles: {
        constructor: { region: 'a-b', regions: { 'a-b': { ...region, accountId: 'a.b.c' } } },
      },
    };
    await updateConfig(world.runtime(), () => odd);
    expect(await readConfig(world.runtime())).toEqual(odd);
  });

  test('writes nothing if the change throws, and releases the lock', async () => {
    await updateConfig(world.runtime(), () => saved);
    const before = readFileSync(file);
    const failing = updateConfig(world.runtime(), () => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(readFileSync(file).equals(before)).toBe(true);
    await updateConfig(world.runtime(), (config) => config);
  });

  test('waits for a lock, then names the file to remove', async () => {
    mkdirSync(world.configDir, { mode: 0o700 });
    writeFileSync(path.join(world.configDir, 'config.lock'), '');
    let clock = 0;
    const runtime = { ...world.runtime(), monotonic: () => (clock += 1000) };
    await expect(updateConfig(runtime, () => saved)).rejects.toMatchObject({
      id: 'E-CONFIG-FILE',
      details: { fix: expect.stringContaining('config.lock') as string },
    });
  });

  test('keeps all 100 changes of 4 processes that write 25 times each', async () => {
    const store = fileURLToPath(new URL('../../build/config/config-file.js', import.meta.url));
    const script = `
      import { updateConfig } from ${JSON.stringify(store)};
      import { setTimeout as sleep } from 'node:timers/promises';
      const runtime = { env: process.env, cwd: '/', monotonic: () => performance.now(), random: () => process.pid % 10 / 10, sleep };
      for (let i = 0; i < 25; i += 1)
        await updateConfig(runtime, (config) => ({ profiles: { ...config.profiles, [process.argv[1] + i]: { regions: {} } } }));
    `;
    const env = { PATH: process.env['PATH'], ENGAGECTL_CONFIG_DIR: world.configDir };
    await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) =>
        run(process.execPath, ['--input-type=module', '-e', script, name], { env }),
      ),
    );
    const { profiles } = await readConfig(world.runtime());
    expect(Object.keys(profiles)).toHaveLength(100);
    expect(readdirSync(world.configDir)).toEqual(['config.json']);
  });
});

test('a full disk keeps the earlier file: exit 9', async () => {
  await updateConfig(world.runtime(), () => saved);
  const before = readFileSync(file, 'utf8');
  const full = `import fs from 'node:fs';
    fs.writeSync = () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    };`;
  const node = ['--import', `data:text/javascript,${encodeURIComponent(full)}`];
  const argv = ['config', 'use', 'default', '--region', 'eu1'];
  const child = new BinProcess(world, argv, {}, { node });
  expect(await child.ended()).toBe(9);
  expect(child.stderr).toContain(`error E-FILE-WRITE: ${file} could not be written`);
  expect(child.stderr).toContain('why: the disk is full');
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(readdirSync(world.configDir)).toEqual(['config.json']);
});

describe('reading', () => {
  // In a process of its own: whoever waits for the pipe cannot be stopped by a test either.
  test.skipIf(process.platform === 'win32').each([
    [['config', 'list'], 2, 'it is not a regular file'],
    [['__complete', 'profiles'], 0, ''],
  ])('a named pipe is not waited for: %j', async (argv, expected, why) => {
    mkdirSync(world.configDir, { mode: 0o700 });
    execFileSync('mkfifo', ['-m', '600', file]);
    const child = new BinProcess(world, argv);
    const timer = setTimeout(() => child.signal('SIGKILL'), 10_000);
    expect(await child.ended()).toBe(expected);
    clearTimeout(timer);
    expect(child.stderr).toContain(why);
  });

  test('reports every error of a file, without a secret', async () => {
    const wrong = {
      curent: 'default',
      profiles: {
        default: {
          accountId: 'A',
          production: 'yes',
          regions: { eu1: { baseUrl: 7, passwort: secret } },
        },
      },
    };
    mkdirSync(world.configDir, { mode: 0o700 });
    writeFileSync(file, JSON.stringify(wrong), { mode: 0o600 });
    const { code, stderr } = await world.run(['config', 'show']);
    expect(code).toBe(2);
    for (const problem of [
      'unknown member "curent"; did you mean "current"?',
      'profiles.default.production has to be boolean, not string',
      'profiles.default.regions.eu1.baseUrl has to be string, not number',
      'profiles.default.regions.eu1.accountId is missing',
      'profiles.default.regions.eu1 has an unknown member, whose name is not shown',
      'profiles.default has an unknown member "accountId";',
      'profiles.default.regions.eu1 needs a passcode or a passcode_command, and not both',
    ]) {
      expect(stderr).toContain(problem);
    }
    expect(stderr).not.toContain(secret);
  });

  test('reports every error of the region in use', async () => {
    const values = { baseUrl: 'ftp://x', accountId: ' A', passcode: 'a\nb', headerPrefix: 'X Y' };
    mkdirSync(world.configDir, { mode: 0o700 });
    const wrong = { profiles: { default: { regions: { eu1: values } } } };
    writeFileSync(file, JSON.stringify(wrong), { mode: 0o600 });
    const { code, stderr } = await world.run(['config', 'show']);
    expect(code).toBe(2);
    for (const part of ['ftp://x', 'the account id', 'the passcode', '"X Y"']) {
      expect(stderr).toContain(part);
    }
  });

  test('reads a file with a byte order mark, as some editors write', async () => {
    mkdirSync(world.configDir, { mode: 0o700 });
    writeFileSync(file, `\uFEFF${JSON.stringify(saved)}`, { mode: 0o600 });
    expect(await readConfig(world.runtime())).toEqual(saved);
  });

  const damaged: [string, string][] = [
    ['empty', ''],
    ['half written', JSON.stringify(saved).slice(0, -9)],
    ['no object', '[]'],
    ['with a misspelt key', JSON.stringify({ ...saved, curent: 'default' })],
    [
      'with a number for a name',
      JSON.stringify({ profiles: { default: { regions: { eu1: { ...region, accountId: 7 } } } } }),
    ],
    ['of NUL bytes', '\0\0\0\0'],
  ];
  test.each(damaged)(
    'exits 2 naming a file that is %s, without a stack trace or secret',
    async (_what, text) => {
      mkdirSync(world.configDir, { mode: 0o700 });
      writeFileSync(file, text, { mode: 0o600 });
      for (const command of [
        ['config', 'show'],
        ['config', 'list'],
        ['config', 'use', 'default'],
      ]) {
        const { code, stdout, stderr } = await world.run([...command, '--verbose']);
        expect(code).toBe(2);
        expect(stdout).toBe('');
        expect(stderr).toContain('E-CONFIG-FILE');
        expect(stderr).toContain(file);
        expect(stderr).not.toContain('    at ');
        expect(stderr).not.toContain(secret);
      }
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  test.each([
    ['file', () => file, 0o640, 'chmod 600'],
    ['file', () => file, 0o604, 'chmod 600'],
    ['folder', () => world.configDir, 0o750, 'chmod 700'],
  ])(
    'refuses a %s with a looser mode, and prints the chmod to type',
    async (_what, name, loose, fix) => {
      await updateConfig(world.runtime(), () => saved);
      chmodSync(name(), loose);
      const { code, stderr } = await world.run(['config', 'show']);
      expect(code).toBe(2);
      expect(stderr).toContain(`${fix} ${name()}`);
    },
  );

  test('refuses a symbolic link', async () => {
    await updateConfig(world.runtime(), () => saved);
    const elsewhere = world.path('elsewhere.json');
    writeFileSync(elsewhere, readFileSync(file), { mode: 0o600 });
    const linked = makeWorld();
    mkdirSync(linked.configDir, { mode: 0o700 });
    symlinkSync(elsewhere, path.join(linked.configDir, 'config.json'));
    const { code, stderr } = await linked.run(['config', 'show']);
    expect(code).toBe(2);
    expect(stderr).toContain('symbolic link');
  });

  test('refuses a directory in place of the file', async () => {
    mkdirSync(file, { recursive: true, mode: 0o700 });
    const { code, stderr } = await world.run(['config', 'show']);
    expect(code).toBe(2);
    expect(stderr).toContain('it is a folder');
  });

  test('finds no profile if there is no file, and creates no directory', async () => {
    expect(await readConfig(world.runtime())).toEqual({ profiles: {} });
    expect(() => statSync(world.configDir)).toThrow('ENOENT');
  });
});

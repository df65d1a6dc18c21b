import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeEnv } from '../../src/calling/node/index.js';
import { WorkDirectory } from '../../src/fleet/fleet-run.js';
import { WorkDirs } from '../../src/fleet/worker.js';
import { fingerprint } from '../../src/jobs/run/run-folder.js';
import { startService, type TestService } from '../../src/testing.js';
import { accountAt } from '../support/account-environment.js';
import { serve } from '../support/serve.js';
import { makeWorld, type World, type WorldOptions } from '../support/test-environment.js';

// Whoever can write to the directories of the tool could choose what it runs, sends and removes. They have to
// belong to the user or root, and neither group nor others may write to them.

const trusting = { ENGAGECTL_TRUST_GROUP: '1' };

/** A service, and a world with one unfinished run of an upload. */
async function interrupted(options: WorldOptions = {}) {
  const { service, world } = await serve({}, options);
  return { service, world, ...(await interruptUpload(world, service)) };
}

/** The first of two users is uploaded, and the service fails at the other. */
async function interruptUpload(world: World, service: TestService) {
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\nbob,Rome\n');
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  const argv = 'upload users.csv --chunk-size 1 --concurrency 1'.split(' ');
  const { code, stderr } = await world.run(argv);
  expect(code, stderr).toBe(4);
  const runs = path.join(world.stateDir, 'runs');
  const run = readdirSync(runs).find((name) => !name.startsWith('.')) ?? '';
  return { runs, run, folder: path.join(runs, run) };
}

/** Of a user who is not the one that the command runs as, in a way that works for root and others. */
function giveAway(...files: readonly string[]): WorldOptions {
  const own = process.getuid!();
  if (own !== 0) return { uid: own + 1 };
  for (const file of files) chownSync(file, 4711, 4711);
  return {};
}

const places: [what: string, of: (found: { world: World; folder: string }) => string][] = [
  ['the state directory', ({ world }) => world.stateDir],
  ['runs/', ({ world }) => path.join(world.stateDir, 'runs')],
  ['the directory of a run', ({ folder }) => folder],
  ['the header of a run', ({ folder }) => path.join(folder, 'run.json')],
];

describe.each(places)('%s', (_what, of) => {
  const commands = [
    (run: string) => ['runs', 'resume', run],
    () => ['upload', 'users.csv', '--resume'],
    () => ['runs', 'prune', '--yes'],
    () => ['runs', 'list'],
  ];

  it.each([
    ['group', 0o020, 'chmod go-w .*ENGAGECTL_TRUST_GROUP=1'],
    ['others', 0o002, 'chmod go-w '],
  ])('is refused if its %s can write to it', async (_who, bit, fix) => {
    const { world, service, run, folder } = await interrupted();
    const place = of({ world, folder });
    const sent = service.requests().length;
    chmodSync(place, statSync(place).mode | bit);
    for (const argv of commands) {
      const { code, stderr } = await world.run(argv(run));
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`E-CONFIG-FILE: ${place} can be written by `);
      expect(stderr).toMatch(new RegExp(`fix: .*${fix}`));
    }
    expect(service.requests()).toHaveLength(sent);
    expect(existsSync(path.join(folder, 'run.json'))).toBe(true);
  });

  it('is refused when it belongs to another user', async () => {
    const { world, service, run, folder } = await interrupted();
    const place = of({ world, folder });
    const sent = service.requests().length;
    const as = giveAway(place);
    for (const argv of commands) {
      const { code, stderr } = await world.run(argv(run), as);
      expect(code, stderr).toBe(2);
      expect(stderr).toMatch(/E-CONFIG-FILE: .* belongs to another user \(uid \d+\)/);
    }
    expect(service.requests()).toHaveLength(sent);
    expect(existsSync(path.join(folder, 'run.json'))).toBe(true);
  });
});

it('accepts a volume that its group can write to with ENGAGECTL_TRUST_GROUP=1', async () => {
  const { world, service, run, folder, runs } = await interrupted();
  // As Kubernetes does by fsGroup, each time that a volume is mounted.
  for (const each of [world.stateDir, runs, folder]) chmodSync(each, 0o2770);
  for (const each of readdirSync(folder)) chmodSync(path.join(folder, each), 0o660);
  const before = service.requests().length;
  expect(await world.run(['runs', 'resume', run])).toMatchObject({ code: 2 });
  expect(service.requests()).toHaveLength(before);
  const resumed = await world.run(['runs', 'resume', run], { env: trusting });
  expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
  expect(service.requests()).toHaveLength(before + 1);
  expect(readdirSync(runs)).toEqual([]);
});

it('accepts nothing that everybody can write to with ENGAGECTL_TRUST_GROUP=1', async () => {
  const { world, run } = await interrupted();
  chmodSync(world.stateDir, 0o777);
  expect(await world.run(['runs', 'resume', run], { env: trusting })).toMatchObject({ code: 2 });
});

describe('config, data and change tracking', () => {
  const set = [
    ...'config set --region eu1 --base-url https://a.example --account-id A'.split(' '),
    '--passcode-stdin',
  ];

  it('a config directory that its group can write to is refused, or trusted', async () => {
    const world = makeWorld();
    mkdirSync(world.configDir);
    chmodSync(world.configDir, 0o2770);
    const refused = await world.run(set, { stdin: 'secret\n' });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('E-CONFIG-FILE') });
    expect(refused.stderr).toContain('ENGAGECTL_TRUST_GROUP=1');
    expect(readdirSync(world.configDir)).toEqual([]);
    expect(await world.run(set, { stdin: 'secret\n', env: trusting })).toMatchObject({ code: 0 });
    chmodSync(path.join(world.configDir, 'config.json'), 0o660);
    expect(await world.run(['config', 'show'])).toMatchObject({ code: 2 });
    expect(await world.run(['config', 'show'], { env: trusting })).toMatchObject({ code: 0 });
  });

  it("a passcode_command in somebody else's config file does not run", async () => {
    const world = makeWorld();
    const command = `touch ${world.path('ran')}; echo secret`;
    const argv = [...set.slice(0, -1), '--no-check', '--passcode-command', command];
    expect(await world.run(argv)).toMatchObject({ code: 0 });
    const as = giveAway(path.join(world.configDir, 'config.json'));
    const { code, stderr } = await world.run(['config', 'check'], as);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain('belongs to another user');
    expect(existsSync(world.path('ran'))).toBe(false);
  });

  it.each([{}, { ENGAGECTL_ACCOUNT_ID: 'A', ENGAGECTL_PASSCODE: 'p' }])(
    'serve --data refuses a directory that others can write to: %o',
    async (env) => {
      const world = makeWorld({ env });
      mkdirSync(world.path('data'));
      chmodSync(world.path('data'), 0o775);
      const { code, stderr } = await world.run('serve --port 0 --data data'.split(' '));
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`E-CONFIG-FILE: ${world.path('data')} can be written by its group`);
      expect(readdirSync(world.path('data'))).toEqual([]);
    },
  );

  it('upload --changed refuses a baseline that others can write to', async () => {
    const { world, service } = await serve();
    writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\n');
    expect(await world.run(['upload', 'users.csv', '--changed'])).toMatchObject({ code: 0 });
    const before = service.requests().length;
    chmodSync(path.join(world.stateDir, 'memory'), 0o770);
    expect(await world.run(['upload', 'users.csv', '--changed'])).toMatchObject({ code: 2 });
    expect(service.requests()).toHaveLength(before);
  });
});

describe('the device id of call listen', () => {
  const uuid = '0b53d8a5-6b4e-4c7c-9b11-5a3d2f0e9c01';
  const listen = (world: World, as: WorldOptions = {}) => {
    const argv = 'call listen --cuid ann_1 --region eu1 --call-url ws://127.0.0.1:9'.split(' ');
    const env = { ENGAGECTL_CALL_ACCOUNT_ID: 'A', ENGAGECTL_CALL_API_KEY: 'k' };
    return world.run(argv, { env, ...as });
  };
  const planted = () => {
    const world = makeWorld();
    const folder = path.join(world.stateDir, 'devices');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return { world, folder, file: path.join(folder, 'ann_1') };
  };

  it('is neither read nor created where everybody can write', async () => {
    for (const place of ['state', 'devices'] as const) {
      const { world, folder, file } = planted();
      const shared = place === 'state' ? world.stateDir : folder;
      chmodSync(shared, 0o1777);
      const { code, stderr } = await listen(world);
      expect(code, stderr).toBe(2);
      expect(stderr).toContain(`E-CONFIG-FILE: ${shared} can be written by everybody`);
      expect(existsSync(file)).toBe(false);
    }
  });

  it.each(['the state directory', 'devices', 'the file'])(
    'is refused if %s belongs to another user',
    async (what) => {
      const { world, folder, file } = planted();
      writeFileSync(file, `${uuid}\n`, { mode: 0o600 });
      const places: Record<string, string> = { devices: folder, 'the file': file };
      const { code, stderr } = await listen(world, giveAway(places[what] ?? world.stateDir));
      expect(code, stderr).toBe(2);
      expect(stderr).toMatch(/E-CONFIG-FILE: .* belongs to another user \(uid \d+\)/);
    },
  );

  it('is created in no folder that a link of another user leads to', async () => {
    const { world, folder } = planted();
    const chosen = world.path('chosen');
    renameSync(folder, chosen);
    symlinkSync(chosen, folder);
    if (process.getuid!() === 0) lchownSync(folder, 4711, 4711);
    const as = process.getuid!() === 0 ? {} : { uid: process.getuid!() + 1 };
    const { code, stderr } = await listen(world, as);
    expect(code, stderr).toBe(2);
    expect(readdirSync(chosen)).toEqual([]);
  });

  it.each<[what: string, plant: (file: string, secret: string) => void]>([
    ['it is a symbolic link', (file, secret) => symlinkSync(secret, file)],
    ['it is not a regular file', (file) => execFileSync('mkfifo', ['-m', '600', file])],
    ['it does not contain a device id', (file) => writeFileSync(file, 'pass', { mode: 0o600 })],
    [
      'it does not contain a device id',
      (file) => writeFileSync(file, `${uuid}\n`.repeat(9), { mode: 0o600 }),
    ],
  ])('is not taken from such a file: %s', async (why, plant) => {
    const { world, file } = planted();
    writeFileSync(world.path('secret'), uuid);
    plant(file, world.path('secret'));
    const { code, stderr } = await listen(world);
    expect(code, stderr).toBe(9);
    expect(stderr).toContain(`E-FILE-READ: the device id in ${file} cannot be read`);
    expect(stderr).toContain(`why: ${why}`);
    expect(stderr).not.toContain(uuid);
  });

  it('is kept by nodeEnv, which does not follow the links or read the files of others', async () => {
    const { folder, file } = planted();
    const env = (deviceIdFile: string) =>
      nodeEnv({ url: 'ws://127.0.0.1:9', core: { accountId: 'C' }, deviceIdFile });
    const { deviceId } = await env(file);
    expect(await env(file)).toMatchObject({ deviceId });
    expect(readFileSync(file, 'utf8')).toBe(`${deviceId}\n`);
    if (process.getuid!() !== 0) return;
    chownSync(file, 4711, 4711);
    await expect(env(file)).rejects.toThrow('it is a file of another user (uid 4711)');
    const link = `${folder}-link`;
    symlinkSync(folder, link);
    lchownSync(link, 4711, 4711);
    await expect(env(path.join(link, 'bob_1'))).rejects.toThrow('its folder is a symbolic link of');
    expect(readdirSync(folder)).toEqual(['ann_1']);
  });
});

it.each(['own', 'foreign'])('refuses --log-file of %s owner', async (whose) => {
  const world = makeWorld();
  const log = world.path('run.log');
  writeFileSync(log, '');
  const as = whose === 'own' ? {} : giveAway(log);
  const { code, stderr } = await world.run(['config', 'list', '--log-file', 'run.log'], as);
  if (whose === 'own') {
    expect(readFileSync(log, 'utf8')).toContain('engagectl config list');
    return;
  }
  expect(code, stderr).toBe(2);
  expect(stderr).toMatch(/E-CONFIG-FILE: .*run\.log belongs to another user \(uid \d+\)/);
  expect(stderr).toContain('fix: name another file with --log-file <file>');
  expect(readFileSync(log, 'utf8')).toBe('');
});

describe('the work directory of a fleet', () => {
  const env = { ...accountAt('http://127.0.0.1:1', 'p'), ENGAGECTL_QUEUE: 'redis://127.0.0.1:1' };
  const fleet = () => {
    const world = makeWorld({ env });
    writeFileSync(world.path('users.csv'), 'identity\nann\n');
    mkdirSync(world.path('work/0123456789ab'), { recursive: true, mode: 0o700 });
    const submit = 'fleet submit upload users.csv --shards 2 --work-dir work'.split(' ');
    return { world, submit, place: world.path('work') };
  };

  it.each([
    ['group', 0o770],
    ['others', 0o707],
  ])('is refused by submit and workers if its %s can write to it', async (_who, mode) => {
    const { world, submit, place } = fleet();
    expect(new WorkDirs([place, world.path('none')], world.runtime()).missing()).toHaveLength(1);
    chmodSync(place, mode);
    const { code, stderr } = await world.run(submit);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(`E-CONFIG-FILE: ${place} can be written by `);
    const rejects = expect.objectContaining({ id: 'E-CONFIG-FILE' }) as Error;
    expect(() => new WorkDirs([place], world.runtime())).toThrow(rejects);
    const folder = new WorkDirectory(place, '0123456789ab');
    expect(() => folder.refuseUntrusted(world.runtime())).toThrow(rejects);
    if (mode !== 0o770) return;
    const trusted = world.runtime({ env: trusting });
    new WorkDirs([place], trusted).refuseOthers(place);
    folder.refuseUntrusted(trusted);
  });

  it('is refused if another user owns it or a run in it', async () => {
    const { world, submit, place } = fleet();
    const run = new WorkDirectory(place, '0123456789ab');
    const rejects = expect.objectContaining({ id: 'E-CONFIG-FILE' }) as Error;
    const inner = world.runtime(giveAway(run.path));
    expect(() => run.refuseUntrusted(inner)).toThrow(rejects);
    const as = giveAway(place);
    expect(() => new WorkDirs([place], world.runtime(as))).toThrow(rejects);
    const { code, stderr } = await world.run(submit, as);
    expect(code, stderr).toBe(2);
    expect(stderr).toContain(`E-CONFIG-FILE: ${place} belongs to another user`);
    expect(stderr).toContain('--work-dir (fleet)');
  });

  it('is checked if it appears after the start of the worker', () => {
    const { world } = fleet();
    const late = world.path('late');
    const dirs = new WorkDirs([late], world.runtime());
    mkdirSync(late);
    chmodSync(late, 0o777);
    const rejects = expect.objectContaining({ id: 'E-CONFIG-FILE' }) as Error;
    expect(() => dirs.refuseOthers(late)).toThrow(rejects);
  });
});

/** Writes the header anew, with a checksum that fits. */
function plantHeader(folder: string, change: Readonly<Record<string, unknown>>): void {
  const file = path.join(folder, 'run.json');
  const { checksum: _, ...header } = JSON.parse(readFileSync(file, 'utf8')) as object & {
    checksum: string;
  };
  const planted = { ...header, ...change };
  writeFileSync(file, JSON.stringify({ ...planted, checksum: fingerprint(planted) }));
}

it.each([
  ['key', '/../../victim'],
  ['key', 7],
  ['argv', 'upload'],
  ['cwd', null],
])('neither removes nor resumes a run with a planted %s', async (member, planted) => {
  const { world, run, folder } = await interrupted();
  const victim = path.join(world.stateDir, '..', 'victim');
  mkdirSync(victim);
  writeFileSync(path.join(victim, 'file'), 'precious');
  plantHeader(folder, { [member]: planted });
  rmSync(path.join(folder, 'journal.ndjson')); // it holds a header, too
  await world.run(['runs', 'prune', '--yes']);
  await world.run(['runs', 'prune', '--yes']);
  expect(readFileSync(path.join(victim, 'file'), 'utf8')).toBe('precious');
  expect(existsSync(folder)).toBe(true);
  expect(await world.run(['runs', 'resume', run])).toMatchObject({ code: 2 });
  const { stdout } = await world.run(['runs', 'list', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({ runs: [{ run, unreadable: expect.any(String) }] });
});

it('does not remove a run with the id of another directory', async () => {
  const { world, folder } = await interrupted();
  plantHeader(folder, { run: '../victim' });
  const victim = path.join(world.stateDir, 'victim');
  renameSync(folder, victim);
  await world.run(['runs', 'prune', '--yes']);
  expect(existsSync(path.join(victim, 'run.json'))).toBe(true);
});

describe('a resumed run', () => {
  it('sends a saved passcode only to the address of its profile', async () => {
    await using attacker = await startService();
    const { world, service, run, folder } = await interruptedWithProfile();
    const sent = service.requests().length;
    const url = attacker.env['ENGAGECTL_BASE_URL']!;
    plantHeader(folder, {
      argv: ['upload', 'users.csv', '--base-url', url],
      host: new URL(url).host,
    });
    const { code, stderr } = await world.run(['runs', 'resume', run]);
    expect(code, stderr).toBe(8);
    expect(stderr).toContain(`E-RUN-CHANGED: run ${run} was started with --base-url ${url}`);
    expect(attacker.requests()).toEqual([]);
    expect(service.requests()).toHaveLength(sent);
    // The address of the account, and what is typed, are good.
    const own = service.env['ENGAGECTL_BASE_URL']!;
    plantHeader(folder, {
      argv: ['upload', 'users.csv', '--base-url', own],
      host: new URL(own).host,
    });
    expect(await world.run(['runs', 'resume', run])).toMatchObject({ code: 0 });
  });

  it('accepts an address that is typed', async () => {
    const { world, service, run, folder } = await interruptedWithProfile();
    const own = service.env['ENGAGECTL_BASE_URL']!;
    plantHeader(folder, { argv: ['upload', 'users.csv', '--base-url', 'https://x.example'] });
    const argv = ['runs', 'resume', run, '--base-url', own];
    expect(await world.run(argv)).toMatchObject({ code: 0 });
  });
});

/** As `interrupted`, with an account that is saved instead of in the environment. */
async function interruptedWithProfile() {
  const service = await startService();
  const world = makeWorld();
  world.test.onTestFinished(() => service.close());
  const { ENGAGECTL_BASE_URL: url = '', ENGAGECTL_ACCOUNT_ID: id = '', ...env } = service.env;
  const set = ['config', 'set', '--region', 'eu1', '--base-url', url, '--account-id', id];
  const stdin = env['ENGAGECTL_PASSCODE']!;
  expect(await world.run([...set, '--passcode-stdin'], { stdin })).toMatchObject({ code: 0 });
  return { world, service, ...(await interruptUpload(world, service)) };
}

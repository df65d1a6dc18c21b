import { readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { makeWorld, type World } from '../support/test-environment.js';
import { accountAt } from '../support/account-environment.js';

// A run folder that this version cannot read: nothing is done again in silence, and nothing is lost.

const upload = ['upload', 'users.csv', '--max-attempts', '1'];

/** A world with a run whose header `change` rewrites. */
function worldWith(change: (header: Record<string, unknown>) => string, argv = upload) {
  const world = makeWorld({ env: accountAt('http://127.0.0.1:9', 'passcode') });
  writeFileSync(world.path('users.csv'), 'identity\nu1\n');
  return begun(world, change, argv);
}

async function begun(
  world: World,
  change: (header: Record<string, unknown>) => string,
  argv: readonly string[],
) {
  const { createRun, runKey } = await import('../../src/jobs/run/run-folder.js');
  const runs = path.join(world.stateDir, 'runs');
  const what = {
    command: 'upload',
    accountId: 'ACCOUNT-1',
    host: '127.0.0.1:9',
    files: [world.path('users.csv')],
  };
  const { makeStateFolder } = await import('../../src/jobs/run/run-folder.js');
  makeStateFolder(runs);
  const { path: folder, header } = createRun(runs, {
    version: 2,
    run: '20261121-044512-7kq2',
    key: runKey(what),
    ...what,
    argv,
    cwd: world.cwd,
    started: '2026-11-21T04:45:12.000Z',
    options: 'x',
  });
  const file = path.join(folder, 'run.json');
  const text = change({ ...header });
  writeFileSync(file, text);
  return { world, folder, unchanged: () => readFileSync(file, 'utf8') === text };
}

const later = (header: Record<string, unknown>) => JSON.stringify({ ...header, version: 3 });

it.each([
  ['with --resume', ['--resume']],
  ['without', []],
  ['without a journal', ['--no-journal']],
])('of a later version is refused, %s: exit 8', async (_, more) => {
  const { world, folder, unchanged } = await worldWith(later);
  const { code, stderr } = await world.run([...upload, ...more]);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-VERSION')]);
  for (const said of [folder, 'version 3', '--fresh', 'move the folder away']) {
    expect(stderr).toContain(said);
  }
  expect(unchanged()).toBe(true);
});

it('of a later version without an owner is refused too', async () => {
  const { world } = await worldWith(() => '{"version":4}');
  const { code, stderr } = await world.run([...upload, '--resume']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('version 4')]);
});

it('of a later version keeps its directory, and --fresh starts a new run', async () => {
  const { world, unchanged } = await worldWith(later);
  expect((await world.run([...upload, '--fresh'])).code).toBe(5);
  expect(unchanged()).toBe(true);
});

it('of another command is ignored', async () => {
  const { world } = await worldWith((header) => later({ ...header, command: 'subscribe' }));
  expect((await world.run([...upload, '--resume'])).code).toBe(5);
});

it.each([
  ['cut', () => '{"version":2,"run"'],
  ['empty', () => ''],
  ['with a flipped bit', (header) => JSON.stringify({ ...header, checksum: 'ab' })],
  ['of another version by a flipped bit', (header) => later({ ...header, checksum: 'ab' })],
] satisfies [string, (header: Record<string, unknown>) => string][])(
  'with a header that is %s is found by its journal',
  async (_, change) => {
    const { world, folder } = await worldWith(change);
    const other = await world.run([...upload, '--resume']);
    expect([other.code, other.stderr]).toEqual([8, expect.stringContaining('E-RUN-CHANGED')]);
    const listed = await world.run(['runs', 'list', '--json']);
    const expected = { runs: [expect.objectContaining({ folder, accountId: 'ACCOUNT-1' })] };
    expect(JSON.parse(listed.stdout)).toMatchObject(expected);
    expect((await world.run([...upload, '--fresh'])).code).toBe(5);
  },
);

it('with a damaged header and journal is refused with --resume, and reported without', async () => {
  const { world, folder, unchanged } = await worldWith(() => '{"version":2,"run"');
  writeFileSync(path.join(folder, 'journal.ndjson'), '');
  const resumed = await world.run([...upload, '--resume']);
  expect([resumed.code, resumed.stderr]).toEqual([8, expect.stringContaining(folder)]);
  const anew = await world.run(upload);
  expect([anew.code, anew.stderr]).toEqual([
    5,
    expect.stringContaining(`${folder} cannot be read`),
  ]);
  expect(unchanged()).toBe(true);
});

it('that is not a run is skipped', async () => {
  const { world, folder } = await worldWith(later);
  for (const name of readdirSync(folder)) rmSync(path.join(folder, name));
  expect((await world.run([...upload, '--resume'])).code).toBe(5);
  expect(readdirSync(folder)).toEqual([]);
});

it('is listed by runs list', async () => {
  const { world, folder } = await worldWith(later);
  expect((await world.run(['runs', 'list'])).stderr).toContain(`${folder} cannot be read`);
  const { stdout } = await world.run(['runs', 'list', '--json']);
  const unreadable = expect.stringContaining('version 3') as string;
  expect(JSON.parse(stdout)).toMatchObject({
    runs: [{ run: path.basename(folder), folder, unreadable }],
  });
});

it('of a program that uses the library is resumed by that program', async () => {
  const { world } = await worldWith(() => '', []);
  const { code, stderr } = await world.run(['runs', 'resume', '20261121-044512-7kq2']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('was started by a program')]);
});

it('in a renamed directory is refused, because a copy does not know what was sent since', async () => {
  const { world, folder } = await worldWith((header) => JSON.stringify(header));
  const copy = `${folder}-copy`;
  renameSync(folder, copy);
  const { code, stderr } = await world.run([...upload, '--resume']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-VERSION')]);
  const again = `give it the name ${path.basename(folder)} again`;
  for (const said of [copy, 'copied or renamed', again, 'move it away']) {
    expect(stderr).toContain(said);
  }
});

// A link to itself cannot be read by anybody, whereas root may read each folder.
it('in a folder that cannot be read is not taken for none', async () => {
  const { world, folder } = await worldWith(later);
  rmSync(folder, { recursive: true });
  symlinkSync(folder, folder);
  const listed = await world.run(['runs', 'list']);
  expect(listed.stderr).toContain(`the run folder ${folder} cannot be read`);
  const { code, stderr } = await world.run([...upload, '--resume']);
  expect([code, stderr]).toEqual([8, expect.stringContaining('E-RUN-VERSION')]);
});

it('is not said to be absent if the folder of all runs cannot be read', async () => {
  const { world, folder } = await worldWith(later);
  const runs = path.dirname(folder);
  rmSync(runs, { recursive: true });
  symlinkSync(runs, runs);
  for (const argv of [
    ['runs', 'list'],
    ['runs', 'prune', '--yes'],
  ]) {
    const { code, stderr } = await world.run(argv);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${runs} cannot be read`)]);
  }
});

import { execFileSync } from 'node:child_process';
import { pbkdf2 } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  rmSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import { resolveTarget } from '../../src/output/partial-file.js';
import { lockRun } from '../../src/files/file-lock.js';
import { Database } from '../../src/service/store/database.js';
import { mergeRejects } from '../../src/jobs/rejects.js';
import { openVoice } from '../../src/jobs/calling/voice.js';
import { BinProcess, canRunAs } from '../support/processes/bin-process.js';
import { serve } from '../support/serve.js';
import { recordsPage, startPageServer } from '../support/servers/page-server.js';
import { makeWorld, type World } from '../support/test-environment.js';

// Whoever may create files in a directory plants symbolic links at names that the tool writes. No file they
// lead to changes, whether the tool replaces the link or refuses it.

const content = 'content of a file that the tool may not change\n';

interface Planted {
  /** Fails unless the file that each link leads to is as it was. */
  expectUntouched(): void;
}

/** Plants a link at each name, in the world's working directory. */
function plant(world: World, ...names: readonly string[]): Planted {
  const victims = names.map((name, at) => {
    const victim = path.join(world.cwd, '..', `victim-${at}`);
    writeFileSync(victim, content);
    const link = world.path(name);
    mkdirSync(path.dirname(link), { recursive: true, mode: 0o700 });
    symlinkSync(victim, link);
    return { name, victim };
  });
  return {
    expectUntouched: () => {
      const found = victims.map(({ name, victim }) => [name, readFileSync(victim, 'utf8')]);
      expect(found).toEqual(victims.map(({ name }) => [name, content]));
    },
  };
}

it('replaces links with --gone', async () => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\nbob,Rome\n');
  expect(await world.run(['upload', 'users.csv', '--changed'])).toMatchObject({ code: 0 });
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\n');
  const links = plant(world, 'gone.csv', 'gone.csv.partial');
  const again = await world.run(['upload', 'users.csv', '--changed', '--gone', 'gone.csv']);
  expect(again, again.stderr).toMatchObject({ code: 0 });
  links.expectUntouched();
  expect(readFileSync(world.path('gone.csv'), 'utf8')).toBe('bob\n');
});

it
  .runIf(process.getuid?.() === 0)
  .each([
    ['verify users.csv -o planted --overwrite'],
    ['export-profiles --event A --from 7d --to today -o planted.ndjson --overwrite'],
    ['get-profile ann -o planted --overwrite'],
    ['cuid derive users.csv --from identity -o planted.csv --overwrite'],
    ['upload users.csv --preview --write-mapping planted --overwrite'],
  ])('%s refuses a link that belongs to another user', async (line) => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\n');
  const names = ['planted', 'planted.csv', 'planted.ndjson'];
  const links = plant(world, ...names);
  for (const name of names) lchownSync(world.path(name), 4711, 4711);
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toMatch(
    /E-FILE-WRITE: planted\S* is a symbolic link of another user \(uid 4711\)/,
  );
  expect(code).toBe(9);
  links.expectUntouched();
});

it.runIf(process.getuid?.() === 0).each([
  [0, false],
  [4711, true],
])('runs prune behind a link of user %i leaves the files: %s', async (owner, leaves) => {
  const failing = { status: 500, body: '{"status":"fail"}' };
  await using server = await startPageServer(() => [recordsPage('{"d":1}'), () => failing]);
  const world = makeWorld({ env: server.env });
  mkdirSync(world.path('out'));
  const range = ['--event', 'A', '--from', '2024-01-01', '--to', '2024-01-01'];
  const argv = ['export-profiles', ...range, '-o', 'out/all.ndjson', '--max-attempts', '1'];
  expect(await world.run(argv)).toMatchObject({ code: 5 });
  rmSync(world.path('out'), { recursive: true });
  mkdirSync(world.path('chosen'));
  const partial = world.path('chosen/all.ndjson.partial');
  writeFileSync(partial, '');
  symlinkSync('chosen', world.path('out'));
  lchownSync(world.path('out'), owner, owner);
  const { code, stderr } = await world.run(['runs', 'prune', '--yes']);
  expect([code, stderr]).toEqual([0, expect.stringContaining('forgot 1 of 1 unfinished run')]);
  expect(existsSync(partial)).toBe(leaves);
});

it.runIf(process.getuid?.() === 0)(
  'follows no link of another user that is planted while the output is looked at',
  async () => {
    const world = makeWorld();
    const victim = path.join(world.cwd, '..', 'victim');
    writeFileSync(victim, content);
    // Whatever is read asynchronously is read after the link was planted.
    const hash = promisify(pbkdf2);
    const busy = Array.from({ length: 16 }, () => hash('a', 'b', 100_000, 64, 'sha512'));
    const resolving = resolveTarget('planted', { ...world.runtime(), option: unnamedOption });
    symlinkSync(victim, world.path('planted'));
    lchownSync(world.path('planted'), 4711, 4711);
    expect(await resolving).toMatchObject({ kind: 'file', path: world.path('planted') });
    await Promise.all(busy);
  },
);

it.runIf(process.getuid?.() === 0)(
  'takes no file of another user for a day that was exported, if everybody can create files there',
  async () => {
    const { world } = await serve();
    const args = 'export-events --event A --from 2025-10-01 --to 2025-10-01 --missing -o'.split(
      ' ',
    );
    const run = (folder: string) => world.run([...args, `${folder}/{day}.ndjson`]);
    const modes = { shared: 0o1777, team: 0o775 };
    for (const [folder, mode] of Object.entries(modes)) {
      mkdirSync(world.path(folder));
      chmodSync(world.path(folder), mode);
      const planted = world.path(`${folder}/2025-10-01.ndjson`);
      writeFileSync(planted, '{}\n');
      chownSync(planted, 4711, 4711);
    }
    const { code, stderr } = await run('shared');
    expect(stderr).toContain('2025-10-01.ndjson is a file of another user (uid 4711)\n');
    expect(code).toBe(9);
    expect(await run('team')).toMatchObject({ code: 0 });
  },
);

it
  .runIf(process.getuid?.() === 0)
  .each([
    ['export-profiles --event A --from 7d --to today -o out/all.ndjson'],
    ['get-profile ann -o out/ann.json'],
    ['cuid derive users.csv --from identity -o out/cuids.csv'],
    ['upload users.csv --preview --write-mapping out/mapping.json'],
    ['upload users.csv --rejects out/rejects.ndjson'],
    ['upload users.csv --report out/report.html'],
    ['upload users.csv --changed --gone out/gone.csv'],
    ['upload users.csv --log-file out/upload.log'],
    ['export-profiles --event A --from 7d --to today -o indirect/all.ndjson'],
  ])('%s refuses a folder that a link of another user leads to', async (line) => {
  const { world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\n');
  mkdirSync(world.path('chosen'));
  symlinkSync('chosen', world.path('out'));
  symlinkSync(world.path('out'), world.path('indirect'));
  lchownSync(world.path('out'), 4711, 4711);
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toMatch(/E-FILE-WRITE: \S*out is a symbolic link of another user \(uid 4711\)/);
  expect(code).toBe(9);
  expect(readdirSync(world.path('chosen'))).toEqual([]);
});

it
  .runIf(process.getuid?.() === 0)
  .each([
    ['verify users.csv -o planted --overwrite'],
    ['export-profiles --event A --from 7d --to today -o planted.ndjson'],
    ['export-events --event A --from 7d --to yesterday -o planted --overwrite'],
    ['get-profile ann -o planted'],
    ['cuid derive users.csv --from identity -o planted.csv'],
  ])('%s refuses a named pipe of another user, who could read the records', async (line) => {
  const { service, world } = await serve();
  writeFileSync(world.path('users.csv'), 'identity,City\nann,Oslo\n');
  for (const name of ['planted', 'planted.csv', 'planted.ndjson']) {
    execFileSync('mkfifo', [world.path(name)]);
    lchownSync(world.path(name), 4711, 4711);
  }
  const { code, stderr } = await world.run(line.split(' '));
  expect(stderr).toMatch(/E-FILE-WRITE: planted\S* is a named pipe of another user \(uid 4711\)/);
  expect(code).toBe(9);
  expect(service.requests()).toEqual([]);
});

it('refuses a link with --record, and follows none beside it', async () => {
  const world = makeWorld();
  const links = plant(world, 'beside.wav.partial', 'linked.wav');
  const beside = await openVoice({ record: 'beside.wav' }, { runtime: world.runtime() });
  await beside.close();
  await expect(
    openVoice({ record: 'linked.wav' }, { runtime: world.runtime() }),
  ).rejects.toMatchObject({ id: 'E-OUTPUT-EXISTS' });
  if (process.getuid?.() === 0) {
    symlinkSync('.', world.path('out'));
    lchownSync(world.path('out'), 4711, 4711);
    const voice = openVoice({ record: 'out/a.wav' }, { runtime: world.runtime() });
    await expect(voice).rejects.toThrow('out is a symbolic link of another user (uid 4711)');
  }
  links.expectUntouched();
  expect(readFileSync(world.path('beside.wav'), 'latin1').slice(0, 4)).toBe('RIFF');
});

it('collects rejects files of a fleet without following links', async () => {
  const world = makeWorld();
  writeFileSync(world.path('part'), '{"source":"in.csv","line":1}\n');
  const links = plant(world, 'all.ndjson', 'all.ndjson.new', 'all.ndjson.1');
  const merge = (target: string) =>
    mergeRejects(
      [{ file: world.path('part'), lines: 1 }],
      ['in.csv'],
      world.path(target),
      world.runtime(),
    );
  expect(await merge('all.ndjson')).toBe(1);
  links.expectUntouched();
  expect(readFileSync(world.path('all.ndjson'), 'utf8')).toBe('{"source":"in.csv","line":1}\n');
});

it.skipIf(process.getuid?.() !== 0)(
  'collects rejects into no folder behind a link of another user',
  async () => {
    const world = makeWorld();
    writeFileSync(world.path('part'), '{"source":"in.csv","line":1}\n');
    mkdirSync(world.path('chosen'));
    symlinkSync('chosen', world.path('out'));
    lchownSync(world.path('out'), 4711, 4711);
    const merged = mergeRejects(
      [{ file: world.path('part'), lines: 1 }],
      ['in.csv'],
      world.path('out/all.ndjson'),
      world.runtime(),
    );
    await expect(merged).rejects.toMatchObject({ id: 'E-FILE-WRITE' });
    expect(readdirSync(world.path('chosen'))).toEqual([]);
  },
);

it('replaces a link in place of the certificate of serve --tls', async () => {
  const world = makeWorld();
  const port = await freePort();
  const file = `data/certificate-${port}.pem`;
  const links = plant(world, file);
  const argv = ['serve', '--tls', '--port', `${port}`, '--data', 'data'];
  const service = new BinProcess(world, argv);
  await service.firstLine();
  expect(readFileSync(world.path(file), 'utf8')).toContain('BEGIN CERTIFICATE');
  links.expectUntouched();
  service.signal('SIGTERM');
  await service.ended();
  links.expectUntouched();
});

/** One that nothing listens on right now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

it('writes spilled pages to no file that was planted', async () => {
  await using server = await startPageServer(({ from }) => [recordsPage(`{"d":${from}}`)]);
  const world = makeWorld({ env: server.env });
  const planted = [1, 2].map((slice) => world.path(`out.ndjson.partial.slice-${slice}`));
  for (const file of planted) writeFileSync(file, content, { mode: 0o666 });
  const readers = planted.map((file) => openSync(file, 'r'));
  onTestFinished(() => readers.forEach((reader) => closeSync(reader)));
  const notes = world.path('out.ndjson.partial.slice-notes');
  writeFileSync(notes, content);
  const range = ['--event', 'A', '--from', '2024-01-01', '--to', '2024-01-03'];
  const { code, stderr } = await world.run(['export-events', ...range, '-o', 'out.ndjson']);
  expect(code, stderr).toBe(0);
  expect(readFileSync(world.path('out.ndjson'), 'utf8').split('\n')).toHaveLength(3 + 1);
  expect(readers.map((reader) => readFileSync(reader, 'utf8'))).toEqual([content, content]);
  expect(readdirSync(world.cwd)).toEqual(['out.ndjson', path.basename(notes)]);
});

const otherUser = { uid: 4711, gid: 4711 };

it.runIf(canRunAs(otherUser)).each([
  ['file', '1', 'created', []],
  ['file', '0', 'removed', ['--fresh']],
  ['folder', '0', 'removed', ['--fresh']],
])('refuses a %s of another user in place of spill %s: not %s', async (...row) => {
  const [kind, slice, done, more] = row;
  await using server = await startPageServer(({ from }) => [recordsPage(`{"d":${from}}`)]);
  const world = makeWorld({ env: server.env });
  execFileSync('chown', ['-R', '4711', path.dirname(world.cwd)]);
  chownSync(world.cwd, 0, 0);
  chmodSync(world.cwd, 0o1777);
  const planted = world.path(`out.ndjson.partial.slice-${slice}`);
  if (kind === 'file') writeFileSync(planted, content);
  else mkdirSync(planted);
  const range = ['--event', 'A', '--from', '2024-01-01', '--to', '2024-01-03'];
  const argv = ['export-events', ...range, '-o', 'out.ndjson', ...more];
  const child = new BinProcess(world, argv, server.env, { user: otherUser });
  expect([await child.ended(), child.stderr]).toEqual([
    9,
    expect.stringContaining(`${planted} could not be ${done}`),
  ]);
  expect(child.stderr).toContain('why: permission denied');
  expect(existsSync(planted)).toBe(true);
});

it.runIf(process.getuid?.() === 0)(
  'continues no partial file of another user, who knows what it contains',
  async () => {
    const failing = { status: 500, body: '{"status":"fail"}' };
    await using server = await startPageServer(() => [recordsPage('{"d":1}'), () => failing]);
    const world = makeWorld({ env: server.env });
    const argv = 'export-events --event A --from 2024-01-01 --to 2024-01-01 -o out.ndjson'.split(
      ' ',
    );
    await world.run([...argv, '--retry-for', '0s']);
    const partial = world.path('out.ndjson.partial');
    const known = readFileSync(partial, 'utf8');
    chownSync(partial, 4711, 4711);
    chmodSync(partial, 0o666);
    const { code, stderr } = await world.run([...argv, '--resume']);
    expect([code, stderr]).toEqual([
      8,
      expect.stringContaining('belongs to another user (uid 4711)'),
    ]);
    expect([known, readFileSync(partial, 'utf8')]).toEqual(['{"d":1}\n', known]);
  },
);

it.runIf(process.getuid?.() === 0)(
  'writes no rejects beside an input behind a folder that is a link of another user',
  async () => {
    const { world, service } = await serve();
    mkdirSync(world.path('mine'));
    writeFileSync(world.path('mine/in.csv'), 'identity,City\nann,Oslo\n,Bonn\n');
    const kept = world.path('mine/in.csv.rejects.ndjson');
    writeFileSync(kept, content);
    symlinkSync('mine', world.path('data'));
    lchownSync(world.path('data'), 4711, 4711);
    const { code, stderr } = await world.run(['upload', 'data/in.csv']);
    expect([code, stderr]).toEqual([
      9,
      expect.stringContaining('symbolic link of another user (uid 4711)'),
    ]);
    expect([readFileSync(kept, 'utf8'), service.requests()]).toEqual([content, []]);
    expect((await world.run(['upload', 'data/in.csv', '--rejects', 'r.ndjson'])).code).toBe(3);
  },
);

it('refuses a link with --log-file', async () => {
  const world = makeWorld();
  const links = plant(world, 'run.log');
  const { code, stderr } = await world.run(['config', 'list', '--log-file', 'run.log']);
  expect(code).toBe(9);
  expect(stderr).toContain('E-FILE-WRITE: the log file run.log could not be written');
  expect(stderr).toContain('why: it is a symbolic link');
  links.expectUntouched();
});

it('refuses a link as the lock of a run, also to a SQLite database or to nothing', async () => {
  const world = makeWorld();
  plant(world, '.text.lock', '.empty.lock', '.dangling.lock');
  const victim = (at: number) => path.join(world.cwd, '..', `victim-${at}`);
  writeFileSync(victim(1), '');
  rmSync(victim(2));
  for (const name of ['.text.lock', '.empty.lock', '.dangling.lock']) {
    await expect(lockRun(world.path(name))).rejects.toMatchObject({
      id: 'E-FILE-WRITE',
      message: `the lock file ${world.path(name)} is a symbolic link`,
    });
    expect(lstatSync(world.path(name)).isSymbolicLink()).toBe(true);
  }
  expect(readFileSync(victim(0), 'utf8')).toBe(content);
  expect(readFileSync(victim(1), 'utf8')).toBe('');
  expect(existsSync(victim(2))).toBe(false);
});

/** Writes a rollback journal of a database that names a further file, which SQLite removes when it rolls back. */
function plantJournal(database: string, named: string): void {
  const word = (...values: readonly number[]) => {
    const words = Buffer.alloc(4 * values.length);
    for (const [at, value] of values.entries()) words.writeUInt32BE(value, 4 * at);
    return words;
  };
  const [magic, name] = [Buffer.from('d9d505f920a163d7', 'hex'), Buffer.from(named)];
  const head = Buffer.alloc(512);
  const pages = statSync(database).size / 4096;
  Buffer.concat([magic, word(0, 1, pages, 512, 4096)]).copy(head);
  const sum = name.reduce((total, byte) => total + byte, 0);
  const end = [word(0x4000_0000 / 4096 + 1), name, word(name.length, sum), magic];
  writeFileSync(`${database}-journal`, Buffer.concat([head, ...end]));
}

it('removes no file that the journal beside a store, a snapshot or a lock names', async () => {
  const world = makeWorld();
  const [dataDir, snapshot, lock] = ['data', 'base.db', 'run.lock'].map((name) => world.path(name));
  const store = path.join(dataDir!, 'service.db');
  const victim = path.join(world.cwd, '..', 'victim');
  writeFileSync(victim, content);
  const first = new Database(dataDir);
  await first.copyTo(snapshot!);
  first.close();
  copyFileSync(snapshot!, lock!);
  for (const file of [store, snapshot!, lock!]) plantJournal(file, victim);
  const why = 'names another file';
  expect(() => new Database(dataDir)).toThrow(why);
  rmSync(`${store}-journal`);
  const second = new Database(dataDir);
  onTestFinished(() => second.close());
  await expect(second.replaceBy(snapshot!)).rejects.toThrow(why);
  await expect(lockRun(lock!)).rejects.toThrow(why);
  expect(readFileSync(victim, 'utf8')).toBe(content);
});

// A superuser's run would put a file in place of the link /dev/stdout, for all programs of the machine.
it.each([
  ['upload', 'a.csv', '--rejects'],
  ['upload', 'a.csv', '--report'],
  ['upload', 'a.csv', '--changed', '--gone'],
  ['get-profile', 'ann', '-o'],
])('refuses to put a file in place of a device: %s', async (...argv) => {
  const { service, world } = await serve();
  writeFileSync(world.path('a.csv'), 'identity\nann\n');
  for (const name of ['/dev/engagectl-test', '/proc/self/fd/engagectl-test']) {
    onTestFinished(() => rmSync(name, { force: true }));
    const { code, stderr } = await world.run([...argv, name]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${name} cannot be the `)]);
    expect(stderr).toContain('it is a device or a stream');
    expect(existsSync(name)).toBe(false);
  }
  expect(service.requests()).toEqual([]);
});

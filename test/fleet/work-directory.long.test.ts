import { appendFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../src/testing.js';
import { linesStart } from '../../src/bulk/journal/journal-format.js';
import { ShardFolder } from '../../src/fleet/shard-folder.js';
import { BinProcess } from '../support/processes/bin-process.js';
import { stores, type TestStore } from '../support/processes/queue-stores.js';
import { written } from '../support/serve.js';
import { changeRun, isOver, makeFleet, passcode, type Fleet } from './fleet.js';

// Damage to the work directory of a fleet, and submissions that are refused. Workers run in this process.

const eventLine = (n: number): string =>
  `${JSON.stringify({ type: 'event', identity: `user-${n}`, ts: 1_700_000_000, evtName: 'E' })}\n`;

type Damage = (journal: string, header: string) => void;

const zero = (file: string): void => writeFileSync(file, Buffer.alloc(statSync(file).size));

/** Flips a bit of the byte at `at`, from the end if that is negative. */
function flip(file: string, at: number): void {
  const content = readFileSync(file);
  content[at < 0 ? content.length + at : at]! ^= 4;
  writeFileSync(file, content);
}

/** A run of two shards that is done. */
async function done(store: TestStore, url: string) {
  const fleet = await makeFleet(store, url);
  writeFileSync(fleet.world.path('users.csv'), 'identity\nA\nB\nC\nD\n');
  const run = await fleet.submit('upload', 'users.csv', '--shards', '2');
  await fleet.run('work', '--drain');
  return { fleet, run, shard: path.join(fleet.workDir, run, 'shards', '1-of-2') };
}

/** Puts back what is lost, and works on it. */
async function retried(fleet: Fleet, run: string) {
  const { stderr } = await fleet.run('retry', run);
  expect(stderr).toContain('1 of 2 shards are tried again');
  await fleet.run('work', '--drain');
  return fleet.run('status', run);
}

describe.each(stores)('on $name', ({ start }) => {
  it('a worker with another account leaves a shard to others, and status reports why', async () => {
    await using store = await start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\n');
    const run = await fleet.submit('upload', 'users.csv', '--shards', '1');
    const argv = ['fleet', 'work', '--drain'];
    const other = new BinProcess(fleet.world, argv, {
      ...fleet.env,
      ENGAGECTL_ACCOUNT_ID: 'OTHER-1',
    });
    expect(await other.ended()).toBe(8);
    expect(other.stderr).toMatch(/^warning: shard .* is left to another worker: E-RUN-CHANGED: /m);
    expect(other.stderr).toContain('error E-RUN-CHANGED: 1 shard left for other workers');
    const { parts, counts } = await fleet.until(run, () => true);
    expect([counts['waiting'], parts[0]!.state, parts[0]!.error]).toEqual([
      1,
      'waiting',
      expect.stringMatching(/^left by .*: E-RUN-CHANGED: the account here is OTHER-1 at /),
    ]);
    expect((await fleet.run('work', '--drain')).code).toBe(0);
    expect((await fleet.run('status', run)).code).toBe(0);
  });

  it('a shard with a damaged or missing result is completed from its journal', async () => {
    await using store = await start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, run, shard } = await done(store, service.url);
    expect((await fleet.run('status')).stdout).toBe(`${run}  ${fleet.workDir}\n`);
    const result = path.join(new ShardFolder(shard).current!, 'result.json');
    writeFileSync(result, '{"shard":');
    for (const command of ['status', 'collect']) {
      const { code, stderr } = await fleet.run(command, run);
      expect(code).toBe(9);
      expect(stderr).toContain(`E-FILE-READ: cannot read ${result}`);
    }
    rmSync(result);
    const lost = await fleet.run('status', run);
    expect(lost.stderr).toContain('1 of 2 shards are not in the queue: engagectl fleet retry');
    const { code, stderr } = await retried(fleet, run);
    expect(code, stderr).toBe(0);
    expect(written(service).flat()).toHaveLength(4);
  });

  it.each(['before', 'after'])(
    'events of a run that the queue lost %s a worker began it are sent once the log has grown',
    async (when) => {
      await using store = await start();
      await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
      const fleet = await makeFleet(store, service.url);
      const log = fleet.world.path('log.ndjson');
      const submit = ['upload', 'log.ndjson', '--resume', '--chunk-size', '1', '--shards', '1'];
      writeFileSync(log, [1, 2, 3].map(eventLine).join(''));
      const lost = await fleet.submit(...submit);
      if (when === 'after') {
        await service.fault({ after: 1, times: 1, answer: { status: 401 } });
        await fleet.run('work', '--drain');
        expect(written(service).flat()).toHaveLength(1);
      }
      await store.wipe();
      await store.start();
      expect((await fleet.run('init')).code).toBe(0);
      appendFileSync(log, eventLine(4));
      const grown = await fleet.run('submit', ...submit, '--work-dir', fleet.workDir);
      expect(grown.code, grown.stderr).toBe(0);
      const note = `run ${lost}: 1 of 1 shards were not in the queue and are put back`;
      expect(grown.stderr).toContain(note);
      expect(grown.stderr).toContain(`3 events will not be sent again: run ${lost} submitted`);
      const { stdout } = await fleet.run('status');
      expect(stdout).toContain(lost);
      await fleet.run('work', '--drain');
      const users = written(service)
        .flat()
        .map(({ identity }) => String(identity));
      expect(users.toSorted()).toEqual([1, 2, 3, 4].map((n) => `user-${n}`));
    },
  );

  it('a worker whose clock is set back an hour sends no event twice, and the run ends', async () => {
    await using store = await start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    const events = Array.from({ length: 40 }, (_, n) => eventLine(n));
    writeFileSync(fleet.world.path('e.ndjson'), events.join(''));
    const run = await fleet.submit('upload', 'e.ndjson', '--chunk-size', '1', '--shards', '2');
    await service.fault({ delayMs: 200 });
    const env = { ...fleet.env, ENGAGECTL_CLOCK_JUMP: '-3600000' };
    const node = ['--require', fileURLToPath(new URL('shift-clock.cjs', import.meta.url))];
    const argv = ['fleet', 'work', '--lease', '3s', '--drain'];
    const worker = new BinProcess(fleet.world, argv, env, { node });
    const { state, figures } = await fleet.until(run, isOver);
    expect(state).toBe('done');
    expect(await worker.ended(), worker.stderr).toBe(0);
    const { accepted = 0, unknown = 0 } = figures;
    expect(accepted + unknown).toBe(40);
    const users = written(service)
      .flat()
      .map(({ identity }) => identity);
    expect(new Set(users).size).toBe(users.length);
    expect(users.length).toBeGreaterThanOrEqual(accepted);
  });
});

describe.skipIf(stores[0]?.name !== 'Redis')('with a Redis', () => {
  /** A run of four events in one shard, stopped after the first, whose folder is then damaged. */
  async function damaged(store: TestStore, service: TestService, damage: Damage) {
    const fleet = await makeFleet(store, service.url);
    const events = ['A', 'B', 'C', 'D'].map(
      (identity) => `{"type":"event","identity":"${identity}","evtName":"E","ts":1700000000}\n`,
    );
    writeFileSync(fleet.world.path('e.ndjson'), events.join(''));
    const run = await fleet.submit('upload', 'e.ndjson', '--chunk-size', '1', '--shards', '1');
    await service.fault({ after: 1, times: 1, answer: { status: 401 } });
    await fleet.run('work', '--drain');
    const shard = new ShardFolder(path.join(fleet.workDir, run, 'shards', '1-of-1'));
    const folder = path.join(shard.current!, 'state/runs/shard-1-of-1');
    damage(path.join(folder, 'journal.ndjson'), path.join(folder, 'run.json'));
    await fleet.run('retry', run);
    await fleet.run('work', '--drain');
    return { fleet, run, failed: await fleet.run('status', run) };
  }

  it.each<[what: string, proved: number, damage: Damage]>([
    ['is cut', 1, (journal) => writeFileSync(journal, readFileSync(journal).subarray(0, -30))],
    ['is empty', 0, (journal) => writeFileSync(journal, '')],
    ['is all zeros', 0, zero],
    ['has a flipped bit in its first line', 0, (journal) => flip(journal, linesStart + 20)],
    ['has a flipped bit in a later line', 1, (journal) => flip(journal, -20)],
    ['is missing', 0, (journal) => rmSync(journal)],
  ])(
    'a shard whose journal %s ends after fleet repair, with unproven events unknown',
    async (_, proved, damage) => {
      await using store = await stores[0]!.start();
      await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
      const { fleet, run, failed } = await damaged(store, service, damage);
      expect([failed.code, failed.stderr]).toEqual([8, expect.stringContaining('E-JOURNAL')]);
      expect(failed.stderr).toContain(`fix: engagectl fleet repair ${run}`);

      const { code, stderr } = await fleet.run('repair', run);
      expect([code, stderr]).toEqual([0, expect.stringContaining('repaired 1 of 1 shards; 1 are')]);
      await fleet.run('work', '--drain');
      const { stdout } = await fleet.run('collect', run, '--json');
      const counts = { read: 4, accepted: proved, unknown: 4 - proved, exitCode: 6 };
      expect(JSON.parse(stdout)).toMatchObject(counts);
      expect(written(service).flat()).toHaveLength(1);
      expect((await fleet.run('repair', run)).stderr).toContain('repaired 0 of 1');
    },
  );

  it.each([
    ['before anything was sent', 0],
    ['after an event was sent', 1],
  ])('a shard that --strict stopped %s is continued by fleet retry', async (_, sent) => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    const bad = '{"type":"event","evtName":"E","ts":1700000000}\n';
    const events = [eventLine(1), eventLine(2), eventLine(3)].toSpliced(sent, 0, bad);
    writeFileSync(fleet.world.path('e.ndjson'), [...events, bad].join(''));
    const argv = ['upload', 'e.ndjson', '--strict', '--chunk-size', '1', '--shards', '1'];
    const run = await fleet.submit(...argv);
    await fleet.run('work', '--drain');
    const failed = await fleet.run('status', run);
    expect([failed.code, failed.stderr]).toEqual([3, expect.stringContaining('E-REJECTED')]);
    expect(failed.stderr).toContain(`fix: engagectl fleet retry ${run} `);
    expect((await fleet.run('collect', run)).code).toBe(8);
    await fleet.run('retry', run);
    expect((await fleet.run('work', '--drain')).code).toBe(0);
    const { code, stdout } = await fleet.run('collect', run, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ read: 5, accepted: 3, rejected: 2, unknown: 0 });
    expect(written(service).flat()).toHaveLength(3);
  });

  it('a slice of an export whose journal is damaged starts again after fleet repair', async () => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    const events = Array.from({ length: 100 }, (_, n) => eventLine(n));
    writeFileSync(fleet.world.path('e.ndjson'), events.join(''));
    expect((await fleet.world.run(['upload', 'e.ndjson'])).code).toBe(0);
    const days = ['--from', '2023-11-14', '--to', '2023-11-14', '--batch-size', '23'];
    const argv = ['export-events', '--event', 'E', ...days, '-o'];
    const run = await fleet.submit(...argv, 'fleet.ndjson');
    await service.fault({ endpoint: 'events', after: 3, times: 1, answer: { status: 401 } });
    await fleet.run('work', '--drain');
    const shard = new ShardFolder(path.join(fleet.workDir, run, 'shards', '1-of-1'));
    zero(path.join(shard.current!, 'state/runs/shard-1-of-1/journal.ndjson'));
    await fleet.run('retry', run);
    await fleet.run('work', '--drain');
    const failed = await fleet.run('status', run);
    expect([failed.code, failed.stderr]).toEqual([8, expect.stringContaining('fleet repair')]);
    expect((await fleet.run('repair', run)).stderr).toContain('repaired 1 of 1 shards');
    await fleet.run('work', '--drain');
    expect((await fleet.run('collect', run)).code).toBe(0);
    expect((await fleet.world.run([...argv, 'alone.ndjson'])).code).toBe(0);
    const [ours, alone] = ['fleet.ndjson', 'alone.ndjson'].map((name) =>
      readFileSync(fleet.world.path(name), 'utf8'),
    );
    expect(ours).toBe(alone);
    expect(ours!.split('\n')).toHaveLength(101);
  });

  it.each<[what: string, message: RegExp, damage: Damage]>([
    [
      'does not name its run',
      /shard 1-of-1 cannot be repaired/,
      (...files) => files.forEach((file) => zero(file)),
    ],
    [
      'has lost its run folder',
      /the run folder .* is gone/,
      (journal) => rmSync(path.dirname(journal), { recursive: true }),
    ],
    [
      'has lost all of its state',
      /the run folder .* is gone/,
      (journal) => rmSync(path.resolve(journal, '../../..'), { recursive: true }),
    ],
  ])('a shard that %s sends nothing, and is not repaired', async (_, message, damage) => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, run, failed } = await damaged(store, service, damage);
    expect(failed.code).toBe(8);
    const { code, stderr } = await fleet.run('repair', run);
    expect([code, stderr]).toEqual([8, expect.stringMatching(message)]);
    expect(stderr).toContain('fix: restore');
    expect(written(service).flat()).toHaveLength(1);
  });

  it('a run missing from the store is restored for the workers, with its budget', async () => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\nB\n');
    const run = await fleet.submit('upload', 'users.csv', '--shards', '2');
    await store.wipe();
    await store.start();
    await fleet.run('retry', run, '--work-dir', fleet.workDir);
    await fleet.run('work', '--drain');
    const { code, stdout, stderr } = await fleet.run('status', run, '--json');
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'done', budget: 15 });
  });

  it('a shard whose directory is missing is not restarted', async () => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const { fleet, run, shard } = await done(store, service.url);
    rmSync(shard, { recursive: true });
    const { code, stderr } = await retried(fleet, run);
    expect(code).toBe(8);
    expect(stderr).toContain('E-JOURNAL: the folder of shard 1-of-2 is gone');
    expect(written(service).flat()).toHaveLength(4);
  });

  it('a worker and a command of different versions report it', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\n');
    const run = await fleet.submit('upload', 'users.csv', '--shards', '1');
    changeRun(fleet, run, { argv: ['upload', 'users.csv', '--newer'] });
    await fleet.run('retry', run);
    await fleet.run('work', '--drain');
    const { code, stderr } = await fleet.run('status', run);
    expect(code).toBe(8);
    expect(stderr).toMatch(/^error E-RUN-VERSION: .*\n.*does not understand .*--newer/m);
    changeRun(fleet, run, { version: 5 });
    expect((await fleet.run('status', run)).stderr).toContain('this program knows 4');
  });

  it.each([
    ['NDJSON', 'events.ndjson', (text: string) => text, []],
    ['packed NDJSON', 'events.ndjson.gz', gzipSync, []],
    ['CSV', 'events.csv', () => 'identity,ts,evtName\nA,1700000000,E\n', ['--type', 'event']],
    ['exported CSV', 'charged.csv', () => 'identity,ts,event_props.n\nA,20260101000000,1\n', []],
  ] as const)(
    'events of %s are accepted in one work directory only',
    async (_, name, made, flags) => {
      await using store = await stores[0]!.start();
      const fleet = await makeFleet(store, 'http://127.0.0.1:1');
      const event = { identity: 'A', type: 'event', ts: 1_700_000_000, evtName: 'E', evtData: {} };
      writeFileSync(fleet.world.path(name), made(`${JSON.stringify(event)}\n`));
      const argv = ['upload', name, ...flags, '--shards', '2', '--work-dir'];
      const first = await fleet.run('submit', ...argv, 'one');
      expect(first.code, first.stderr).toBe(0);
      const again = await fleet.run('submit', ...argv, 'other');
      expect([again.code, again.stderr]).toEqual([
        8,
        expect.stringContaining(`E-ALREADY-SENT: run ${first.stdout.trim()} has the same content`),
      ]);
      expect((await fleet.run('submit', ...argv, 'one')).stdout).toBe(first.stdout);
      expect((await fleet.run('submit', ...argv, 'other', '--again')).code).toBe(0);
    },
  );

  it.each([
    ['--set', ['--set', 'Points={"$incr":1}', '--types', 'Points:json']],
    ['a mapping file', ['--mapping', 'm.json']],
  ])('profiles with an operator of %s are accepted once', async (_, flags) => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const mapping = { set: { Points: '{"$incr":1}' }, types: { Points: 'json' } };
    writeFileSync(fleet.world.path('m.json'), JSON.stringify(mapping));
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\nB\n');
    const argv = ['submit', 'upload', 'users.csv', ...flags, '--work-dir', 'one', '--shards'];
    const submit = async (...more: string[]) => fleet.run(...argv, ...more);
    expect(await submit('2')).toMatchObject({ code: 0 });
    expect(await submit('1')).toMatchObject({ code: 8 });
    expect(await submit('1', '--again')).toMatchObject({ code: 0 });
  });

  it.each([
    ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['escapes', (text: string) => text.replace('$', String.raw`\u0024`)],
  ])('profiles with an operator in %s are accepted once', async (_, written) => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const user = { identity: 'A', type: 'profile', profileData: { Points: { $incr: 1 } } };
    writeFileSync(fleet.world.path('u.ndjson'), written(`${JSON.stringify(user)}\n`));
    const submit = async (shards: string) =>
      fleet.run('submit', 'upload', 'u.ndjson', '--work-dir', 'one', '--shards', shards);
    expect(await submit('2')).toMatchObject({ code: 0 });
    expect(await submit('1')).toMatchObject({ code: 8 });
  });

  it('events are accepted from one of two submissions at the same moment', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    for (let round = 0; round < 5; round += 1) {
      const name = `${round}.ndjson`;
      writeFileSync(fleet.world.path(name), eventLine(round).repeat(10));
      const submit = async (shards: string) =>
        fleet.run('submit', 'upload', name, '--shards', shards, '--work-dir', 'one');
      const both = await Promise.all([submit('2'), submit('3')]);
      expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    }
  });

  it.each<[what: string, name: string, change: (text: string) => string | Buffer, message: RegExp]>(
    [
      ['compressed', 'again.ndjson.gz', gzipSync, /contains again\.ndjson\.gz/],
      [
        'with CRLF',
        'again.ndjson',
        (text) => text.replaceAll('\n', '\r\n'),
        /contains again\.ndjson/,
      ],
      [
        'without a last line end',
        'again.ndjson',
        (text) => text.trimEnd(),
        /contains again\.ndjson/,
      ],
      [
        'with more lines, compressed',
        'again.ndjson.gz',
        (text) => gzipSync(`${text}${eventLine(5000)}`),
        /contains the first 5,000 lines of again\.ndjson\.gz/,
      ],
    ],
  )('events are recognized in a file %s', async (_, name, change, message) => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const { world } = fleet;
    const text = Array.from({ length: 5000 }, (__, n) => eventLine(n)).join('');
    writeFileSync(world.path('e.ndjson'), text);
    writeFileSync(world.path(name), change(text));
    const submit = async (file: string, dir: string, ...more: string[]) =>
      fleet.run('submit', 'upload', file, '--shards', '2', '--work-dir', dir, ...more);
    expect((await submit('e.ndjson', 'one')).code).toBe(0);
    const refused = async (dir: string, what: RegExp) => {
      const { code, stderr } = await submit(name, dir);
      expect([code, stderr]).toEqual([8, expect.stringMatching(/E-ALREADY-SENT: .*\n.*run /)]);
      expect(stderr).toMatch(what);
    };
    const { code, stderr } = await submit(name, 'other'); // the queue knows the first run
    expect([code, stderr]).toEqual([8, expect.stringMatching(/E-ALREADY-SENT: run [0-9a-f]{12} /)]);
    expect(stderr).toMatch(message);
    await store.wipe();
    await store.start();
    await refused('one', /5,000 of 5,00[01] events of again\.ndjson/); // its work directory does
    expect((await submit(name, 'one', '--again')).code).toBe(0);
  });

  it('a run that cannot be read stops a demerge only if it may have sent the same records', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const submit = async (n: number, ...more: string[]) => {
      const name = `${n}.txt`;
      writeFileSync(fleet.world.path(name), `user-${n}\n`);
      const argv = ['submit', 'demerge', name, '--yes', '--shards', '1', '--work-dir'];
      argv.push(fleet.workDir);
      return fleet.run(...argv, ...more);
    };
    const run = (await submit(1)).stdout.trim();
    const header = path.join(fleet.workDir, run, 'fleet.json');
    const text = readFileSync(header, 'utf8');
    writeFileSync(header, '{"run":');
    const noted = await submit(2);
    expect(noted.code, noted.stderr).toBe(0); // the queue knows its account, and what it sent
    expect(noted.stderr).toContain(`cannot read ${header}; its records are known from the queue`);
    await store.wipe();
    await store.start();
    const refused = await submit(3);
    expect([refused.code, refused.stderr]).toEqual([
      9,
      expect.stringContaining(`run ${run} may have sent the same records`),
    ]);
    expect((await submit(1)).stdout.trim()).toBe(run); // writes it again
    expect((await submit(3)).code).toBe(0);
    const other = JSON.parse(text) as object;
    const newer = async (change: object) => {
      writeFileSync(header, JSON.stringify({ ...other, version: 5, ...change }));
      await store.wipe();
      await store.start();
      return submit(4);
    };
    expect(await newer({})).toMatchObject({ code: 8 });
    expect(await newer({ accountId: 'ACCOUNT-2' })).toMatchObject({ code: 0 });
    writeFileSync(header, '');
    await store.wipe();
    await store.start();
    expect((await submit(5)).code).toBe(9);
    expect((await submit(5, '--again')).code).toBe(0);
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\n');
    await fleet.submit('upload', 'users.csv', '--shards', '1'); // profiles may be sent twice
  });

  it('a header that many files share is not recognized as events that were sent', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const header = 'identity,ts,evtName\n';
    const submit = async (text: string) => {
      writeFileSync(fleet.world.path('e.csv'), text);
      const argv = ['upload', 'e.csv', '--type', 'event', '--shards', '2', '--work-dir'];
      return fleet.run('submit', ...argv, `work-${text.length}-${text.includes('B')}`);
    };
    for (const text of [header, `${header}A,1700000000,E\n`, `${header}B,1700000000,E\n`]) {
      expect(await submit(text)).toMatchObject({ code: 0 });
    }
    const grown = await submit(`${header}A,1700000000,E\nA,1700000001,E\n`);
    expect([grown.code, grown.stderr]).toEqual([8, expect.stringContaining('the first 2 lines')]);
  });

  it('a copied input is sent as it was submitted, whatever becomes of the file', async () => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    const { world } = fleet;
    writeFileSync(world.path('users.csv'), 'identity,n\nA,1\nB,x\n', { mode: 0o444 });
    writeFileSync(world.path('m.json'), '{"types":{"n":"integer"}}');
    const argv = ['upload', 'users.csv', '--mapping', 'm.json', '--shards', '2'];
    const run = await fleet.submit(...argv);
    rmSync(world.path('users.csv'));
    writeFileSync(world.path('m.json'), '{"map":{"n":"m"}}');
    await fleet.run('work', '--drain');
    const collected = await fleet.run('collect', run, '--json');
    expect(JSON.parse(collected.stdout)).toMatchObject({ read: 2, accepted: 1, rejected: 1 });
    expect(written(service).flat()).toMatchObject([{ identity: 'A', profileData: { n: 1 } }]);
    const reject = JSON.parse(
      readFileSync(world.path('users.csv.rejects.ndjson'), 'utf8'),
    ) as object;
    expect(reject).toMatchObject({ source: 'users.csv', line: 3 });
    const folder = path.join(fleet.workDir, run);
    expect(existsSync(path.join(folder, 'inputs'))).toBe(false); // nobody needs it any more
  });

  it('--pin digest makes no copy, and a changed input stops the run before anything is sent', async () => {
    await using store = await stores[0]!.start();
    await using service = await startService({ accountId: 'ACCOUNT-1', passcode });
    const fleet = await makeFleet(store, service.url);
    const input = fleet.world.path('users.csv');
    writeFileSync(input, 'identity\nA\nB\n');
    const run = await fleet.submit('upload', 'users.csv', '--shards', '2', '--pin', 'digest');
    expect(existsSync(path.join(fleet.workDir, run, 'inputs'))).toBe(false);
    writeFileSync(input, 'identity\nA\nC\n');
    await fleet.run('work', '--drain');
    const changed = await fleet.run('status', run);
    expect([changed.code, changed.stderr]).toEqual([8, expect.stringContaining('E-INPUT-CHANGED')]);
    expect(written(service)).toEqual([]);
    writeFileSync(input, 'identity\nA\nB\n');
    await fleet.run('retry', run);
    await fleet.run('work', '--drain');
    expect((await fleet.run('status', run)).code).toBe(0);
  });

  it('an input that changes while it is submitted is not submitted', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const { world } = fleet;
    const at = ['--base-url', 'http://127.0.0.1:1', '--account-id', 'ACCOUNT-1'];
    const set = ['config', 'set', '--profile', 'p', '--region', 'r', '--production', ...at];
    await world.run([...set, '--passcode-stdin'], { stdin: `${passcode}\n` });
    writeFileSync(world.path('users.csv'), 'identity\nA\n');
    async function* typed() {
      writeFileSync(world.path('users.csv'), 'identity\nB\n'); // between the digest and the copy
      yield 'r\n';
    }
    const argv = ['upload', 'users.csv', '--shards', '1', '--work-dir', 'w', '--profile', 'p'];
    const { code, stderr } = await world.run(['fleet', 'submit', ...argv], {
      stdin: Readable.from(typed()),
      tty: { stdin: true, stderr: true },
    });
    expect([code, stderr]).toEqual([8, expect.stringContaining('changed while it was submitted')]);
    expect((await fleet.run('status')).stdout).toBe('');
  });

  it('an input named twice is refused, and profiles can be sent twice', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    writeFileSync(fleet.world.path('users.csv'), 'identity\nA\n');
    const argv = ['upload', 'users.csv', '--shards', '2', '--work-dir'];
    const { code, stderr } = await fleet.run(
      'submit',
      'upload',
      './users.csv',
      ...argv.slice(1),
      'a',
    );
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('users.csv and ./users.csv are the same file'),
    ]);
    for (const folder of ['one', 'other']) {
      expect((await fleet.run('submit', ...argv, folder)).code).toBe(0);
    }
  });

  it('a demerge requires --yes, unless it was submitted before', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    writeFileSync(fleet.world.path('ids.txt'), 'A\n');
    const argv = ['submit', 'demerge', 'ids.txt', '--shards', '1', '--work-dir'];
    const unconfirmed = await fleet.world.run(['fleet', ...argv, 'one'], {
      tty: { stdin: true, stdout: true, stderr: true },
    });
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
      2,
      expect.stringContaining('E-CONFIRM: fleet submit demerge requires --yes'),
    ]);
    expect(unconfirmed.stderr).toContain('known only to the workers');
    expect((await fleet.run(...argv, 'one', '--yes')).code).toBe(0);
    const { code, stderr } = await fleet.run(...argv, 'other');
    expect([code, stderr]).toEqual([8, expect.stringContaining('E-ALREADY-SENT')]);
  });

  it('a Redis without persistence causes one warning, but none with --quiet', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const redis = new Redis(store.url);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    redis.disconnect();
    const told = async (...flags: string[]) => {
      const worker = fleet.worker('--drain', ...flags);
      expect(await worker.ended()).toBe(0);
      return worker.stderr.split('\n').filter((line) => /evict|throw/i.test(line));
    };
    expect(await told()).toEqual([
      expect.stringMatching(/^warning: this Redis may throw jobs away .* is allkeys-lru/),
    ]);
    expect(await told('--quiet')).toEqual([]);
  });

  it('a wrong password is distinguished from an unavailable store, and never printed', async () => {
    await using store = await stores[0]!.start();
    const fleet = await makeFleet(store, 'http://127.0.0.1:1');
    const wrong = store.url.replace('//', '//nobody:wrong-secret@');
    const env = { ENGAGECTL_QUEUE: wrong };
    const { code, stderr } = await fleet.world.run(['fleet', 'status', '-vv'], { env });
    expect(code).toBe(5);
    expect(stderr).toContain('refuses the user or the password');
    expect(stderr).not.toContain('wrong-secret');
  });
});

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect } from '../../../src/index.js';
import type { ExportResult } from '../../../src/index.js';
import { startService } from '../../../src/service/start.js';
import { accountAt } from '../../support/account-environment.js';
import {
  inTurn,
  pendingBody,
  recordsPage,
  startPageServer,
  type Opening,
  type PageServer,
} from '../../support/servers/page-server.js';
import { serviceDefaults } from '../../support/service-defaults.js';
import { makeWorld, type World } from '../../support/test-environment.js';

const dayMs = 86_400_000;
const today = Date.parse('2024-03-08T06:00:00Z');
const once = '--max-attempts=1';
const week = ['export-events', '--event', 'Charged', '--from', '7d', '--to', 'yesterday'];
const heal = [...week, '-o', '{day}.ndjson', '--missing', '--json'];

const pageOf = ({ event_name, from, earlier }: Opening) => [
  recordsPage(`{"e":"${event_name}","d":${from},"n":${earlier}}`),
];
const worldOf = (server: PageServer) => makeWorld({ env: server.env, now: () => today });
const figures = (stdout: string) => (JSON.parse(stdout) as ExportResult).days;
const daysAsked = (server: PageServer) =>
  server.openings.map(({ from }) => from).toSorted((a, b) => a - b);
const march = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => 20240300 + first + index);
const nameOf = (day: number) => `2024-03-0${day}.ndjson`;
const put = (world: World, days: readonly number[], content = 'mine\n') =>
  days.forEach((day) => writeFileSync(world.path(nameOf(day)), content));

describe('--missing', () => {
  it('fetches the days without a file, and keeps the others', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    put(world, [1, 3, 7]);
    const first = await world.run(heal);
    expect(first.code, first.stderr).toBe(0);
    expect(figures(first.stdout)).toEqual({
      wanted: 7,
      present: 3,
      fetched: 4,
      refreshed: 0,
      short: 0,
    });
    expect(daysAsked(server)).toEqual([20240302, 20240304, 20240305, 20240306]);
    expect(readFileSync(world.path(nameOf(3)), 'utf8')).toBe('mine\n');
    expect(readFileSync(world.path(nameOf(4)), 'utf8')).toContain('"d":20240304');

    const second = await world.run(heal);
    expect(second.code).toBe(0);
    expect(figures(second.stdout)).toMatchObject({ wanted: 7, present: 7, fetched: 0 });
    expect(server.openings).toHaveLength(4);
  });

  it('checks each event of a day by its own file', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    const flags = ['--event', 'B', '--from', '2d', '--to', 'yesterday', '-o', '{event}/{day}.csv'];
    for (const event of ['A', 'B']) mkdirSync(world.path(event));
    writeFileSync(world.path('B/2024-03-06.csv'), 'd\n');
    const run = ['export-events', '--event', 'A', ...flags, '--missing', '--json'];
    const { stdout, code } = await world.run(run);
    expect(code).toBe(0);
    expect(figures(stdout)).toMatchObject({ wanted: 4, present: 1, fetched: 3 });
    expect(
      server.openings.map(({ event_name, from }) => `${event_name} ${from}`).toSorted(),
    ).toEqual(['A 20240306', 'A 20240307', 'B 20240307']);
  });

  it.each(['ndjson', 'ndjson.gz', 'csv', 'json'])(
    'ignores an empty file, as a full disk leaves it: .%s',
    async (extension) => {
      await using server = await startPageServer(pageOf);
      const world = worldOf(server);
      writeFileSync(world.path(`2024-03-07.${extension}`), '');
      const flags = ['--from', 'yesterday', '--to', 'yesterday', '-o', `{day}.${extension}`];
      const run = await world.run([
        'export-events',
        '--event',
        'A',
        ...flags,
        '--missing',
        '--json',
      ]);
      expect(run.code, run.stderr).toBe(0);
      expect(figures(run.stdout)).toMatchObject({ present: 0, refreshed: 1 });
      expect(readFileSync(world.path(`2024-03-07.${extension}`)).length).toBeGreaterThan(0);
    },
  );

  it('refuses a range that includes today, in the zone of the account', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    const until = (to: string, zone: string) =>
      world.run([...heal.slice(0, 6), to, ...heal.slice(7), '--timezone', zone]);
    // 06:00 in UTC on the 8th is still the 7th in Los Angeles.
    for (const [to, zone] of [
      ['today', 'UTC'],
      ['2024-03-08', 'UTC'],
      ['2024-03-07', 'America/Los_Angeles'],
    ] as const) {
      const { code, stderr } = await until(to, zone);
      expect(code).toBe(2);
      expect(stderr).toContain(`--to yesterday`);
    }
    expect(server.openings).toEqual([]);
    expect((await until('2024-03-07', 'UTC')).code).toBe(0);
  });

  it.each([
    [['-o', 'all.ndjson', '--missing'], '--missing requires one file per day'],
    [['--missing'], '--missing requires one file per day'],
    [['-o', '{day}.ndjson', '--refresh', '2d'], '--refresh requires --missing'],
    [['-o', 'all.ndjson', '--min-records', '2'], '--min-records requires one file per day'],
    [
      ['-o', '{day}.ndjson', '--missing', '--overwrite'],
      '--missing cannot be combined with --overwrite',
    ],
    [['-o', '{day}.ndjson', '--missing', '--no-split'], '--no-split cannot write one file per day'],
    [['-o', '{day}.ndjson', '--missing', '--refresh', '0d'], 'number of days like 3d'],
    [['-o', '{day}.ndjson', '--missing', '--min-records', '0'], 'whole number from 1 on'],
  ])('is refused with %j', async (flags, message) => {
    const { code, stderr } = await makeWorld().run([...week, ...flags, '--region', 'local']);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  it('warns of the file of today, which a later --missing would not fetch again', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    const run = ['export-events', '--event', 'A', '-o', '{day}.csv', '--from', '2d'];
    const { code, stderr } = await world.run([...run, '--to', 'today']);
    expect(code).toBe(0);
    expect(stderr).toContain('today (UTC) is not over');
    expect((await world.run([...run, '--to', 'yesterday', '--overwrite'])).stderr).not.toContain(
      'is not over',
    );
  });

  it('lets one of two concurrent runs work, and refuses the other', async () => {
    let second: Promise<number> | undefined;
    const world = makeWorld({ now: () => today });
    await using server = await startPageServer((opening) => {
      second ??= world.run(heal, { env: server.env }).then(({ code }) => code);
      return pageOf(opening);
    });
    const first = await world.run(heal, { env: server.env });
    expect(first.code, first.stderr).toBe(0);
    expect(await second).toBe(8);
    expect(daysAsked(server)).toEqual(march(1, 7));
  });

  it('resumes an interrupted run with --resume, including the days since', async () => {
    let isBroken = true;
    await using server = await startPageServer((opening) => [
      recordsPage(`{"d":${opening.from},"p":1}`),
      isBroken && opening.from === 20240304
        ? inTurn([{ status: 500, body: '' }], recordsPage('{"p":2}'))
        : recordsPage('{"p":2}'),
    ]);
    const world = worldOf(server);
    const flags = [...heal, once, '--concurrency', '1'];
    expect((await world.run(flags)).code).toBe(5);
    expect(existsSync(world.path(nameOf(3)))).toBe(true);
    expect(existsSync(world.path(nameOf(4)))).toBe(false);
    expect((await world.run(flags)).code, 'unfinished, and nobody says --resume').toBe(8);

    isBroken = false;
    const before = server.openings.length;
    const twoDaysLater = { now: () => today + 2 * dayMs };
    const { code, stdout, stderr } = await world.run([...flags, '--resume'], twoDaysLater);
    expect(code, stderr).toBe(0);
    // The cursor of the 4th is gone on with; 1 to 3 are there.
    expect(daysAsked(server).slice(-before)).not.toContain(20240301);
    expect(server.openings.slice(before).map(({ from }) => from)).toEqual(march(5, 9));
    for (const day of march(1, 9)) {
      const text = readFileSync(world.path(nameOf(day % 10)), 'utf8');
      expect(text).toBe(`{"d":${day},"p":1}\n{"p":2}\n`);
    }
    expect(figures(stdout)).toMatchObject({ present: 0, fetched: 9 });
    expect(readdirSync(world.cwd)).toHaveLength(9);
    expect((await world.run(['runs', 'list', '--json'])).stdout).toContain('[]');
  });

  it('fetches other days while one stays pending, night after night', async () => {
    await using server = await startPageServer((opening) => [
      opening.from === 20240303 ? () => pendingBody : pageOf(opening)[0]!,
    ]);
    const world = worldOf(server);
    const flags = [...heal, '--resume', '--pending-timeout', '0s'];
    for (const night of [0, 1, 2]) {
      const now = () => today + night * dayMs;
      const { code, stdout, stderr } = await world.run(flags, { now });
      expect(code, stderr).toBe(5);
      expect(figures(stdout)).toMatchObject({ fetched: 6 + night });
    }
    expect(existsSync(world.path('2024-03-09.ndjson'))).toBe(true);
    expect(existsSync(world.path(nameOf(3)))).toBe(false);
  });
});

describe('--refresh', () => {
  it('replaces the last days of the range when they are complete', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    put(world, [1, 2, 3, 4, 5, 6, 7]);
    const { code, stdout } = await world.run([...heal, '--refresh', '36h']);
    expect(code).toBe(0);
    expect(figures(stdout)).toMatchObject({ wanted: 7, present: 5, fetched: 0, refreshed: 2 });
    expect(daysAsked(server)).toEqual([20240306, 20240307]);
    expect(readFileSync(world.path(nameOf(5)), 'utf8')).toBe('mine\n');
    expect(readFileSync(world.path(nameOf(6)), 'utf8')).toContain('20240306');
  });

  it('keeps the existing file when it is interrupted', async () => {
    await using server = await startPageServer(({ from, earlier }) => [
      recordsPage(`{"d":${from}}`),
      earlier === 0 ? () => ({ status: 500, body: '' }) : recordsPage('{"last":1}'),
    ]);
    const world = worldOf(server);
    put(world, [1, 2, 3, 4, 5, 6, 7]);
    const flags = [...heal, '--refresh', '1d', once];
    expect((await world.run(flags)).code).toBe(5);
    expect(readFileSync(world.path(nameOf(7)), 'utf8')).toBe('mine\n');
    const fresh = await world.run([...flags, '--fresh']);
    expect(fresh.code, fresh.stderr).toBe(0);
    expect(readFileSync(world.path(nameOf(7)), 'utf8')).toBe('{"d":20240307}\n{"last":1}\n');
    expect(readFileSync(world.path(nameOf(6)), 'utf8')).toBe('mine\n');
  });
});

describe('--min-records', () => {
  it.each([
    ['ndjson', []],
    ['csv', []],
    ['json.gz', []],
    ['csv', ['--columns', 'd']],
  ])('does not publish a short day, and requests it again: .%s %j', async (extension, more) => {
    let late = false;
    await using server = await startPageServer(({ from }) =>
      from === 20240305 && !late
        ? [() => '{"status":"success"}']
        : [recordsPage(`{"d":${from}}`), recordsPage('{"d":2}')],
    );
    const world = worldOf(server);
    const names = ['-o', `{day}.${extension}`, '--missing', '--json', ...more];
    const flags = [...week, ...names, '--min-records', '2', '--resume'];
    const first = await world.run(flags);
    expect(first.code, first.stderr).toBe(3);
    expect(figures(first.stdout)).toMatchObject({ wanted: 7, fetched: 6, short: 1 });
    expect(first.stderr).toContain(`2024-03-05.${extension}: 0 records, fewer than 2`);
    expect(first.stderr).toContain('E-SHORT');
    expect(readdirSync(world.cwd)).toHaveLength(6);

    late = true;
    const second = await world.run(flags);
    expect(second.code).toBe(0);
    expect(figures(second.stdout)).toMatchObject({ present: 6, fetched: 1, short: 0 });
    expect(readdirSync(world.cwd)).toHaveLength(7);
  });

  it('keeps the existing file if its day is too short', async () => {
    await using server = await startPageServer(pageOf);
    const world = worldOf(server);
    put(world, [1, 2, 3, 4, 5, 6, 7], 'a\nb\n');
    const flags = [...heal, '--refresh', '1d', '--min-records', '2'];
    const { code, stdout } = await world.run(flags);
    expect(code).toBe(3);
    expect(figures(stdout)).toMatchObject({ present: 6, refreshed: 0, short: 1 });
    expect(readFileSync(world.path(nameOf(7)), 'utf8')).toBe('a\nb\n');
  });

  it('remembers a short day in a run that is resumed after another failed', async () => {
    await using server = await startPageServer((opening) => [
      opening.from === 20240307 ? inTurn([pendingBody], pageOf(opening)[0]!) : pageOf(opening)[0]!,
    ]);
    const world = worldOf(server);
    const flags = [...week, '-o', '{day}.csv', '--missing', '--json', '--resume'];
    const short = [...flags, '--pending-timeout', '0s', '--min-records', '2'];
    const first = await world.run(short);
    expect(first.code).toBe(5);
    expect(figures(first.stdout)).toMatchObject({ short: 6 });
    const second = await world.run(short);
    expect(second.code).toBe(3);
    expect(figures(second.stdout)).toMatchObject({ short: 7, fetched: 0 });
    expect(readdirSync(world.cwd)).toEqual([]);
  });
});

it('repeats missing days in the library too', async () => {
  await using server = await startPageServer(pageOf);
  const world = worldOf(server);
  await using account = connect({
    baseUrl: server.url,
    accountId: 'TEST-ACCOUNT',
    passcode: 'test-passcode',
    stateFolder: world.stateDir,
  });
  writeFileSync(world.path('2024-03-02.ndjson'), 'mine\n');
  const query = { event: 'A', from: '2024-03-01', to: '2024-03-03' };
  const { result } = account
    .exportEvents(query)
    .toFile(world.path('{day}.ndjson'), { missing: true, refresh: 1, minRecords: 1 });
  expect((await result).days).toEqual({
    wanted: 3,
    present: 1,
    fetched: 2,
    refreshed: 0,
    short: 0,
  });
});

describe('D fourteen days of a cron job', () => {
  const start = Date.parse('2024-02-25T20:30:00Z'); // 02:00 in Kolkata: 26 February
  const account = accountAt('', 'passcode-of-cron');

  it('complete every day, although the machine was off for a week', async () => {
    const world = makeWorld();
    let now = start;
    let answers = Number.POSITIVE_INFINITY;
    const service = await startService({
      ...serviceDefaults,
      timezone: 'Asia/Kolkata',
      accountId: account['ENGAGECTL_ACCOUNT_ID']!,
      passcode: account['ENGAGECTL_PASSCODE']!,
      failRate: 0.5,
      random: () => (answers-- > 0 ? 0.9 : 0),
      now: () => now,
    });
    onTestFinished(() => service.close());
    const env = { ...account, ENGAGECTL_BASE_URL: service.url, ENGAGECTL_TIMEZONE: 'Asia/Kolkata' };
    const run = (argv: readonly string[], stdin = '') =>
      world.run(argv, { env, stdin, now: () => now });
    let uploaded = 0;
    const happen = async (at: number, count: number) => {
      const lines = Array.from({ length: count }, () =>
        JSON.stringify({
          identity: 'u',
          type: 'event',
          evtName: 'Charged',
          evtData: { n: (uploaded += 1) },
          ts: Math.floor(at / 1000),
        }),
      );
      const { code, stderr } = await run(['upload', '-'], lines.join('\n'));
      expect(code, stderr).toBe(0);
    };
    mkdirSync(world.path('charged'));
    const charged = ['export-events', '--event', 'Charged', '--no-event-summaries'];
    const range = [...charged, '--from', '10d', '--to', 'yesterday'];
    const file = ['-o', 'charged/{day}.ndjson.gz'];
    // One day at a time, so that it is the same one that is complete when the service goes down.
    const how = ['--missing', '--refresh', '2d', '--resume', '--json', once, '--concurrency', '1'];
    const nightly = [...range, ...file, ...how];
    const nights: string[] = [];
    for (let night = 1; night <= 14; night += 1) {
      now += dayMs;
      await happen(now - dayMs / 2, night); // at noon of the day that is over
      if (night === 3 || night === 13) await happen(now - dayMs * 1.5, 1); // late by a day
      if (night >= 5 && night <= 11) continue; // the box is off
      if (night === 4) answers = 3; // the service goes down in the middle
      const { code, stdout } = await run(nightly);
      answers = Number.POSITIVE_INFINITY;
      const { fetched, refreshed } = figures(stdout)!;
      nights.push(`${night}: exit ${code}, ${fetched} fetched, ${refreshed} refreshed`);
    }
    expect(nights).toEqual([
      '1: exit 0, 10 fetched, 0 refreshed', // nine of them before the first event
      '2: exit 0, 1 fetched, 1 refreshed',
      '3: exit 0, 1 fetched, 1 refreshed',
      '4: exit 5, 0 fetched, 1 refreshed',
      expect.stringMatching(/^12: exit 0, [89] fetched, [01] refreshed$/),
      '13: exit 0, 1 fetched, 1 refreshed',
      '14: exit 0, 1 fetched, 1 refreshed',
    ]);
    const numbers: number[] = [];
    const files = readdirSync(world.path('charged')).toSorted();
    expect(files).toHaveLength(9 + 14);
    for (const name of files) {
      const day = name.slice(0, 10);
      const text = gunzipSync(readFileSync(world.path('charged', name))).toString();
      const whole = await run([...charged, '--from', day, '--to', day]);
      expect(text).toBe(whole.stdout);
      for (const line of text.split('\n').slice(0, -1)) {
        numbers.push((JSON.parse(line) as { event_props: { n: number } }).event_props.n);
      }
    }
    expect(numbers.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: uploaded }, (_, index) => index + 1),
    );
    rmSync(world.path('charged', files.at(-3)!));
    const healed = await run(nightly);
    expect(figures(healed.stdout)).toMatchObject({ fetched: 1 });
  });
});

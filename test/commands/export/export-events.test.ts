import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { unexportableEvents } from '../../../src/contract/error-codes.js';
import {
  eachDay,
  inTurn,
  pendingBody,
  recordsPage,
  startPageServer,
} from '../../support/servers/page-server.js';
import { makeWorld } from '../../support/test-environment.js';

const days = ['--from', '2024-01-01', '--to', '2024-01-03'];
const command = ['export-events', '--event', 'Charged', ...days];
const expired = '{"status":"fail","error":"Incorrect Usage","code":3}';

/** Two pages a day, whose records say where they come from. */
const daily = eachDay(({ event_name, from }) => [
  recordsPage(`{"e":"${event_name}","d":${from},"p":1}`),
  recordsPage(`{"e":"${event_name}","d":${from},"p":2}`),
]);
const dayLines = (event: string, day: number): string =>
  [1, 2].map((p) => `{"e":"${event}","d":${day},"p":${p}}\n`).join('');
const allDays = [20240101, 20240102, 20240103];

describe('engagectl export-events', () => {
  it.each([
    [[], ['20240101 20240103', '20240104 20240106', '20240107 20240109']],
    [['--concurrency=2'], ['20240101 20240104', '20240105 20240109']],
    [['--concurrency=1'], ['20240101 20240109']],
    [['--no-split'], ['20240101 20240109']],
    [
      ['--event=B'],
      ['20240101 20240104', '20240101 20240104', '20240105 20240109', '20240105 20240109'],
    ],
  ])('opens as many cursors as requests may be in flight, in order: %j', async (flags, ranges) => {
    await using server = await startPageServer(daily);
    const range = ['--from=2024-01-01', '--to=2024-01-09'];
    const argv = ['export-events', '--event', 'Charged', ...range, ...flags, '-o', 'out.ndjson'];
    const world = makeWorld({ env: server.env });
    expect((await world.run(argv)).code).toBe(0);
    const names = flags.includes('--event=B') ? ['Charged', 'B'] : ['Charged'];
    const lines = names.flatMap((name) =>
      Array.from({ length: 9 }, (_, day) => dayLines(name, 20240101 + day)),
    );
    const written = readFileSync(world.path('out.ndjson'), 'utf8');
    expect(written.replaceAll(/,"event_name".*/g, '}')).toBe(lines.join(''));
    const asked = server.openings.map(({ from, to }) => `${from} ${to}`);
    expect(asked.toSorted()).toEqual(ranges);
  });

  it('reports the planned requests before the start, with -v and with --json', async () => {
    await using server = await startPageServer(daily);
    const told = await makeWorld({ env: server.env }).run([...command, '-v']);
    expect(told.stderr).toMatch(/plan: 3 cursors, at least 6 requests\n[^]*POST /);
    const { stderr } = await makeWorld({ env: server.env }).run([...command, '--json']);
    const first = JSON.parse(stderr.split('\n')[0]!) as object;
    expect(first).toMatchObject({ type: 'note', cursors: 3, requests: 6 });
  });

  it('requests the whole range once with --no-split', async () => {
    await using server = await startPageServer(daily);
    const { stdout } = await makeWorld({ env: server.env }).run([...command, '--no-split']);
    expect(stdout).toBe(allDays.map((day) => dayLines('Charged', day)).join(''));
    expect(server.openings).toMatchObject([{ from: 20240101, to: 20240103 }]);
  });

  it('writes several events in the order given, then by day, and names them', async () => {
    await using server = await startPageServer(({ event_name, from }) => [
      recordsPage(`{"n":${JSON.stringify(event_name)},"ts":${from}120000}`),
    ]);
    const world = makeWorld({ env: server.env });
    const flags = ['--event', 'B "x"', '--event', 'A', '--from', '20240101', '--to', '20240102'];
    const { stdout } = await world.run(['export-events', ...flags, '--timezone', 'Asia/Kolkata']);
    const line = (name: string, day: number) => {
      const utc = `2024-01-0${day}T06:30:00Z`;
      return `"ts":2024010${day}120000,"event_name":${JSON.stringify(name)},"ts_utc":"${utc}"}`;
    };
    expect(
      stdout
        .trim()
        .split('\n')
        .map((l) => l.slice(l.indexOf('"ts"'))),
    ).toEqual([line('B "x"', 1), line('B "x"', 2), line('A', 1), line('A', 2)]);
  });

  it.each([
    ['{"ts":20240701120000,"nested":{"ts":1}}', '"2024-07-01T10:00:00Z"'],
    ['{"nested":{"ts":20240101000000}, "ts" : "20240101120000" }', '"2024-01-01T11:00:00Z"'],
    ['{"ts":20241027023000}', '"2024-10-27T00:30:00Z"'], // the earlier one of the hour that comes twice
    ['{"ts":1704067200}', 'null'],
    ['{"a":"\\"ts\\":20240101120000"}', 'null'],
    ['{}', 'null'],
  ])('adds name and UTC time to %s', async (record, utc) => {
    await using server = await startPageServer(() => [recordsPage(record)]);
    const world = makeWorld({ env: server.env });
    const year = ['export-events', '--event=A', '--from=2024-01-01', '--to=2024-12-31'];
    const flags = ['--no-split', '--with-event-name', '--timezone=Europe/Berlin'];
    const { stdout } = await world.run([...year, ...flags]);
    const body = record.slice(0, -1);
    const comma = body === '{' ? '' : ',';
    expect(stdout).toBe(`${body}${comma}"event_name":"A","ts_utc":${utc}}\n`);
  });

  it.each<[string, (day: number) => number[]]>([
    ['one event of another day for each', () => [20241120]],
    ['a page that begins with another day', (day) => [20231230, day, day]],
    ['a page that ends with another day', (day) => [day, day, 20240106]],
  ])('refuses %s, as a cache may answer', async (_name, daysOf) => {
    await using server = await startPageServer(
      eachDay(({ from }) => [
        recordsPage(...daysOf(from).map((day, n) => `{"n":${n},"ts":${day}120000}`)),
      ]),
    );
    const world = makeWorld({ env: server.env });
    const { code, stderr } = await world.run([...command, '-o', '{day}.ndjson']);
    expect(code).toBe(7);
    expect(stderr).toMatch(
      /E-ANSWER: the service sent an event of 20\d\d-\d\d-\d\d for Charged of 2024-01-0\d/,
    );
    expect(readdirSync(world.cwd).filter((name) => !name.endsWith('.partial'))).toEqual([]);
  });

  it.each([
    ['a page of the day before', (day: number) => [[day - 1, day - 1]], true],
    ['two pages of it, then an empty one', (day: number) => [[day - 1], [day - 1], []], true],
    ['a page that ends with the day', (day: number) => [[day - 1], [day - 1, day]], false],
  ])(
    'warns of an answer for a day that is only of the one beside it: %s',
    async (_, days, warns) => {
      await using server = await startPageServer(
        eachDay(({ from }) =>
          days(from).map((times, page) =>
            recordsPage(...times.map((day, n) => `{"n":1${page}${n},"ts":${day}120000}`)),
          ),
        ),
      );
      const world = makeWorld({ env: server.env });
      const range = ['--from=2024-01-02', '--to=2024-01-02'];
      const argv = ['export-events', '--event=Charged', ...range, '-o', '{day}.ndjson'];
      const { code, stderr } = await world.run(argv);
      expect(code).toBe(0);
      expect(stderr.includes('begin and end with other days, such as 2024-01-01')).toBe(warns);
    },
  );

  it.each([
    '"ts":20231231233000', // a day at either side, for time zones
    '"ts":"20240104003000"',
    '"ts":1704067200',
    '"ts":17040672001234', // 14 digits, but no date
    '"ts":"2024-11-20T12:00:00Z"',
    '"ts":null',
    '"time":20241120120000',
  ])('takes events whose time is near the days, or in another form: %s', async (time) => {
    await using server = await startPageServer(() => [recordsPage(`{${time}}`)]);
    const { code, stdout } = await makeWorld({ env: server.env }).run([...command, '--no-split']);
    expect([code, stdout]).toEqual([0, `{${time}}\n`]);
  });

  it.each(['x.ndjson', 'x.csv', '{event}.ndjson'])(
    'leaves no partial file and no run when one of several event names is wrong: %s',
    async (file) => {
      await using server = await startPageServer(daily, { refused: 'Serched' });
      const world = makeWorld({ env: server.env });
      const flags = ['export-events', '--event', 'Charged', ...days, '--no-split', '-o', file];
      const wrong = await world.run([...flags, '--event', 'Serched']);
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Serched')]);
      const whole = file.includes('{') ? ['Charged.ndjson'] : [];
      expect(readdirSync(world.cwd)).toEqual(whole);
      const { stdout } = await world.run(['runs', 'list', '--json']);
      expect(JSON.parse(stdout)).toMatchObject({ runs: [] });
      const searched = [
        ...flags,
        '--event',
        'Searched',
        ...(whole.length > 0 ? ['--overwrite'] : []),
      ];
      expect((await world.run(searched)).code).toBe(0);
    },
  );

  it('writes a file for each day and event that the name contains', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    const argv = [...command, '--event', 'a/../b', '-o', '{event}-{day}.ndjson'];
    expect((await world.run(argv)).code).toBe(0);
    expect(readdirSync(world.cwd).toSorted()).toEqual([
      'Charged-2024-01-01.ndjson',
      'Charged-2024-01-02.ndjson',
      'Charged-2024-01-03.ndjson',
      'a%2F..%2Fb-2024-01-01.ndjson',
      'a%2F..%2Fb-2024-01-02.ndjson',
      'a%2F..%2Fb-2024-01-03.ndjson',
    ]);
  });

  it('puts the events of a day into the file of the day, in the order given', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    await world.run([...command, '--event', 'A', '-o', '{day}.csv']);
    expect(readFileSync(world.path('2024-01-02.csv'), 'utf8')).toBe(
      'e,d,p,event_name,ts_utc\n' +
        ['Charged', 'Charged', 'A', 'A']
          .map((e, i) => `${e},20240102,${(i % 2) + 1},${e},\n`)
          .join(''),
    );
    expect(readdirSync(world.cwd)).toHaveLength(3);
  });

  it('refuses names that produce the same file before it sends anything', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    writeFileSync(world.path('all.ndjson'), 'earlier\n');
    for (const day of ['01', '03']) symlinkSync('all.ndjson', world.path(`2024-01-${day}.ndjson`));
    const { code, stderr } = await world.run([...command, '-o', '{day}.ndjson', '--overwrite']);
    expect(code).toBe(2);
    expect(stderr).toContain('2024-01-01.ndjson and 2024-01-03.ndjson need the same file');
    expect(server.openings).toEqual([]);
    expect(readFileSync(world.path('all.ndjson'), 'utf8')).toBe('earlier\n');
  });

  it.each([
    ['q.partial', 'need the same file'],
    ['q.partial.records', 'a name of unfinished files'],
    ['q.partial.slice-1', 'a name of unfinished files'],
  ])(
    'writes no finished file under a name of unfinished ones, which an event may have: %s',
    async (event, what) => {
      await using server = await startPageServer(daily);
      const world = makeWorld({ env: server.env });
      const events = ['--event', event, '--event', 'q'];
      const days = ['--from', '2024-01-01', '--to', '2024-01-01'];
      const argv = ['export-events', ...events, ...days, '--format', 'csv', '-o', '{event}'];
      const { code, stderr } = await world.run(argv);
      expect([code, stderr]).toEqual([2, expect.stringContaining(what)]);
      expect(server.openings).toEqual([]);
      expect(readdirSync(world.cwd)).toEqual([]);
    },
  );

  it('refuses all files before anything is sent if one of them exists', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    await world.run([...command, '--from', '2024-01-03', '-o', '{day}.ndjson'].toSpliced(3, 2));
    const asked = server.openings.length;
    const { code, stderr } = await world.run([...command, '-o', '{day}.ndjson']);
    expect(code).toBe(8);
    expect(stderr).toContain('2024-01-03.ndjson');
    expect(server.openings).toHaveLength(asked);
  });

  it.each(['out.ndjson', 'out.ndjson.gz', 'out.csv', 'out.json', '{day}.ndjson'])(
    'restarts a day whose cursor expired, and mixes no snapshots: %s',
    async (file) => {
      await using undisturbed = await startPageServer(daily);
      const expected = makeWorld({ env: undisturbed.env });
      await expected.run([...command, '-o', file]);

      await using server = await startPageServer((opening) => {
        if (opening.from !== 20240102 || opening.earlier > 0) return daily(opening);
        return [recordsPage('{"stale":1}'), recordsPage('{"stale":2}'), () => expired];
      });
      const world = makeWorld({ env: server.env });
      const { code, stdout, stderr } = await world.run([...command, '-o', file, '--json']);
      expect(code).toBe(0);
      expect(stderr).toContain('restarting this slice');
      expect(JSON.parse(stdout)).toMatchObject({ records: 6, pages: 6 });
      expect(readdirSync(world.cwd)).toEqual(readdirSync(expected.cwd));
      for (const name of readdirSync(world.cwd)) {
        expect(readFileSync(world.path(name))).toEqual(readFileSync(expected.path(name)));
      }
    },
  );

  it('restarts a slice on stdout only if none of its records was written yet', async () => {
    const expiring = (records: readonly string[]) =>
      startPageServer((opening) =>
        opening.earlier > 0
          ? daily(opening)
          : [...records.map((record) => recordsPage(record)), () => expired],
      );
    const flags = [...command, '--concurrency=1'];
    await using early = await expiring([]);
    const started = await makeWorld({ env: early.env }).run(flags);
    expect(started.code).toBe(0);
    expect(started.stdout).toBe(allDays.map((day) => dayLines('Charged', day)).join(''));
    await using late = await expiring(['{"stale":1}']);
    const stopped = await makeWorld({ env: late.env }).run(flags);
    expect([stopped.code, stopped.stderr]).toEqual([
      7,
      expect.stringContaining('1 record of that cursor went to'),
    ]);
  });

  it('restarts a day only once: exit 7, naming --fresh', async () => {
    await using server = await startPageServer(() => [recordsPage('{}'), () => expired]);
    const { code, stderr } = await makeWorld({ env: server.env }).run([...command, '-o', 'a.json']);
    expect(code).toBe(7);
    expect(stderr).toContain('--fresh');
    expect(server.openings.filter(({ from }) => from === 20240101)).toHaveLength(2);
  });

  it('continues with other days while one is pending', async () => {
    await using server = await startPageServer((opening) => {
      const [first, second] = daily(opening);
      const pending = opening.from === 20240102 ? [pendingBody, pendingBody, pendingBody] : [];
      return [inTurn(pending, first!), second!];
    });
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect(stdout).toBe(allDays.map((day) => dayLines('Charged', day)).join(''));
    expect(code).toBe(0);
  });

  it('reads later days while the first one is pending, within the concurrency limit', async () => {
    const wide = ['--from', '2024-01-01', '--to', '2024-01-08'];
    await using server = await startPageServer((opening) => {
      const [first, second, ...more] = daily(opening);
      const others = (asked: readonly string[]) => asked.length >= 5;
      const late = (next?: string) => ({ body: first!(next) as string, until: others });
      return [opening.from === 20240101 ? late : first!, second!, ...more];
    });
    const world = makeWorld({ env: server.env });
    const argv = ['export-events', '--event', 'A', ...wide, '-o', 'out.ndjson'];
    expect((await world.run(argv)).code).toBe(0);
    const expected = Array.from({ length: 8 }, (_, i) => dayLines('A', 20240101 + i)).join('');
    expect(readFileSync(world.path('out.ndjson'), 'utf8')).toBe(expected);
    expect(server.mostInFlight).toBeLessThanOrEqual(3);
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson']);
  });

  it.each(['--concurrency=1', '--concurrency=2'])('respects %s', async (flag) => {
    await using server = await startPageServer(daily);
    const { stdout } = await makeWorld({ env: server.env }).run([...command, flag]);
    expect(stdout).toBe(allDays.map((day) => dayLines('Charged', day)).join(''));
    expect(server.mostInFlight).toBeLessThanOrEqual(Number(flag.at(-1)));
  });

  it('sends fewer requests at a time after 429s', async () => {
    // Every page but the last takes until another request was throttled, or would have been.
    let waits = 0;
    const page = (from: number, p: number) => (next?: string) => ({
      body: recordsPage(`{"d":${from},"p":${p}}`)(next) as string,
      until: () => server.throttled > 0 && (waits += 1) % 8 === 0,
    });
    const many = eachDay(({ from }) => Array.from({ length: 20 }, (_, p) => page(from, p)));
    await using server = await startPageServer(many, { inFlight: 1 });
    const { code, stdout } = await makeWorld({ env: server.env }).run(command);
    expect([code, stdout.split('\n').length]).toEqual([0, 61]);
    // With a fixed limit of three, more requests are throttled than answered.
    expect(server.throttled).toBeLessThan(server.asked.length / 2);
  });

  it('writes the other days if one fails, and leaves no spill file', async () => {
    await using server = await startPageServer((opening) =>
      opening.from === 20240102 ? [() => pendingBody] : daily(opening),
    );
    const world = makeWorld({ env: server.env });
    const { code } = await world.run([...command, '-o', '{day}.ndjson']);
    expect(code).toBe(5);
    expect(readdirSync(world.cwd)).toEqual(['2024-01-01.ndjson', '2024-01-03.ndjson']);
  });

  it('skips a day without records', async () => {
    await using server = await startPageServer((opening) =>
      opening.from === 20240102 ? [() => '{"status":"success"}'] : daily(opening),
    );
    const { stdout } = await makeWorld({ env: server.env }).run(command);
    expect(stdout).toBe(dayLines('Charged', 20240101) + dayLines('Charged', 20240103));
  });

  it.each([
    [
      ['--event', unexportableEvents[0], '--event', 'A', '--event', unexportableEvents[1]],
      /cannot export Notification Sent, Notification Bounce\n/,
    ],
    [['--event', 'A', '--event', 'A'], /--event A occurs twice/],
    [['--event', 'A', '--batch-size', '22'], /from 23 to 5000/],
    [['--event', 'A', '--batch-size', '5001'], /from 23 to 5000/],
    [['--event', 'A', '--no-split', '-o', '{day}.csv'], /--no-split/],
    [['--event', 'A', '--concurrency', '4'], /from 1 to 3/],
    [[], /--event/],
  ])('refuses %j with exit 2', async (flags, message) => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    const { code, stderr } = await world.run(['export-events', ...days, ...flags]);
    expect(stderr).toMatch(message);
    expect(code).toBe(2);
    expect(server.openings).toEqual([]);
  });
});

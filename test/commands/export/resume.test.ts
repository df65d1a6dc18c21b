import { execFileSync } from 'node:child_process';
import {
  existsSync,
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { EngagectlError } from '../../../src/errors.js';
import {
  eachDay,
  inTurn,
  pendingBody,
  recordsPage,
  startPageServer,
  type Opening,
  type Page,
} from '../../support/servers/page-server.js';
import { makeWorld, type World } from '../../support/test-environment.js';

const events = [
  'export-events',
  '--event',
  'Charged',
  '--from',
  '2024-01-01',
  '--to',
  '2024-01-04',
];
const profiles = ['export-profiles', '--event', 'A', '--from', '2024-01-01', '--to', '2024-01-04'];
const once = '--max-attempts=1';
const broken = { status: 500, body: 'broken' };
const expired = '{"status":"fail","error":"Incorrect Usage","code":3}';

/** Three pages a day; each page brings a column that the others do not have, and a formula. */
const ofDay = ({ event_name: e, from }: Opening): Page[] =>
  [1, 2, 3].map((p) =>
    recordsPage(
      `{"e":"${e}","d":${from},"p":${p}}`,
      `{"n":{"${from}-${p}":"=1+1"},"big":1234567890123456789012,"f":1e400}`,
    ),
  );
/** Of a range of profiles, only its first day has pages. */
const daily = (opening: Opening): readonly Page[] =>
  opening.path.includes('profiles') ? ofDay(opening) : eachDay(ofDay)(opening);
/** The page before which the run stops is answered by an error the first time. */
const failing = (day: number, page: number) =>
  eachDay((opening) =>
    ofDay(opening).map((good, index) =>
      opening.from === day && opening.earlier === 0 && index === page
        ? inTurn([broken], good)
        : good,
    ),
  );

/** Content of all files of a world, uncompressed. */
const contents = (world: World) =>
  Object.fromEntries(
    readdirSync(world.cwd)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((name) => {
        const bytes = readFileSync(world.path(name));
        return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
      }),
  );
const runsOf = (world: World): string[] => {
  try {
    return readdirSync(path.join(world.stateDir, 'runs'));
  } catch {
    return [];
  }
};

async function undisturbed(argv: readonly string[]) {
  await using server = await startPageServer(daily);
  const world = makeWorld({ env: server.env });
  expect((await world.run(argv)).code).toBe(0);
  return contents(world);
}

it('reports with --resume that an export is finished whose run directory could not be removed', async () => {
  const world = makeWorld();
  let folder = '';
  const hideRun = () => {
    const id = runsOf(world).find((name) => !name.startsWith('.')) ?? '';
    folder ||= path.join(world.stateDir, 'runs', id);
    if (existsSync(folder)) renameSync(folder, path.join(world.stateDir, 'hidden'));
    return [recordsPage('{"n":1}')];
  };
  await using server = await startPageServer(hideRun);
  const argv = [...profiles, '-o', 'out.ndjson', '--json'];
  const done = await world.run(argv, { env: server.env });
  expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('cannot remove the run')]);
  expect(JSON.parse(done.stdout)).toMatchObject({ records: 1, exitCode: 0 });
  renameSync(path.join(world.stateDir, 'hidden'), folder);

  const again = await world.run([...argv, '--resume'], { env: server.env });
  expect([again.code, server.asked.length, runsOf(world)]).toEqual([0, 1, []]);
  expect(contents(world)).toEqual({ 'out.ndjson': '{"n":1}\n' });
});

const files = ['out.ndjson', 'out.ndjson.gz', 'out.csv', 'out.csv.gz', 'out.json', 'out.json.gz'];

describe('--resume', () => {
  it.each(files.flatMap((file) => [1, 2, 3].map((day) => [file, day] as const)))(
    'produces the same bytes without repeating requests: %s, stopped in day %i',
    async (file, day) => {
      const argv = [...events, '-o', file, once];
      await using server = await startPageServer(failing(20240100 + day, 1));
      const world = makeWorld({ env: server.env });
      const first = await world.run([...argv, '--json']);
      expect(first.code).toBe(5);
      const asked = server.asked.length;
      const { code, stdout, stderr } = await world.run([...argv, '--resume', '--json']);
      expect(stderr).not.toContain('error');
      expect(code).toBe(0);
      expect(contents(world)).toEqual(await undisturbed(argv));
      expect(JSON.parse(stdout)).toMatchObject({ records: 24, pages: 12 });
      expect((JSON.parse(stdout) as { run: string }).run).toBe(
        (JSON.parse(first.stdout) as { run: string }).run,
      );
      // Of what was asked for before, at most what was in flight is asked for again.
      expect(server.openings.length).toBeLessThanOrEqual(4 + 2);
      const again = server.asked
        .slice(asked)
        .filter((t) => server.asked.slice(0, asked).includes(t));
      expect(again.length).toBeLessThanOrEqual(3);
      expect(runsOf(world)).toEqual([]);
    },
  );

  it.each(['{day}.ndjson', '{event}-{day}.csv'])(
    'continues with a file per day: %s',
    async (file) => {
      const argv = [...events, '--event', 'B', '-o', file, once];
      await using server = await startPageServer(failing(20240102, 2));
      const world = makeWorld({ env: server.env });
      expect((await world.run(argv)).code).toBe(5);
      const done = readdirSync(world.cwd).find((name) => /\.(ndjson|csv)$/.test(name))!;
      rmSync(world.path(done)); // taken away by who it was for
      for (let tries = 0; (await world.run([...argv, '--resume'])).code !== 0; tries += 1) {
        expect(tries).toBeLessThan(3);
      }
      const { [done]: _, ...expected } = await undisturbed(argv);
      expect(contents(world)).toEqual(expected);
    },
  );

  it.each(files)('restarts a day whose cursor expired in the meantime: %s', async (file) => {
    const argv = [...events, '-o', file, once];
    await using server = await startPageServer((opening) => {
      if (opening.from !== 20240102 || opening.earlier > 0) return daily(opening);
      const stale = recordsPage('{"stale":1}');
      return [stale, stale, () => [broken, { body: expired }]];
    });
    const world = makeWorld({ env: server.env });
    expect((await world.run(argv)).code).toBe(5);
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it('keeps no run of a killed export that had opened no cursor, if it is stopped again', async () => {
    let journal = '';
    let content = Buffer.alloc(0);
    const controller = new AbortController();
    await using server = await startPageServer((opening) => {
      journal ||= path.join(
        world.stateDir,
        'runs',
        runsOf(world).find((name) => !name.startsWith('.'))!,
        'journal.ndjson',
      );
      if (content.length === 0) content = readFileSync(journal);
      if (opening.earlier > 0) controller.abort();
      return [recordsPage('{"n":1}'), () => broken];
    });
    const world = makeWorld({ env: server.env });
    const argv = [...profiles, '-o', 'out.ndjson', once];
    expect((await world.run(argv)).code).toBe(5);
    writeFileSync(journal, content);
    rmSync(world.path('out.ndjson.partial'), { force: true });
    const { signal } = controller;
    expect((await world.run([...argv, '--resume'], { signal })).code).toBe(130);
    expect(runsOf(world)).toEqual([]);
  });

  it('continues with a day that was restarted and had no records yet', async () => {
    const argv = [...events, '-o', 'out.ndjson', '--pending-timeout=5s'];
    await using server = await startPageServer((opening) => {
      const [first, ...others] = daily(opening);
      if (opening.from !== 20240102) return daily(opening);
      const stale = recordsPage('{"stale":1}', '{"stale":2}');
      if (opening.earlier === 0) return [stale, () => expired];
      return [inTurn([pendingBody, pendingBody, pendingBody], first!), ...others];
    });
    const world = makeWorld({ env: server.env });
    expect((await world.run(argv)).code).toBe(5);
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it('names --fresh if there is only one cursor: exit 7', async () => {
    await using server = await startPageServer((opening) => [
      daily(opening)[0]!,
      () => [broken, { body: expired }],
    ]);
    const world = makeWorld({ env: server.env });
    expect((await world.run([...profiles, '-o', 'a.csv', once])).code).toBe(5);
    const { code, stderr } = await world.run([...profiles, '-o', 'a.csv', '--resume']);
    expect(code).toBe(7);
    expect(stderr).toContain('--fresh');
  });

  it.each([
    ['the first cursor', 'c1%2Fp0%3D'],
    ['a cursor of a later page', 'c1%2Fp1%3D'],
  ])(
    'repeats no page if %s from before the interruption is sent a second time',
    async (_what, repeated) => {
      await using server = await startPageServer((opening) => [
        daily(opening)[0]!,
        daily(opening)[1]!,
        inTurn([broken], daily(opening)[2]!),
        () => recordsPage('{"p":4}')(repeated),
      ]);
      const world = makeWorld({ env: server.env });
      expect((await world.run([...profiles, '-o', 'a.json', once])).code).toBe(5);
      const before = server.asked.length;
      const { code, stderr } = await world.run([...profiles, '-o', 'a.json', once, '--resume']);
      expect(stderr).toContain('sent before');
      expect(code).toBe(7);
      const pages = server.asked.slice(before).map((target) => /p\d/.exec(target)?.[0]);
      expect(pages).toEqual(['p2', 'p3']);
    },
  );

  it('reads the days after a pending one, and then only that one', async () => {
    const flags = ['-o', 'out.csv', '--pending-timeout=5s', once];
    await using server = await startPageServer((opening) => {
      const [first, ...others] = daily(opening);
      if (opening.from !== 20240102) return daily(opening);
      return [inTurn([pendingBody, pendingBody, pendingBody], first!), ...others];
    });
    const world = makeWorld({ env: server.env });
    expect((await world.run([...events, ...flags])).code).toBe(5);
    const asked = server.asked.length;
    expect((await world.run([...events, ...flags, '--resume'])).code).toBe(0);
    expect(server.asked.length - asked).toBe(3);
    expect(server.openings).toHaveLength(3);
    expect(contents(world)).toEqual(await undisturbed([...events, '-o', 'out.csv']));
  });

  it('keeps the absolute dates of relative ones', async () => {
    await using server = await startPageServer((opening) => failing(opening.from, 1)(opening));
    const world = makeWorld({ env: server.env });
    const argv = [
      'export-profiles',
      '--event',
      'A',
      '--from=3d',
      '--to=yesterday',
      '-oa.csv',
      once,
    ];
    const day = (offset: number) => ({ now: () => Date.UTC(2024, 4, 10 + offset, 12) });
    expect((await world.run(argv, day(0))).code).toBe(5);
    const { code, stderr } = await world.run([...argv, '--resume'], day(2));
    expect(code).toBe(0);
    expect(stderr).toContain('2024-05-07 to 2024-05-09');
    expect(server.openings).toMatchObject([{ from: 20240507, to: 20240509 }]);
  });

  it('starts from scratch if no run is unfinished', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    expect((await world.run([...profiles, '-o', 'a.json', '--resume'])).code).toBe(0);
    const { code, stdout, stderr } = await world.run([...profiles, '--resume']);
    expect(code).toBe(0);
    expect(stderr).toContain('standard output cannot be resumed');
    expect(stdout.split('\n')).toHaveLength(7);
  });

  it('keeps no run that got no cursor', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    const nowhere = { env: { ENGAGECTL_BASE_URL: 'http://127.0.0.1:9' } };
    expect((await world.run([...profiles, '-o', 'a.csv', once], nowhere)).code).toBe(5);
    expect(contents(world)).toEqual({});
    expect(runsOf(world)).toEqual([]);
    expect((await world.run([...profiles, '-o', 'a.csv'])).code).toBe(0);
  });

  it('works without a state directory, and reports that it cannot be resumed', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    writeFileSync(world.stateDir, '');
    const { code, stderr } = await world.run([...profiles, '-o', 'a.csv']);
    expect(stderr).toContain('cannot be resumed');
    expect(code).toBe(0);
    expect(readdirSync(world.cwd)).toEqual(['a.csv']);
  });

  it('publishes complete output although another file has taken its name', async () => {
    const world = makeWorld();
    const argv = [...profiles, '-o', 'a.csv'];
    await using server = await startPageServer((opening) => {
      const [first, second, third] = daily(opening);
      const until = () => (writeFileSync(world.path('a.csv'), 'theirs'), true);
      return [first!, second!, (next) => ({ body: third!(next) as string, until })];
    });
    expect((await world.run(argv, { env: server.env })).code).toBe(8);
    expect(readFileSync(world.path('a.csv'), 'utf8')).toBe('theirs');
    const asked = server.asked.length;
    expect((await world.run([...argv, '--resume'], { env: server.env })).code).toBe(8);
    const both = [...argv, '--resume', '--overwrite'];
    expect((await world.run(both, { env: server.env })).code).toBe(0);
    expect(server.asked).toHaveLength(asked);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it.each(['a.ndjson', 'a.csv.gz'])('reports that %s vanished: exit 9, then 8', async (file) => {
    const world = makeWorld();
    const argv = [...profiles, '-o', file];
    await using server = await startPageServer((opening) => {
      const [first, second, third] = daily(opening);
      const until = () => (rmSync(world.path(`${file}.partial`)), true);
      return [first!, second!, (next) => ({ body: third!(next) as string, until })];
    });
    const options = { env: server.env };
    const { code, stderr } = await world.run(argv, options);
    expect(stderr).toMatch(/disappeared during the run[^]*--fresh/);
    expect(code).toBe(9);
    expect((await world.run([...argv, '--resume'], options)).code).toBe(8);
  });

  it('continues after Ctrl-C', async () => {
    const stop = new AbortController();
    const stopping = { ...broken, until: () => (stop.abort(interrupt), true) };
    const interrupt = new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT');
    await using server = await startPageServer((opening) => {
      const [first, second, third] = daily(opening);
      return [first!, inTurn([stopping], second!), third!];
    });
    const world = makeWorld({ env: server.env });
    const argv = [...profiles, '-o', 'a.csv.gz'];
    const { code, stderr } = await world.run(argv, { signal: stop.signal });
    expect(code).toBe(130);
    expect(stderr).toContain('--resume');
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });
});

it('reports that stdout cannot be resumed', async () => {
  await using server = await startPageServer(failing(20240101, 1));
  const { code, stderr } = await makeWorld({ env: server.env }).run([...profiles, once]);
  expect(code).toBe(5);
  expect(stderr).toContain('cannot be resumed; --output <file> can');
});

describe('an unfinished export', () => {
  const argv = [...events, '-o', 'out.csv', once];
  const begin = async () => {
    const server = await startPageServer(failing(20240101, 2));
    const world = makeWorld({ env: server.env });
    expect((await world.run(argv)).code).toBe(5);
    return { server, world };
  };

  it('blocks a new one, which names both choices; --fresh moves it aside', async () => {
    const { server, world } = await begin();
    await using _ = server;
    const before = contents(world);
    const asked = server.asked.length;
    const { code, stderr } = await world.run(argv);
    expect(code).toBe(8);
    expect(stderr).toMatch(/--resume.*--fresh/);
    expect(contents(world)).toEqual(before);
    expect(server.asked).toHaveLength(asked);
    expect((await world.run([...argv, '--fresh'])).code).toBe(0);
    expect(readdirSync(world.cwd).toSorted()).toEqual(['out.csv', 'out.csv.partial.records.1']);
    expect(contents(world)['out.csv']).toBe((await undisturbed(argv))['out.csv']);
    expect(runsOf(world)).toEqual([]);
  });

  it('is kept if --fresh is refused because the target exists', async () => {
    const { server, world } = await begin();
    await using _ = server;
    writeFileSync(world.path('out.csv'), 'older');
    const { code, stderr } = await world.run([...argv, '--fresh']);
    expect([code, stderr]).toEqual([8, expect.stringContaining('out.csv already exists')]);
    expect((await world.run([...argv, '--resume', '--overwrite'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it.each([
    [[], /2024-01-01.ndjson already exists/],
    [['--overwrite'], /2024-01-04.ndjson/],
    [['--missing'], /2024-01-04.ndjson/],
  ])('of a file per day is kept if --fresh %j is refused: %s', async (flags, refusal) => {
    const daysOf = [...events, '-o', '{day}.ndjson', once];
    await using server = await startPageServer(failing(20240103, 1));
    const world = makeWorld({ env: server.env });
    expect((await world.run([...daysOf, ...flags])).code).toBe(5);
    const before = contents(world);
    if (flags.length > 0) mkdirSync(world.path('2024-01-04.ndjson'));
    const asked = server.asked.length;
    const { code, stderr } = await world.run([...daysOf, ...flags, '--fresh']);
    expect([code > 0, stderr]).toEqual([true, expect.stringMatching(refusal)]);
    expect(server.asked).toHaveLength(asked);
    if (flags.length > 0) rmdirSync(world.path('2024-01-04.ndjson'));
    expect(contents(world)).toEqual(before);
    expect((await world.run([...daysOf, ...flags, '--resume'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(daysOf));
  });

  it.each<[string, string[], Record<string, string>]>([
    ['--event', ['--event', 'B'], {}],
    ['--batch-size', ['--batch-size', '46'], {}],
    ['--format', ['--format', 'json'], {}],
    ['--columns', ['--columns', 'e'], {}],
    ['--bom', ['--bom'], {}],
    ['--timezone', ['--timezone', 'Asia/Kolkata'], {}],
    ['account', [], { ENGAGECTL_ACCOUNT_ID: 'OTHER' }],
    ['host', [], { ENGAGECTL_BASE_URL: 'https://example.invalid' }],
  ])('refuses another %s: exit 8', async (what, flags, env) => {
    const { server, world } = await begin();
    await using _ = server;
    const before = contents(world);
    const { code, stderr } = await world.run([...argv, '--resume', ...flags], { env });
    expect(stderr).toContain(`${what} was`);
    expect(code).toBe(8);
    expect(contents(world)).toEqual(before);
  });

  it.each<[string, (file: string) => void]>([
    [
      'edited',
      (file) => writeFileSync(file, readFileSync(file, 'latin1').replace('1', '2'), 'latin1'),
    ],
    ['shorter', (file) => writeFileSync(file, 'x')],
    ['gone', (file) => rmSync(file)],
    [
      'a named pipe', // opening it must not wait for a writer
      (file) => {
        rmSync(file);
        execFileSync('mkfifo', [file]);
      },
    ],
  ])('is refused if its partial output is %s: exit 8', async (_what, spoil) => {
    const { server, world } = await begin();
    await using _ = server;
    const asked = server.asked.length;
    spoil(world.path('out.csv.partial.records'));
    const { code, stderr } = await world.run([...argv, '--resume']);
    expect(code).toBe(8);
    expect(stderr).toContain('--fresh');
    expect(server.asked).toHaveLength(asked);
  });

  it('is resumed if text was appended, as by a truncated write', async () => {
    const { server, world } = await begin();
    await using _ = server;
    appendFileSync(world.path('out.csv.partial.records'), 'torn');
    expect((await world.run([...argv, '--resume'])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it('can be used by one process at a time: exit 8', async () => {
    const { server, world } = await begin();
    await using _ = server;
    const both = await Promise.all([1, 2].map(() => world.run([...argv, '--resume'])));
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    expect(contents(world)).toEqual(await undisturbed(argv));
  });

  it('is listed, shown and resumed by `runs`', async () => {
    const { server, world } = await begin();
    await using _ = server;
    const listed = await world.run(['runs', 'list', '--json']);
    const { runs } = JSON.parse(listed.stdout) as { runs: [{ run: string }] };
    const [{ run }] = runs;
    expect((await world.run(['runs', 'show', run])).stdout).toContain('export-events');
    expect((await world.run(['runs', 'resume', run])).code).toBe(0);
    expect(contents(world)).toEqual(await undisturbed(argv));
    expect(runsOf(world)).toEqual([]);
  });

  it('is started by one of two processes that start at once', async () => {
    await using server = await startPageServer(daily);
    const world = makeWorld({ env: server.env });
    const both = await Promise.all([1, 2].map(() => world.run([...profiles, '-o', 'a.csv'])));
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 8]);
    expect(readdirSync(world.cwd)).toEqual(['a.csv']);
  });
});

import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  inTurn,
  recordsPage,
  startPageServer,
  type Opening,
  type Page,
} from '../../support/servers/page-server.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { until } from '../../support/until.js';
import { BinProcess } from '../../support/processes/bin-process.js';

// The built program, real signals, and what they leave.

const days = ['--event', 'A', '--from', '2024-01-01', '--to', '2024-01-03'];
const daily = ({ from }: Opening): Page[] =>
  [1, 2].map((page) => recordsPage(`{"day":${from},"page":${page}}`));
const lines = [1, 2, 3]
  .flatMap((day) => [1, 2].map((page) => `{"day":2024010${day},"page":${page}}\n`))
  .join('');

/** Serves the days; one page of the first one hangs when it is asked for the first time. */
async function stage({ hangs }: { readonly hangs: number }) {
  let released = false;
  const server = await startPageServer((opening) =>
    daily(opening).map((page, index) => {
      const late = { body: '{"status":"success"}', until: () => released };
      return opening.from === 20240101 && index === hangs ? inTurn([late], page) : page;
    }),
  );
  const world = makeWorld({ env: server.env });
  return {
    server,
    world,
    start: (...argv: string[]) => new BinProcess(world, argv, server.env),
    resume: (...argv: string[]) => {
      released = true;
      return world.run([...argv, '--resume']);
    },
    [Symbol.asyncDispose]: () => {
      released = true;
      return server[Symbol.asyncDispose]();
    },
  };
}

/** The journals of all unfinished runs. */
const journals = ({ stateDir }: World): string =>
  !existsSync(`${stateDir}/runs`)
    ? ''
    : readdirSync(`${stateDir}/runs`)
        .map((run) => `${stateDir}/runs/${run}/journal.ndjson`)
        .map(textOf)
        .join('');

/** The text of a file, which may vanish at any time; empty without one. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return '';
    throw error;
  }
}

/** Waits until the journal has each of these texts. */
async function journalHas(world: World, ...entries: readonly string[]): Promise<void> {
  await until(() => entries.every((entry) => journals(world).includes(entry)), {
    message: () => `${entries.join(' and ')} in the journal ${journals(world)}`,
  });
}

/** Journal entries of a first page, and of two slices that were read to their ends. */
const firstPage = '"slice":0,"next":"';
const readAhead = ['"slice":1,"next":null', '"slice":2,"next":null'];

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

describe.each(signals)('%s', (signal, exitCode) => {
  it.each(['out.ndjson', 'out.csv.gz'])(
    `ends an export to %s, which can be resumed`,
    async (file) => {
      await using run = await stage({ hangs: 1 });
      const argv = ['export-profiles', ...days, '-o', file];
      const child = run.start(...argv);
      await journalHas(run.world, firstPage);
      await until(() => run.server.asked.length === 2); // else the resumed run gets the answer that hangs
      child.signal(signal);
      expect(await child.ended()).toBe(exitCode);
      expect(child.stderr).toContain('rerun the same command with --resume');
      expect(existsSync(run.world.path(file))).toBe(false);

      const asked = run.server.asked.length;
      expect((await run.resume(...argv)).code).toBe(0);
      expect(new Set(run.server.asked.slice(asked)).size).toBe(1);
      await using undisturbed = await startPageServer(daily);
      const other = makeWorld({ env: undisturbed.env });
      await other.run(argv);
      expect(readFileSync(run.world.path(file))).toEqual(readFileSync(other.path(file)));
      expect(readdirSync(run.world.cwd)).toEqual([file]);
    },
  );

  it('ends an export to stdout after a whole page, and reports that it cannot be resumed', async () => {
    await using run = await stage({ hangs: 1 });
    const child = run.start('export-profiles', ...days);
    await child.firstLine();
    await until(() => run.server.asked.length === 2);
    child.signal(signal);
    expect(await child.ended()).toBe(exitCode);
    expect(child.stdout).toBe('{"day":20240101,"page":1}\n');
    expect(child.stderr).toContain('cannot be resumed');
    expect(journals(run.world)).toBe('');
  });
});

/** Killed while the first day hangs and the two behind it wait, whole, in spills. */
async function killedWithSpills(argv: readonly string[]) {
  const run = await stage({ hangs: 0 });
  const child = run.start(...argv);
  await journalHas(run.world, ...readAhead);
  child.signal('SIGKILL');
  await child.ended();
  return run;
}

const events = ['export-events', ...days, '-o', 'out.ndjson'];

describe('D days read ahead', () => {
  it('are not requested again after kill -9', async () => {
    await using run = await killedWithSpills(events);
    const asked = run.server.asked.length;
    expect((await run.resume(...events)).code).toBe(0);
    expect(run.server.openings).toHaveLength(3);
    expect(run.server.asked.slice(asked)).toHaveLength(2);
    expect(readFileSync(run.world.path('out.ndjson'), 'utf8')).toBe(lines);
    expect(readdirSync(run.world.cwd)).toEqual(['out.ndjson']);
  });
});

describe('runs prune', () => {
  const leftovers = [
    'out.ndjson.partial',
    'out.ndjson.partial.slice-1',
    'out.ndjson.partial.slice-2',
  ];

  it('removes the files of an export, so that the next one can start', async () => {
    await using run = await killedWithSpills(events);
    const { world } = run;
    expect(readdirSync(world.cwd)).toEqual(leftovers);
    writeFileSync(world.path('out.ndjson.partial.slice-9'), 'not of this run');
    const { code, stderr, stdout } = await world.run(['runs', 'prune', '--yes', '--json']);
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      removed: leftovers.map((name) => world.path(name)),
      left: [],
    });
    expect(readdirSync(world.cwd)).toEqual(['out.ndjson.partial.slice-9']);
    expect((await run.resume(...events)).code).toBe(0);
  });

  it('keeps and names files that somebody else put there', async () => {
    await using run = await killedWithSpills(events);
    const { world } = run;
    writeFileSync(world.path('out.ndjson.partial'), 'theirs');
    writeFileSync(world.path('out.ndjson.partial.slice-2'), 'theirs');
    const { code, stderr } = await world.run(['runs', 'prune', '--yes']);
    expect(code).toBe(0);
    expect(stderr).toContain(`removed ${world.path('out.ndjson.partial.slice-1')}\n`);
    expect(stderr).toContain(`left ${world.path('out.ndjson.partial')}: `);
    expect(readdirSync(world.cwd)).toEqual(leftovers.toSpliced(1, 1));
  });

  it.each([
    ['out.csv', ['out.csv.partial', 'out.csv.partial.records']],
    [
      '{day}.json.gz',
      [
        '2024-01-01.json.gz.partial',
        '2024-01-02.json.gz.partial.slice-1',
        '2024-01-03.json.gz.partial.slice-2',
      ],
    ],
  ])('recognizes the files of %s', async (file, left) => {
    const argv = ['export-events', ...days, '-o', file];
    await using run = await stage({ hangs: 1 });
    const child = run.start(...argv);
    await journalHas(run.world, firstPage, ...readAhead);
    child.signal('SIGKILL');
    await child.ended();
    expect(readdirSync(run.world.cwd)).toEqual(expect.arrayContaining(left));
    expect((await run.world.run(['runs', 'prune', '--yes'])).code).toBe(0);
    expect(readdirSync(run.world.cwd)).toEqual([]);
  });
});

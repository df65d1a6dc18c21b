import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFailed } from 'vitest';
import {
  recordsPage,
  startPageServer,
  type Opening,
  type PageServer,
} from '../../support/servers/page-server.js';
import { makeWorld, type World } from '../../support/test-environment.js';
import { cutPower, powerCutFlags, snapshotOf } from '../../chaos/power-cut.js';
import { randomOf } from '../../chaos/random.js';
import { binPath } from '../../support/processes/bin-process.js';

// Kills an export before each of its system calls that change a file, or lets that call fail, and
// resumes it, with or without a power cut that loses what was not synced. A sample by default;
// ENGAGECTL_KILL_SWEEP=full tries every single one.
const isFull = process.env['ENGAGECTL_KILL_SWEEP'] === 'full';
const isLong = process.env['ENGAGECTL_LONG'] === '1';
const perExport = isLong ? 6 : 1;
const calls =
  'openat write pwrite64 ftruncate fdatasync fsync mkdir rename link unlink rmdir'.split(' ');
const hasStrace = spawnSync('strace', ['-V']).status === 0;
if (!hasStrace) process.stderr.write('SKIPPED: strace is missing; exports are not killed\n');

const range = ['--from', '2024-01-01', '--to', '2024-01-03'];
const byDay = ['export-events', '--event', 'A', ...range];
const byCursor = ['export-profiles', '--event', 'A', ...range];
const everyExport: readonly (readonly string[])[] = [
  ...['out.ndjson', 'out.csv', 'out.json', 'out.ndjson.gz'].flatMap((file) => [
    [...byDay, '-o', file],
    [...byCursor, '-o', file],
  ]),
  [...byDay, '-o', '{day}.csv'],
  [...byDay, '-o', '{day}.ndjson.gz', '--missing', '--min-records', '1'],
];

/** The quick suite takes one of them. */
const exports = isFull || isLong ? everyExport : everyExport.slice(3, 4);

/** This one replaces a file that was there before. */
const overwriting = [...byDay, '-o', 'out.csv', '--overwrite'];
const older = 'an older export\n';

/** Each page brings a column of its own, so that a CSV has to remember what it saw. */
const daily = ({ from }: Opening) =>
  [1, 2].map((p) => recordsPage(`{"d":${from},"p":${p}}`, `{"n":{"${from}-${p}":"=1+1, 2"}}`));

interface Injection {
  readonly call: string;
  /** Which of these calls, from 1, by the thread that makes them. */
  readonly nth: number;
  readonly what: string;
  /** Whatever the process did not sync is lost after it was killed. */
  readonly cutsPower?: boolean;
}

/** Runs the built program under strace; resolves with how it ended. */
async function traced(
  world: World,
  server: PageServer,
  argv: readonly string[],
  flags: readonly string[],
) {
  const command = [
    '-f',
    '-qq',
    '-o',
    'trace',
    ...flags,
    process.execPath,
    binPath,
    ...argv,
    '--quiet',
  ];
  const child = spawn('strace', command, {
    cwd: rootOf(world),
    env: {
      ...server.env,
      PATH: process.env['PATH'],
      ENGAGECTL_STATE_DIR: world.stateDir,
      ENGAGECTL_CONFIG_DIR: world.configDir,
      // One thread makes all calls for files, so that they can be counted.
      UV_THREADPOOL_SIZE: '1',
    },
    stdio: 'ignore',
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal };
}

/** By command line. */
const callsFound = new Map<string, Promise<readonly Injection[]>>();

/** Every call of an uninterrupted run that changes one of its files. */
async function callsOf(argv: readonly string[]): Promise<readonly Injection[]> {
  const line = argv.join(' ');
  const found = callsFound.get(line) ?? traceCalls(argv);
  callsFound.set(line, found);
  return found;
}

async function traceCalls(argv: readonly string[]): Promise<Injection[]> {
  const { world, server } = await begin(argv);
  await using _ = server;
  const { code } = await traced(world, server, inWork(argv), ['-y', `-etrace=${calls.join(',')}`]);
  expect(code).toBe(0);
  const root = rootOf(world);
  const counts = new Map<string, number>();
  const found: Injection[] = [];
  for (const line of readFileSync(`${root}/trace`, 'utf8').split('\n')) {
    const [, thread, call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (thread === undefined) continue;
    const nth = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, nth);
    const changes = call !== 'openat' || line.includes('O_CREAT');
    if (changes && (line.includes(root) || line.includes('work/'))) {
      found.push({ call, nth, what: 'signal=SIGKILL' });
    }
  }
  return found;
}

const failures = (killed: readonly Injection[]): Injection[] =>
  killed.flatMap(({ call, nth }) => {
    if (call === 'pwrite64') return [{ call, nth, what: 'error=ENOSPC' }];
    if (call === 'fdatasync' || call === 'fsync') return [{ call, nth, what: 'error=EIO' }];
    return [];
  });

async function begin(argv: readonly string[]) {
  const server = await startPageServer(daily);
  const world = makeWorld({ env: server.env });
  if (argv.includes('--overwrite')) writeFileSync(world.path('out.csv'), older);
  return { server, world };
}

const rootOf = (world: World): string => path.dirname(world.cwd);

/** The child's current folder is the world's root, where the trace goes. */
const inWork = (argv: readonly string[]): string[] =>
  argv.map((word, index) => (argv[index - 1] === '-o' ? `work/${word}` : word));

const contents = (world: World) =>
  Object.fromEntries(
    readdirSync(world.cwd).map((name) => {
      const bytes = readFileSync(world.path(name));
      return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
    }),
  );

/** The files of an export that nothing disturbs. */
async function undisturbed(argv: readonly string[]): Promise<Record<string, string>> {
  const { world, server } = await begin(argv);
  await using _ = server;
  expect((await world.run(argv)).code).toBe(0);
  return contents(world);
}

/** Runs an export under strace; then the power is cut. */
async function cutAfter(
  { world, server }: { readonly world: World; readonly server: PageServer },
  argv: readonly string[],
  { call, flags, seed }: { call?: string; flags: readonly string[]; seed: number },
) {
  const before = snapshotOf(rootOf(world));
  const traceFlags = [...powerCutFlags(...(call === undefined ? [] : [call])), ...flags];
  const outcome = await traced(world, server, inWork(argv), traceFlags);
  const trace = path.join(rootOf(world), 'trace');
  cutPower(rootOf(world), { trace, before }, randomOf(seed));
  rmSync(trace);
  return outcome;
}

/** Runs, is disturbed, is resumed: the files must be those of an uninterrupted run. */
async function survive(
  argv: readonly string[],
  { call, nth, what, cutsPower }: Injection,
  expected: Record<string, string>,
): Promise<'disturbed' | 'undisturbed'> {
  const stage = await begin(argv);
  const { world, server } = stage;
  await using _ = server;
  const inject = `-einject=${call}:${what}:when=${nth}`;
  const { code, signal } = cutsPower
    ? await cutAfter(stage, argv, { call, flags: [inject], seed: nth })
    : await traced(world, server, inWork(argv), [`-etrace=${call}`, inject]);
  for (const [name, content] of Object.entries(contents(world))) {
    if (name in expected) expect([expected[name], older]).toContain(content);
  }
  if (code === 0) {
    expect(contents(world)).toEqual(expected);
    return 'undisturbed';
  }
  if (what.startsWith('signal')) expect(signal ?? code).toBe('SIGKILL');
  else expect(code).toBe(9);
  const resumed = await world.run([...argv, '--resume'], { env: { ...server.env } });
  if (resumed.code === 8) {
    // It had been published, and only the run's own folder was still there.
    expect(resumed.stderr).toContain('already exists');
  } else {
    expect(resumed.stderr).not.toContain('error');
    expect(resumed.code).toBe(0);
  }
  expect(contents(world)).toEqual(expected);
  return 'disturbed';
}

/** `count` of the items at even distances, beginning where the seed says. */
function sampled<T>(items: readonly T[], count: number): readonly T[] {
  if (isFull) return items;
  const seed = Number(process.env['ENGAGECTL_KILL_SEED'] ?? 20_261_121);
  onTestFailed(() => void process.stderr.write(`ENGAGECTL_KILL_SEED=${seed}\n`));
  return Array.from({ length: count }, (_, n) => {
    return items[(seed + n * Math.ceil(items.length / count)) % items.length]!;
  });
}

describe.runIf(hasStrace)('an export that is killed or cannot write', () => {
  it.each(exports)(
    'is resumed to the same bytes: %s … %s %s',
    { timeout: 3_600_000 },
    async (...argv) => {
      const expected = await undisturbed(argv);
      const kills = await callsOf(argv);
      const counts = { disturbed: 0, undisturbed: 0 };
      for (const injection of [...sampled(kills, perExport), ...sampled(failures(kills), 1)]) {
        try {
          counts[await survive(argv, injection, expected)] += 1;
        } catch (error) {
          throw new Error(`at ${injection.call} ${injection.nth}: ${injection.what}`, {
            cause: error,
          });
        }
      }
      expect(counts.disturbed).toBeGreaterThan(0);
      if (isFull) process.stderr.write(`${argv.join(' ')}: ${JSON.stringify(counts)}\n`);
    },
  );
});

describe.runIf(hasStrace)('a power cut during an export', () => {
  it.each([...exports, overwriting])(
    'resumes the export to the same bytes: %s … %s %s',
    { timeout: 3_600_000 },
    async (...argv) => {
      const expected = await undisturbed(argv);
      const points = (await callsOf(argv)).map((point) => ({ ...point, cutsPower: true }));
      // The run folder is renamed before it is removed; the output has its name by then.
      const published = points.findLast(({ call }) => call === 'rename')!;
      for (const point of [...sampled(points, perExport), published]) {
        await survive(argv, point, expected).catch((cause: unknown) => {
          throw new Error(`at ${point.call} ${point.nth}`, { cause });
        });
      }
    },
  );

  it.each([...exports, overwriting])(
    'loses nothing of a finished export: %s … %s %s',
    async (...argv) => {
      const expected = await undisturbed(argv);
      const stage = await begin(argv);
      await using _ = stage.server;
      const { code } = await cutAfter(stage, argv, { flags: [], seed: 1 });
      expect(code).toBe(0);
      expect(contents(stage.world)).toEqual(expected);
    },
  );
});

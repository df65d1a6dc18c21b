import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeWorld, type World } from '../support/test-environment.js';
import { hasStrace, outcomeOf, start } from './bin.js';
import {
  checkEnd,
  checkMemory,
  checkPart,
  checkRunsList,
  checkSecret,
  isDone,
  layOut,
  passcode,
  runsOf,
} from './invariants.js';
import { cutPower, powerCutFlags, snapshotOf } from './power-cut.js';
import { useMemoryDisk } from './memory-disk.js';
import { randomOf, seeds, type Random } from './random.js';
import { scenarioOf, type Scenario, type ScenarioKind } from './random-upload.js';
import { startTruth, type Truth } from './reference-service.js';
import { accountAt } from '../support/account-environment.js';

// Kills the built program at each of its writes, syncs, renames and sends, with or without all that
// the disk was not asked to keep, or lets that call fail, and resumes. A sample from the seed in the
// test's name; ENGAGECTL_FULL_SWEEP=1 tries every one.

useMemoryDisk();

const isFull = process.env['ENGAGECTL_FULL_SWEEP'] === '1';
const isLong = process.env['ENGAGECTL_LONG'] === '1';
/** The quick suite tries one of them, and cuts the power for another. */
const kinds: readonly ScenarioKind[] = isLong
  ? ['profiles', 'mixed', 'events', 'demerge', 'changed', 'piped']
  : ['changed'];
const powerCutKinds: readonly ScenarioKind[] = isLong ? kinds : ['events'];
/** Points of each kind of run in a sample. */
const [killsPerKind, powerCutsPerKind, failuresPerKind, edgesOfOneKind] = isLong
  ? [16, 8, 8, 16]
  : [1, 1, 1, 1];
const chunk = 5;
const inFlight = 2;
const flags = ['--chunk-size', `${chunk}`, '--concurrency', `${inFlight}`, '--json'];
if (!hasStrace) process.stderr.write('SKIPPED: strace is missing; writes are not killed\n');

/** Calls that change a file or send; their numbers are counted per thread and call. */
const calls =
  'write writev pwrite64 sendto sendmsg fdatasync fsync rename mkdir unlink rmdir ftruncate openat bind connect'.split(
    ' ',
  );

interface Point {
  readonly call: string;
  readonly nth: number;
  readonly what: string;
  /** The call in an uninterrupted run, as strace shows it. */
  readonly text?: string;
  readonly cutsPower?: boolean;
}

describe.runIf(hasStrace).each(kinds)('%s', (kind) => {
  const [seed = 0] = seeds(1);

  it(`survives kills and disk failures, seed ${seed}`, { timeout: 3_600_000 }, async () => {
    const points = await pointsOf(kind);
    const kills = points.map((point) => ({ ...point, what: 'signal=SIGKILL' }));
    const random = randomOf(seed);
    const powerCuts = kills.map((point) => ({ ...point, cutsPower: true }));
    // By themselves: that failing calls are met does not say that any process is killed.
    await sweep(kind, seed, [
      ...sampled(kills, killsPerKind, random),
      ...sampled(powerCuts, powerCutsPerKind, random),
    ]);
    // Where a run folder begins and where it ends: few, and unlike all others. One kind has more of them.
    const edges = points.filter(({ call }) => call === 'rename' || call === 'fsync');
    await sweep(kind, seed, [
      ...sampled(points.flatMap(failuresAt), failuresPerKind, random),
      ...(kind === 'changed'
        ? sampled(edges.flatMap(failuresAt), edgesOfOneKind, random)
        : sampled(edges.flatMap(failuresAt), failuresPerKind, random)),
    ]);
  });
});

describe.runIf(hasStrace)('a power cut', () => {
  const [seed = 0] = seeds(1);

  it.each(powerCutKinds)(
    'while a run renames or removes files loses no outcome: %s',
    async (kind) => {
      const points = await pointsOf(kind);
      const at = (call: string, name: RegExp) =>
        points.filter((point) => point.call === call && name.test(point.text ?? ''));
      const syncs = at('fdatasync', /journal/);
      const rejectsBegun = points.findIndex(({ text }) => /rejectsBegun/.test(text ?? ''));
      const afterRejectsBegun = points
        .slice(rejectsBegun)
        .filter(({ call, text }) => call === 'pwrite64' && /journal.*synced/.test(text ?? ''));
      const chosen = [
        ...at('rename', /journal\.ndjson/).slice(0, 1), // the run folder has its name
        ...afterRejectsBegun.slice(0, 1), // an older rejects file has another name
        ...syncs.slice(syncs.length / 3).slice(0, 1), // records were sent
        ...at('rename', /./).slice(-1), // all records were sent
        ...at('unlink', /\/runs\/\.[^/]*\//), // the run folder is being removed
      ];
      await sweep(
        kind,
        seed,
        chosen.map((point) => ({ ...point, what: 'signal=SIGKILL', cutsPower: true })),
      );
    },
  );

  it.each(powerCutKinds)(
    'after one failed sync of the journal loses no outcome: %s',
    async (kind) => {
      const points = await pointsOf(kind);
      const syncs = points.filter(
        ({ call, text }) => call === 'fdatasync' && /journal/.test(text ?? ''),
      );
      const { call, nth } = syncs[1]!; // records are in flight
      const point = { call, nth, what: 'error=EIO', cutsPower: true };
      expect(await survive(kind, seed, { point, random: randomOf(seed) })).toBe('hit');
    },
  );

  it.each(powerCutKinds)(
    'after the end of a run loses neither outcomes nor rejects: %s',
    async (kind) => {
      await using stage = await begin(kind, seed);
      const { world, truth, scenario } = stage;
      const before = snapshotOf(path.dirname(world.cwd));
      const { code, ...output } = await runTraced(stage, powerCutFlags());
      const remembered = kind === 'changed' ? await rememberedIn(stage) : 0;
      cutPower(path.dirname(world.cwd), { trace: traceOf(world), before }, randomOf(seed));
      rmSync(traceOf(world));
      const summary = checkPart({ ...output, code: code ?? -1 }, scenario, false);
      checkEnd(world, { scenario, truth, summary });
      if (kind === 'changed') {
        await checkMemory(world, scenario, truth);
        expect(await rememberedIn(stage), 'remembered').toBe(remembered);
      }
      await sendNothingTwice(stage);
    },
  );
});

/** Records of the input that --changed would not send; this sends nothing. */
async function rememberedIn({ world, scenario }: Stage): Promise<number> {
  const argv = [...scenario.argv, '--check', '--json', '--rejects', 'asked.rejects.ndjson'];
  const { stdout, stderr } = await world.run(argv);
  expect(stdout, stderr).not.toBe('');
  return (JSON.parse(stdout) as { plan: { unchanged: number } }).plan.unchanged;
}

const failuresAt = ({ call, nth }: Point): readonly Point[] => {
  const errors: Record<string, readonly string[]> = {
    write: ['ENOSPC', 'EIO'],
    pwrite64: ['ENOSPC', 'EIO'],
    fdatasync: ['EIO', 'ENOSPC'],
    fsync: ['EIO'],
    rename: ['EIO'],
    mkdir: ['ENOSPC'],
  };
  return (errors[call] ?? []).map((error) => ({ call, nth, what: `error=${error}` }));
};

const sampled = (points: readonly Point[], count: number, random: Random): readonly Point[] =>
  isFull ? points : Array.from({ length: count }, () => points[random.below(points.length)]!);

/** Two at a time: the machine that checks this has two processors. */
async function sweep(kind: ScenarioKind, seed: number, points: readonly Point[]): Promise<void> {
  const left = points.entries();
  const counts = { hit: 0, missed: 0 };
  const failures: string[] = [];
  const worker = async () => {
    for (const [index, point] of left) {
      try {
        counts[await survive(kind, seed, { point, random: randomOf(seed + index) })] += 1;
      } catch (error) {
        const { call, nth, what, cutsPower } = point;
        failures.push(`${call} ${nth} ${what} ${cutsPower ? 'power cut' : ''}: ${String(error)}`);
      }
    }
  };
  await Promise.all([worker(), worker()]);
  if (isFull) process.stderr.write(`${kind}: ${JSON.stringify({ ...counts, failures })}\n`);
  expect(failures).toEqual([]);
  // Not each is met: threads take turns otherwise in another process.
  expect(counts.hit).toBeGreaterThan(0);
}

interface Stage {
  readonly world: World;
  readonly truth: Truth;
  readonly scenario: Scenario;
}

/** The same input for each point, and a service that answers as it should. */
async function begin(kind: ScenarioKind, seed: number): Promise<Stage & AsyncDisposable> {
  const random = randomOf(seed);
  const scenario = scenarioOf(kind, 60, random);
  const truth = await startTruth(scenario, random);
  const world = makeWorld({
    env: accountAt(truth.server.url, passcode),
  });
  layOut(world, scenario);
  const end = async () => {
    await truth[Symbol.asyncDispose]();
    rmSync(path.dirname(world.cwd), { recursive: true });
  };
  return { world, truth, scenario, [Symbol.asyncDispose]: end };
}

const traceOf = (world: World): string => path.join(path.dirname(world.cwd), 'trace');

/** Without --seccomp-bpf, which makes strace (6.1) drop the signals it is to inject. */
async function runTraced({ world, truth, scenario }: Stage, strace: readonly string[]) {
  const tracer = ['strace', '-f', '-qq', '-o', traceOf(world), ...strace];
  const argv = [...scenario.argv, ...flags];
  return outcomeOf(start(world, { url: truth.server.url, argv, tracer, stdin: scenario.stdin }));
}

const pointsFound = new Map<ScenarioKind, Promise<readonly Point[]>>();

/** The calls of an uninterrupted run that concern its files or its connections. */
async function pointsOf(kind: ScenarioKind): Promise<readonly Point[]> {
  const points = pointsFound.get(kind) ?? findPoints(kind, seeds(1)[0]!);
  pointsFound.set(kind, points);
  return points;
}

async function findPoints(kind: ScenarioKind, seed: number): Promise<readonly Point[]> {
  await using stage = await begin(kind, seed);
  const { code, stderr } = await runTraced(stage, [
    '-y',
    '-s',
    '4096',
    `-etrace=${calls.join(',')}`,
  ]);
  expect([0, 3], stderr).toContain(code);
  const root = path.dirname(stage.world.cwd);
  const counts = new Map<string, number>();
  const points = new Map<string, Point>();
  for (const line of readFileSync(traceOf(stage.world), 'utf8').split('\n')) {
    const [, thread, call = ''] = /^(\d+) +(\w+)\(/.exec(line) ?? [];
    if (thread === undefined) continue;
    const nth = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, nth);
    const isOurs = line.includes(root) || /<(TCP|socket|UNIX)/.test(line);
    const changes = call !== 'openat' || line.includes('O_CREAT');
    const key = `${call} ${nth}`;
    // Of two threads, the first one is met.
    if (isOurs && changes && !points.has(key)) points.set(key, { call, nth, what: '', text: line });
  }
  return [...points.values()];
}

async function survive(
  kind: ScenarioKind,
  seed: number,
  { point, random }: { point: Point; random: Random },
): Promise<'hit' | 'missed'> {
  await using stage = await begin(kind, seed);
  const { world, truth, scenario } = stage;
  const { call, nth, what, cutsPower } = point;
  const traced = cutsPower ? powerCutFlags(call) : [`-etrace=${call}`];
  const before = snapshotOf(path.dirname(world.cwd));
  const first = await runTraced(stage, [...traced, `-einject=${call}:${what}:when=${nth}`]);
  if (cutsPower) cutPower(path.dirname(world.cwd), { trace: traceOf(world), before }, random);
  rmSync(traceOf(world));
  checkSecret(path.dirname(world.cwd));
  await checkRunsList(world);
  if (kind === 'changed') await checkMemory(world, scenario, truth);
  const { code, stdout } = first;
  if (code !== null && stdout !== '') {
    const summary = checkPart({ ...first, code }, scenario, false);
    if (isDone(summary, scenario) && !unfinished(world)) {
      checkEnd(world, { scenario, truth, summary });
      if (kind === 'changed') await checkMemory(world, scenario, truth);
      return 'missed';
    }
  }
  // Null: killed, or aborted by itself as a call between its own threads failed.
  const stays = /cannot remove the run folder|cannot be recorded/.test(first.stderr);
  if (code !== null && !stays) expect([6, 9], first.stderr).toContain(code);
  // Killed when the run was done and forgotten: there is nothing left to go on with.
  if (code === null && stdout !== '' && !unfinished(world)) {
    await sendNothingTwice(stage);
    return 'hit';
  }
  await finish(stage, random);
  if (kind === 'changed') await checkMemory(world, scenario, truth);
  // Of a power cut also what was answered and not synced: twice as many as may be in flight.
  expect(sentAgain(truth)).toBeLessThanOrEqual((cutsPower ? 3 : 1) * inFlight * chunk);
  return 'hit';
}

/** The ledger knows of the run: --resume sends nothing of it again that does harm. */
async function sendNothingTwice({ world, truth, scenario }: Stage): Promise<void> {
  if (!scenario.records.some(({ once }) => once)) return;
  const before = truth.executed.length;
  const argv = [...scenario.argv, ...flags, '--resume'];
  const { code, stdout, stderr } = await world.run(argv, inputOf(scenario));
  expect([0, 3], stderr).toContain(code); // events that were rejected are rejected again
  expect(truth.executed).toHaveLength(before);
  const { accepted, resumed, rejected, unknown, alreadySent } = JSON.parse(stdout) as Record<
    string,
    number
  >;
  expect(accepted).toBe(0);
  expect(resumed! + rejected! + unknown! + alreadySent!).toBe(scenario.records.length);
}

const inputOf = ({ stdin }: Scenario) => (stdin ? { stdin } : {});

const unfinished = (world: World): boolean => runsOf(world).some((name) => !name.startsWith('.'));

/** Records that were carried out once more. */
const sentAgain = ({ executed }: Truth): number => executed.length - new Set(executed).size;

/** Resumes, in process or as a process of its own, until the run is done. */
async function finish({ world, truth, scenario }: Stage, random: Random): Promise<void> {
  const argv = [...scenario.argv, ...flags, '--resume'];
  const url = truth.server.url;
  const outcome = random.chance(0.2)
    ? await outcomeOf(start(world, { url, argv, stdin: scenario.stdin }))
    : await world.run(argv, inputOf(scenario));
  const summary = checkPart({ ...outcome, code: outcome.code ?? -1 }, scenario, false);
  expect(isDone(summary, scenario)).toBe(true);
  checkEnd(world, { scenario, truth, summary });
}

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import {
  recordsPage,
  startPageServer,
  type Opening,
  type Page,
} from '../support/servers/page-server.js';
import { makeWorld, type World } from '../support/test-environment.js';
import { damageOne } from './corrupt-file.js';
import { checkEnd, checkPart, isDone, layOut, olderRejects, passcode } from './invariants.js';
import { useMemoryDisk } from './memory-disk.js';
import { randomOf, seeds, type Random } from './random.js';
import { scenarioOf, type ScenarioKind } from './random-upload.js';
import { startTruth } from './reference-service.js';

// Damages what an interrupted run keeps, and resumes it: the end is right, or the run is refused and
// nothing is sent, or records are unknown. A sample from the seed in the test's name;
// ENGAGECTL_CORRUPTIONS=2000 tries so many.

useMemoryDisk();

const total = Number(process.env['ENGAGECTL_CORRUPTIONS'] ?? 0);
const writes: readonly ScenarioKind[] = ['profiles', 'mixed', 'events', 'subscribe', 'demerge'];
const range = ['--from', '2024-01-01', '--to', '2024-01-03'];
const exports = [
  ['export-events', '--event', 'A', ...range, '-o', 'out.ndjson'],
  ['export-events', '--event', 'A', ...range, '-o', '{day}.csv'],
  ['export-profiles', '--event', 'A', ...range, '-o', 'out.csv'],
  ['export-profiles', '--event', 'A', ...range, '-o', 'out.ndjson.gz'],
];
const casesEach = Math.ceil(total / (writes.length + exports.length)) || 7;
const flags = ['--chunk-size', '5', '--concurrency', '2', '--json'];
const [seed = 0] = seeds(1);

type Ending = 'right' | 'unknown' | 'refused';
const counts: Record<string, Record<string, number>> = {};
afterAll(() => {
  if (total > 0) process.stderr.write(`seed ${seed}: ${JSON.stringify(counts, null, 1)}\n`);
});

/** What lay on the disk when a process was killed. */
interface Moment {
  readonly folder: string;
  readonly executed: number;
}

const rootOf = (world: World): string => path.dirname(world.cwd);

function keep(world: World): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-moment-'));
  cpSync(rootOf(world), folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function restore(world: World, { folder }: Pick<Moment, 'folder'>): void {
  rmSync(rootOf(world), { recursive: true });
  cpSync(folder, rootOf(world), { recursive: true });
}

/** Everything but the inputs, the locks, and what an earlier run left. */
function keptFiles(world: World, inputs: Iterable<string>): [string, ...string[]] {
  const others = new Set([...inputs].flatMap((name) => [name, `${name}.rejects.ndjson.1`]));
  const entries = readdirSync(rootOf(world), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && !others.has(entry.name) && !entry.name.endsWith('.lock'))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file, 'latin1') !== olderRejects);
  return files.toSorted() as [string, ...string[]];
}

/** Tries cases until there are enough; tells of all that ended badly. */
async function sweep(
  name: string,
  random: Random,
  survive: (random: Random) => Promise<{ readonly what: string; readonly ending: Ending }>,
): Promise<void> {
  const failures: string[] = [];
  const ended: Record<Ending, number> = { right: 0, unknown: 0, refused: 0 };
  for (let n = 0; n < casesEach; n += 1) {
    const { what, ending, error } = await survive(random).then(
      (end) => ({ ...end, error: undefined }),
      (error: unknown) => ({ what: `case ${n}`, ending: undefined, error }),
    );
    if (ending) ended[ending] += 1;
    else failures.push(`${what}: ${String(error)}`);
  }
  counts[name] = { ...ended, failed: failures.length };
  expect(failures).toEqual([]);
  if (total === 0) return; // so few cases may all end alike, but not those of all kinds
  expect(ended.right + ended.unknown, 'some damage does no harm').toBeGreaterThan(0);
  expect(ended.refused, 'some is refused').toBeGreaterThan(0);
}

/** An error that is thrown on tells which damage it was. */
async function told<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new Error(`${what}: ${String(cause)}`, { cause });
  }
}

/** Checks that a refusal is about the damage and names a way on. Returns the id of its error. */
function checkRefusal(stderr: string): string {
  const lines = stderr.trim().split('\n');
  const { error } = JSON.parse(lines.at(-1) ?? '') as { error: { id: string; fix: string } };
  expect(error.id).toMatch(
    /^E-(JOURNAL|RUN-VERSION|REJECTS-CHANGED|RUN-CHANGED|LEDGER|ALREADY-SENT)$/,
  );
  expect(error.fix).toMatch(/--fresh|restore|--resume/);
  return error.id;
}

/** Does what a refusal advises, the second time by moving the files away, and returns the flag to type. */
function followAdvice(stderr: string, world: World, isSecond: boolean): '--fresh' | '--resume' {
  const id = checkRefusal(stderr);
  const moved = { 'E-LEDGER': ['events', 'ledger.ndjson'], 'E-RUN-VERSION': ['runs'] }[id] ?? [];
  const mustMove = moved.length > 0 && (id === 'E-LEDGER' || isSecond);
  for (const name of mustMove ? moved : []) {
    rmSync(path.join(world.stateDir, name), { recursive: true, force: true });
  }
  return mustMove || id === 'E-ALREADY-SENT' ? '--resume' : '--fresh';
}

describe.each(writes)('%s', (kind) => {
  it(
    `recovers, refuses or reports unknown outcomes after damage, seed ${seed}`,
    { timeout: 3_600_000 },
    async () => {
      const random = randomOf(seed);
      const scenario = scenarioOf(kind, 60, random);
      await using truth = await startTruth(scenario, random);
      const world = makeWorld({ env: accountAt(truth.server.url, passcode) });
      layOut(world, scenario);
      const executed = truth.executed as string[];
      const moments: Moment[] = [];
      truth.worked = () => moments.push({ folder: keep(world), executed: executed.length });
      const whole = [...scenario.argv, ...flags];
      expect([0, 3]).toContain((await world.run(whole)).code);
      truth.worked = undefined;
      const history = [...executed];

      await sweep(kind, random, async () => {
        const { folder, executed: done } = random.pick(moments.slice(1) as [Moment, ...Moment[]]);
        restore(world, { folder });
        executed.splice(0, Infinity, ...history.slice(0, done));
        const what = damageOne(keptFiles(world, scenario.files.keys()), random);
        return told(what, async () => {
          const before = truth.server.received.length;
          const outcome = await world.run([...whole, '--resume']);
          if (outcome.code === 8) {
            expect(truth.server.received).toHaveLength(before);
            expect((await world.run(['runs', 'list'])).code).toBe(0);
            // A swap damages two files, so a second refusal may follow.
            let last = outcome;
            for (let tries = 0; last.code === 8 && tries < 4; tries += 1) {
              const flag = followAdvice(last.stderr, world, tries > 0);
              last = await world.run([...whole, flag]);
            }
            expect([0, 3, 6], last.stderr).toContain(last.code);
            return { what, ending: 'refused' };
          }
          const summary = checkPart(outcome, scenario, false);
          expect(isDone(summary, scenario), outcome.stderr).toBe(true);
          checkEnd(world, { scenario, truth, summary });
          return { what, ending: summary.unknown > 0 ? 'unknown' : 'right' };
        });
      });
    },
  );
});

const contents = (world: World) =>
  Object.fromEntries(
    readdirSync(world.cwd).map((name) => {
      const bytes = readFileSync(world.path(name));
      return [name, (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()];
    }),
  );

describe.each(exports)('%s %s %s %s %s %s %s %s %s', (...argv) => {
  const name = `${argv[0]} ${argv.at(-1)}`;
  it(`recovers or refuses after damage, seed ${seed}`, { timeout: 3_600_000 }, async () => {
    const random = randomOf(seed);
    const moments: Moment[] = [];
    let world: World | undefined;
    let isFirst = true;
    const snapshot = () => {
      if (isFirst && world) moments.push({ folder: keep(world), executed: 0 });
      return true;
    };
    const watched =
      (page: Page): Page =>
      (next) => ({ body: page(next) as string, until: snapshot });
    const daily = ({ from }: Opening) =>
      [1, 2, 3, 4].map((p) =>
        watched(recordsPage(`{"d":${from},"p":${p}}`, `{"n":{"${from}-${p}":"=1+1, 2"}}`)),
      );
    await using server = await startPageServer(daily);
    world = makeWorld({ env: server.env });
    const whole = [...argv, '--json'];
    expect((await world.run(whole)).code).toBe(0);
    isFirst = false;
    const expected = contents(world);
    const here = world;

    await sweep(name, random, async () => {
      restore(here, random.pick(moments as [Moment, ...Moment[]]));
      const what = damageOne(keptFiles(here, []), random);
      return told(what, async () => {
        const outcome = await here.run([...whole, '--resume']);
        if (outcome.code !== 8) {
          expect([outcome.code, contents(here)], outcome.stderr).toEqual([0, expected]);
          return { what, ending: 'right' };
        }
        checkRefusal(outcome.stderr);
        expect((await here.run(['runs', 'list'])).code).toBe(0);
        // Days that had their final name already.
        const anew = await here.run([...whole, '--fresh', '--overwrite']);
        expect([anew.code, contents(here)], anew.stderr).toEqual([
          0,
          expect.objectContaining(expected),
        ]);
        return { what, ending: 'refused' };
      });
    });
  });
});

it('recovers from some of the damage, and refuses some', () => {
  const ends = Object.values(counts);
  const sumOf = (...names: readonly Ending[]) =>
    ends.flatMap((end) => names.map((name) => end[name] ?? 0)).reduce((sum, one) => sum + one, 0);
  expect(sumOf('right', 'unknown')).toBeGreaterThan(0);
  expect(sumOf('refused')).toBeGreaterThan(0);
});

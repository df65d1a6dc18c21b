import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { EngagectlError } from '../../src/errors.js';
import { makeWorld, type World } from '../support/test-environment.js';
import {
  checkEnd,
  checkMemory,
  checkPart,
  checkRejectsMark,
  checkRunsList,
  isDone,
  layOut,
  passcode,
  runsOf,
  type Summary,
} from './invariants.js';
import { useMemoryDisk } from './memory-disk.js';
import { randomOf, seeds, type Random } from './random.js';
import { scenarioOf, type Scenario } from './random-upload.js';
import { startTruth, type Truth } from './reference-service.js';
import { accountAt } from '../support/account-environment.js';

// Random inputs, faults of the service, crashes and Ctrl-C, each from the seed in the test's name:
// ENGAGECTL_SEED=<seed> starts with it, ENGAGECTL_SCHEDULES=<n> runs so many.

useMemoryDisk();

const schedules = Number(process.env['ENGAGECTL_SCHEDULES'] ?? 5);
/** Parts of a run that meet trouble; those after them meet a service in good health. */
const troubledParts = 3;
const partsMaximum = 7;

type End = 'crash' | 'interrupt' | 'none';
const ends: readonly [End, ...End[]] = ['crash', 'crash', 'interrupt', 'none'];
const kinds = ['profiles', 'mixed', 'mixed', 'events', 'demerge', 'changed'] as const;
const faultRates = [0, 0.1, 0.3, 0.6] as const;

it.each(seeds(schedules))('loses no record under any faults: seed %i', async (seed) => {
  const random = randomOf(seed);
  const kind = random.pick(kinds);
  const scenario = scenarioOf(kind, 4 + random.below(90), random);
  await using truth = await startTruth(scenario, random);
  const world = worldOf(truth);
  layOut(world, scenario);

  const summary = await runToEnd(world, { scenario, truth, random });
  checkEnd(world, { scenario, truth, summary });
  rmSync(path.dirname(world.cwd), { recursive: true });
});

const worldOf = (truth: Truth): World =>
  makeWorld({
    env: {
      ...accountAt(truth.server.url, passcode),
      ENGAGECTL_TIMEOUT: '300ms',
      ENGAGECTL_RETRY_BASE: '1ms',
    },
  });

interface Rig {
  readonly scenario: Scenario;
  readonly truth: Truth;
  readonly random: Random;
}

/** Part after part, until the run is finished. */
async function runToEnd(world: World, { scenario, truth, random }: Rig): Promise<Summary> {
  const argv = [
    ...scenario.argv,
    '--chunk-size',
    String(1 + random.below(12)),
    '--concurrency',
    String(1 + random.below(scenario.argv[0] === 'demerge' ? 3 : 8)),
    '--json',
  ];
  for (let part = 0; part < partsMaximum; part += 1) {
    const troubled = part < troubledParts;
    truth.faultRate = troubled ? random.pick(faultRates) : 0;
    const end = troubled ? random.pick(ends) : 'none';
    const resume = part > 0 || random.chance(0.5) ? ['--resume'] : [];
    const outcome = await runPart(world, [...argv, ...resume], { truth, random, end });
    checkRejectsMark(world);
    if (scenario.argv.includes('--changed')) await checkMemory(world, scenario, truth);
    await checkRunsList(world);
    if (outcome === undefined) continue;
    const interrupted = end === 'interrupt';
    if (interrupted && outcome.code === 130 && outcome.stdout === '') continue; // before its start
    const summary = checkPart(outcome, scenario, interrupted);
    if (isDone(summary, scenario) && !unfinished(world)) return summary;
  }
  return expect.fail(`not finished after ${partsMaximum} parts`);
}

/** Undefined when the process "died". */
async function runPart(
  world: World,
  argv: readonly string[],
  { truth, random, end }: Omit<Rig, 'scenario'> & { end: End },
) {
  const stop = new AbortController();
  const state = { running: true };
  const part = world.run(argv, { signal: stop.signal }).finally(() => (state.running = false));
  const turns = end === 'none' ? Infinity : Math.floor(2 ** (random.next() * 9));
  let begun = false;
  for (let n = 0; n < turns && state.running; n += 1) {
    begun ||= unfinished(world);
    await turn();
  }
  if (!state.running) return part;
  const interrupt = () => stop.abort(new EngagectlError('E-INTERRUPTED', 'stopped by SIGINT'));
  if (end === 'interrupt') {
    interrupt();
    return part;
  }
  // What a process leaves that dies here: the files as they stand, what it sent, and nothing else.
  const disk = snapshot(world);
  // It is done, and has only to say so; another part would begin a new run. Asked after the snapshot:
  // threads go on while files are copied, and may take the run's folder away under it.
  if (begun && !unfinished(world)) {
    disk.forget();
    return part;
  }
  truth.die();
  interrupt();
  await part;
  disk.restore();
  truth.revive();
  return undefined;
}

const unfinished = (world: World): boolean => runsOf(world).some((name) => !name.startsWith('.'));

function snapshot({ cwd, stateDir }: World): { restore(): void; forget(): void } {
  const folders = [cwd, stateDir];
  const copyOf = (folder: string) => `${folder}.copy`;
  const copy = (from: string, to: string) => cpSync(from, to, { recursive: true, force: true });
  cpSync(cwd, copyOf(cwd), { recursive: true });
  copyIfThere(stateDir, copyOf(stateDir));
  const forget = () => {
    for (const folder of folders) rmSync(copyOf(folder), { recursive: true, force: true });
  };
  return {
    restore() {
      for (const folder of folders) {
        rmSync(folder, { recursive: true, force: true });
        copyIfThere(copyOf(folder), folder);
      }
      forget();
    },
    forget,
  };
  function copyIfThere(from: string, to: string): void {
    try {
      copy(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

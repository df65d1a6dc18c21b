import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { FleetRun } from '../../src/fleet/fleet-run.js';
import { FleetKey } from '../../src/fleet/signature.js';
import { accountAt } from '../support/account-environment.js';
import { BinProcess } from '../support/processes/bin-process.js';
import type { TestStore } from '../support/processes/queue-stores.js';
import { makeWorld, type World, type WorldOptions } from '../support/test-environment.js';
import { until } from '../support/until.js';

export const passcode = 'seeded-secret-of-the-fleet';

/** Milliseconds that a run may take, or come to a step. */
const deadline = 120_000 * Number(process.env['ENGAGECTL_FLEET_ROUNDS'] ?? 1);

/** Commands and workers of a fleet, as processes of their own. */
export interface Fleet {
  readonly world: World;
  readonly workDir: string;
  readonly env: Record<string, string>;
  run(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** The id of the run. */
  submit(...argv: string[]): Promise<string>;
  worker(...argv: string[]): BinProcess;
  /** How many shards workers had to give up, since they were too slow to say that they are alive. */
  leasesLost(): number;
  /** Until the run has come so far. */
  until(run: string, done: (status: Status) => boolean): Promise<Status>;
}

export interface Status {
  readonly state: string;
  readonly exitCode: number;
  readonly workers: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly figures: Readonly<Record<string, number>>;
  readonly parts: readonly { shard: number; state: string; worker: string | null; error: string }[];
}

/** Milliseconds after which a worker that is silent has lost its shards. */
const lease = '3s';

export async function makeFleet(
  store: TestStore,
  url: string,
  test?: WorldOptions['test'],
): Promise<Fleet> {
  const env = {
    ...accountAt(url, passcode),
    ENGAGECTL_QUEUE: store.url,
    ENGAGECTL_WORK_DIRS: 'work',
  };
  const world = makeWorld({ env, sleep: 'real', ...(test && { test }) });
  const workDir = world.path('work');
  const workers: BinProcess[] = [];
  const fleet: Fleet = {
    world,
    workDir,
    env,
    run: async (...argv) => world.run(['fleet', ...argv]),
    submit: async (...argv) => {
      const { code, stdout, stderr } = await fleet.run('submit', ...argv, '--work-dir', workDir);
      expect(code, stderr).toBe(0);
      return stdout.trim();
    },
    worker: (...argv) => {
      const worker = new BinProcess(world, ['fleet', 'work', '--lease', lease, ...argv], env);
      workers.push(worker);
      return worker;
    },
    leasesLost: () => workers.flatMap(({ stderr }) => stderr.match(/lease expired/g) ?? []).length,
    until: async (run, done) => {
      let status: Status | undefined;
      let error = '';
      const hasComeSoFar = async () => {
        const dead = workers.find(({ child }) => (child.exitCode ?? 0) > 0);
        if (dead) throw new Error(`a worker ended by itself: ${dead.stderr}`);
        const { stdout, stderr } = await fleet.run('status', run, '--work-dir', workDir, '--json');
        error = stderr;
        status = stdout === '' ? undefined : (JSON.parse(stdout) as Status);
        return status !== undefined && done(status);
      };
      const message = () => `the status of run ${run}, which is ${JSON.stringify(status)} ${error}`;
      await until(hasComeSoFar, { message, deadline });
      return status!;
    },
  };
  const { code, stderr } = await fleet.run('init');
  expect(code, stderr).toBe(0);
  return fleet;
}

/** Changes a run behind the fleet's back, by somebody who has the passcode; `retry` then signs its jobs anew. */
export function changeRun({ workDir }: Fleet, run: string, change: object): void {
  const folder = path.join(workDir, run);
  const { signature: _, ...header } = JSON.parse(
    readFileSync(path.join(folder, 'fleet.json'), 'utf8'),
  ) as FleetRun & { signature: string };
  const changed = { ...header, ...change };
  const signature = new FleetKey({ ...header, passcode }).sign('run', changed);
  writeFileSync(path.join(folder, 'fleet.json'), JSON.stringify({ ...changed, signature }));
}

export const isOver = ({ state }: Status): boolean => state !== 'running';

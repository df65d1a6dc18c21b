import { readdirSync, statSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { WorkFolder, type FleetRun } from './fleet-run.js';
import { FleetLists, laneKindOf, laneName, setBudget } from './lanes.js';
import { answered, type QueueStore } from './queue-store.js';
import type { KnownRun } from './run-status.js';
import { addShards, jobsOf } from './shard-job.js';

/**
 * Makes a run known: first in its work folder, then in the store. What is there already stays as it
 * is, so that submitting the same again puts in what a store lost. `isKnown`: it was in the store before.
 */
export async function submitRun(
  run: FleetRun,
  place: { readonly workDir: string; readonly budget: number | undefined },
  store: QueueStore,
): Promise<{ readonly budget: number; readonly isKnown: boolean }> {
  const folder = new WorkFolder(place.workDir, run.run);
  return answered(store, async () => {
    const isKnown = (await new FleetLists(store).run(run.run)) !== undefined;
    if (!folder.exists) folder.create(run);
    folder.uncancel();
    return { budget: await enqueue(store, run, place), isKnown };
  });
}

/** Takes the shards that wait out of the queue; who works on one gives it up within a moment. */
export async function cancelRun(store: QueueStore, { folder, run, lane }: KnownRun): Promise<void> {
  folder.cancel();
  await answered(store, async () => {
    for (const { job } of await jobsOf(lane, run)) {
      const state = await job?.getState();
      if (state === 'waiting' || state === 'delayed') await job?.remove().catch(() => undefined); // taken meanwhile
    }
  });
}

/** Puts back what failed, was cancelled or was lost; returns how many shards that are. */
export async function retryRun(
  store: QueueStore,
  { folder, run, lane, workDir }: KnownRun,
): Promise<number> {
  folder.uncancel();
  return answered(store, async () => {
    let count = 0;
    for (const { shard, job } of await jobsOf(lane, run)) {
      const state = await job?.getState();
      if (folder.result(shard)) continue;
      const isOver = state === 'failed' || state === 'completed';
      if (isOver) await job?.retry(state);
      if (isOver || !job) count += 1;
    }
    await enqueue(store, run, { workDir });
    return count;
  });
}

/**
 * Puts a run where workers look for it, and those of its shards that are not there. Returns the budget
 * of its account: the usual one, unless there is one or `budget` says another.
 */
async function enqueue(
  store: QueueStore,
  run: FleetRun,
  { workDir, budget }: { readonly workDir: string; readonly budget?: number | undefined },
): Promise<number> {
  const kind = laneKindOf(run.command);
  const lane = laneName({ ...run, kind });
  const queue = store.queue(lane);
  const limit = await setBudget(queue, kind, budget);
  await addShards(queue, run, workDir);
  await new FleetLists(store).addRun({ run: run.run, workDir, lane });
  return limit;
}

/**
 * Refuses what another run in the work folder sends, too: records that do harm when sent twice, cut
 * into other shards or sent with other options. Throws E-ALREADY-SENT.
 */
export function refuseSentBefore(run: FleetRun, workDir: string): void {
  const isFolder = statSync(workDir, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isFolder ? readdirSync(workDir) : [];
  for (const name of names) {
    const folder = new WorkFolder(workDir, name);
    if (name === run.run || !folder.exists || contentOf(folder.read()) !== contentOf(run)) continue;
    throw new EngagectlError('E-ALREADY-SENT', `run ${name} has the same content`, {
      why: `its records do harm when sent twice, and it is in ${workDir}`,
      fix: `engagectl fleet status ${name} tells how far it is; --again sends all of it knowingly`,
      file: folder.path,
    });
  }
}

const contentOf = ({ command, accountId, host, files }: FleetRun): string =>
  JSON.stringify([command, accountId, host, files.map(({ digest }) => digest)]);

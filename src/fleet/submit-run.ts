import path from 'node:path';
import { readdirSync, statSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { refuseTwice } from '../files/path-checks.js';
import { digest } from '../jobs/run/run-folder.js';
import { WorkFolder, type FleetRun } from './fleet-run.js';
import { FleetLists, laneKindOf, laneName, setBudget, addShards, jobsOf } from './account-queue.js';
import { answered, type QueueStore } from './queue-store.js';
import type { KnownRun } from './run-status.js';

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
  await new FleetLists(store).addRun({ run: run.run, workDir, lane, content: contentOf(run) });
  return limit;
}

/**
 * Refuses what names an input twice, and what another run that the store or the work folder knows sends,
 * too: records that do harm when sent twice, cut into other shards or sent with other options. Throws
 * E-USAGE, E-ALREADY-SENT.
 */
export async function refuseTwiceSent(
  run: FleetRun,
  { workDir, doesHarm }: { readonly workDir: string; readonly doesHarm: boolean },
  store: QueueStore,
): Promise<void> {
  refuseTwice(
    run.files.map(({ file }) => file),
    run.cwd,
  );
  if (!doesHarm) return;
  const queued = await answered(store, async () => new FleetLists(store).runs());
  const content = contentOf(run);
  const same = [...queued, ...runsIn(workDir)].find(
    (other) => other.run !== run.run && other.content === content,
  );
  if (!same) return;
  throw new EngagectlError('E-ALREADY-SENT', `run ${same.run} has the same content`, {
    why: `its records do harm when sent twice, and it is in ${same.workDir}`,
    fix: `engagectl fleet status ${same.run} tells how far it is; --again sends all of it knowingly`,
    file: path.join(same.workDir, same.run),
  });
}

/** Those whose folders are there, which the store may have lost. */
function runsIn(workDir: string) {
  const isFolder = statSync(workDir, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isFolder ? readdirSync(workDir) : [];
  return names.flatMap((run) => {
    const folder = new WorkFolder(workDir, run);
    return folder.exists ? { run, workDir, content: contentOf(folder.read()) } : [];
  });
}

const contentOf = ({ command, accountId, host, files }: FleetRun): string =>
  digest([command, accountId, host, files.map((file) => file.digest)]);

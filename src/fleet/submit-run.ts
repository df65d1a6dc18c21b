import path from 'node:path';
import { readdirSync, statSync } from 'node:fs';
import { EngagectlError } from '../errors.js';
import { refuseDuplicatePaths } from '../files/path-checks.js';
import { fingerprint } from '../jobs/run/run-folder.js';
import { isRunId, WorkDirectory, type FleetRun, type SignedRun } from './fleet-run.js';
import {
  addShards,
  RunIndex,
  shardJobs,
  endpointKind,
  queueName,
  setConcurrencyLimit,
  shardJob,
} from './account-queue.js';
import { withinDeadline, type QueueStore } from './queue-store.js';
import { quoteForShell } from '../wording.js';
import type { FoundRun } from './run-status.js';
import type { Job, Queue } from 'bullmq';

/**
 * Makes a run known: first in its work folder, then in the store. What is there already stays as it
 * is, so that submitting the same again puts in what a store lost; but what is not signed, or by an older
 * passcode, is written and signed again. `isKnown`: it was in the store before.
 */
export async function submitRun(
  signed: SignedRun,
  asked: number | undefined,
  store: QueueStore,
): Promise<{ readonly budget: number; readonly isKnown: boolean }> {
  const { run, folder } = signed;
  return withinDeadline(store, async () => {
    const isKnown = (await new RunIndex(store).run(run.run)) !== undefined;
    const wasThere = folder.exists;
    const isInPlace = signed.isInPlace;
    if (!isInPlace) folder.create(run, signed.signature);
    folder.uncancel();
    if (wasThere && !isInPlace) await removeUnfit(store.queue(laneOf(run)), signed);
    return { budget: await enqueue(store, signed, asked), isKnown };
  });
}

/** Takes the shards that wait out of the queue; who works on one gives it up within a moment. */
export async function cancelRun(store: QueueStore, { folder, run, lane }: FoundRun): Promise<void> {
  folder.cancel();
  await withinDeadline(store, async () => {
    for (const { job } of await shardJobs(lane, run)) {
      const state = await job?.getState();
      if (state === 'waiting' || state === 'delayed') await job?.remove().catch(() => undefined); // taken meanwhile
    }
  });
}

/** Puts back what failed, was cancelled or was lost; returns how many shards that are. */
export async function retryRun(
  store: QueueStore,
  { folder, signed, lane }: FoundRun,
): Promise<number> {
  folder.uncancel();
  return withinDeadline(store, async () => {
    const count = await removeUnfit(lane, signed);
    await enqueue(store, signed);
    return count;
  });
}

/**
 * Removes the jobs of shards that have no result and that no worker would take: those that are over, and those
 * that are not signed. Returns how many shards have no job then.
 */
async function removeUnfit(lane: Queue, signed: SignedRun): Promise<number> {
  let count = 0;
  for (const { shard, job } of await shardJobs(lane, signed.run)) {
    const state = await job?.getState();
    if (signed.trustedResult(shard)) continue;
    const isOver = state === 'failed' || state === 'completed';
    const isUnfit = isOver || (state !== 'active' && job !== undefined && !isSigned(job, signed));
    if (isUnfit) await job?.remove();
    if (isUnfit || !job) count += 1;
  }
  return count;
}

function isSigned(job: Job, signed: SignedRun): boolean {
  try {
    return signed.isJob(shardJob(job));
  } catch {
    return false;
  }
}

/**
 * Puts a run where workers look for it, and those of its shards that are not there. Returns the budget
 * of its account: the usual one, unless there is one or `budget` says another.
 */
async function enqueue(store: QueueStore, signed: SignedRun, budget?: number): Promise<number> {
  const { run } = signed;
  const { workDir } = run;
  const lane = laneOf(run);
  const queue = store.queue(lane);
  const limit = await setConcurrencyLimit(queue, endpointKind(run.command), budget);
  await addShards(queue, signed);
  await new RunIndex(store).addRun({ run: run.run, workDir, lane, content: contentOf(run) });
  return limit;
}

const laneOf = (run: FleetRun): string => queueName({ ...run, kind: endpointKind(run.command) });

/**
 * Refuses what names an input twice, and what another run that the store or the work folder knows sends,
 * too: records that do harm when sent twice, cut into other shards or sent with other options. Throws
 * E-USAGE, E-ALREADY-SENT.
 */
export async function refuseDuplicateRun(
  run: FleetRun,
  { doesHarm }: { readonly doesHarm: boolean },
  store: QueueStore,
): Promise<void> {
  refuseDuplicatePaths(
    run.files.map(({ file }) => file),
    run.cwd,
  );
  if (!doesHarm) return;
  const queued = await withinDeadline(store, async () => new RunIndex(store).runs());
  const content = contentOf(run);
  const same = [...queued, ...runsIn(run.workDir)].find(
    (other) => other.run !== run.run && other.content === content,
  );
  if (!same) return;
  throw new EngagectlError('E-ALREADY-SENT', `run ${same.run} has the same content`, {
    why: `its records do harm when sent twice, and it is in ${same.workDir}`,
    fix: `engagectl fleet status ${quoteForShell(same.run)} tells how far it is; --again sends all of it knowingly`,
    file: path.join(same.workDir, same.run),
  });
}

/**
 * Those whose folders are there, which the store may have lost. Their signatures are not asked for: a run of an
 * older passcode counts, and one that somebody planted can only make us refuse.
 */
function runsIn(workDir: string) {
  const isFolder = statSync(workDir, { throwIfNoEntry: false })?.isDirectory() === true;
  const names = isFolder ? readdirSync(workDir) : [];
  return names.filter(isRunId).flatMap((run) => {
    const folder = new WorkDirectory(workDir, run);
    return folder.exists
      ? { run, workDir, content: contentOf(folder.unverified({ older: true })) }
      : [];
  });
}

const contentOf = ({ command, accountId, host, files }: FleetRun): string =>
  fingerprint([command, accountId, host, files.map((file) => file.digest)]);

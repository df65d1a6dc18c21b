import path from 'node:path';
import { rm } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { shardName } from '../jobs/shard.js';
import { listRuns } from '../jobs/run/run-folder.js';
import { repairJournal } from '../jobs/run/repair-run.js';
import { shardsOf } from './fleet-run.js';
import { shardJobs } from './account-queue.js';
import { withinDeadline, type QueueStore } from './queue-store.js';
import type { FoundRun } from './run-status.js';
import type { TrustRuntime } from '../files/ownership.js';

/**
 * Repairs the shards of a run that have no result and that no worker has. A write keeps the outcomes
 * that its journal proves; all other records of the shard will be reported as unknown. A slice of
 * an export starts again. Returns the numbers of the repaired shards. Throws E-RUN-LOCKED, E-JOURNAL if
 * the folder of a shard is gone.
 */
export async function repairRun(
  store: QueueStore,
  { folder, signed, lane, run }: FoundRun,
  runtime: TrustRuntime,
): Promise<number[]> {
  const repaired: number[] = [];
  const jobs = await withinDeadline(store, async () => shardJobs(lane, run));
  for (const shard of shardsOf(run)) {
    const job = jobs[shard.index - 1]?.job;
    const state = await withinDeadline(store, async () => job?.getState());
    if (state !== 'failed' && job) continue;
    if (signed.trustedResult(shard)) continue;
    folder.refuseLinks(shard);
    // The epoch of the repair fences a worker that is still running.
    const epoch = await folder.shard(shard).takeOver({ repair: shardName(shard) });
    const isExport = run.command === 'export-events';
    const runs = path.join(epoch.path, 'state', 'runs');
    const [found] = listRuns(runs, runtime);
    if (isExport) await rm(path.join(epoch.path, 'state'), { recursive: true, force: true });
    const isRepaired = isExport || (found !== undefined && repairJournal(found) !== undefined);
    if (isRepaired) repaired.push(shard.index);
    if (!epoch.isCurrent()) throw workerIsRunning(shardName(shard));
  }
  return repaired;
}

const workerIsRunning = (shard: string): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', `a worker has taken over shard ${shard} during the repair`, {
    why: 'the shard was in the queue',
    fix: 'wait until the worker has finished, then check: engagectl fleet status',
  });

import { enqueue } from './enqueue.js';
import { answered, type QueueStore } from './queue-store.js';
import type { KnownRun } from './run-status.js';
import { jobsOf } from './shard-job.js';

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

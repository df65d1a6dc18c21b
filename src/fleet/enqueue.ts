import type { FleetRun } from './fleet-run.js';
import { FleetLists, laneKindOf, laneName, setBudget } from './lanes.js';
import type { QueueStore } from './queue-store.js';
import { addShards } from './shard-job.js';

/**
 * Puts a run where workers look for it, and those of its shards that are not there. Returns the budget
 * of its account: the usual one, unless there is one or `budget` says another.
 */
export async function enqueue(
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

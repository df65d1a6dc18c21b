import { laneKindOf, laneName, FleetLists, setBudget } from './lanes.js';
import { WorkFolder, type FleetRun } from './fleet-run.js';
import { answered, type QueueStore } from './queue-store.js';
import { addShards } from './shard-job.js';

export interface Submitted {
  readonly budget: number;
  /** It was in the store before. */
  readonly isKnown: boolean;
}

/**
 * Makes a run known: first in its work folder, then in the store. What is there already stays as it
 * is, so that submitting the same again puts in what a store lost.
 */
export async function submitRun(
  run: FleetRun,
  { workDir, budget }: { readonly workDir: string; readonly budget: number | undefined },
  store: QueueStore,
): Promise<Submitted> {
  const folder = new WorkFolder(workDir, run.run);
  const kind = laneKindOf(run.command);
  const lane = laneName({ ...run, kind });
  return answered(store, async () => {
    const lists = new FleetLists(store);
    const isKnown = (await lists.run(run.run)) !== undefined;
    if (!folder.exists) folder.create(run);
    folder.uncancel();
    const queue = store.queue(lane);
    const limit = await setBudget(queue, kind, budget);
    await addShards(queue, run, workDir);
    await lists.addRun({ run: run.run, workDir, lane });
    return { budget: limit, isKnown };
  });
}

import { enqueue } from './enqueue.js';
import { WorkFolder, type FleetRun } from './fleet-run.js';
import { FleetLists } from './lanes.js';
import { answered, type QueueStore } from './queue-store.js';

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
  place: { readonly workDir: string; readonly budget: number | undefined },
  store: QueueStore,
): Promise<Submitted> {
  const folder = new WorkFolder(place.workDir, run.run);
  return answered(store, async () => {
    const isKnown = (await new FleetLists(store).run(run.run)) !== undefined;
    if (!folder.exists) folder.create(run);
    folder.uncancel();
    return { budget: await enqueue(store, run, place), isKnown };
  });
}

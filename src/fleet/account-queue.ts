import { digest } from '../jobs/run/run-folder.js';
import type { Queue } from 'bullmq';
import type { FleetCommand } from './fleet-run.js';
import type { QueueStore } from './queue-store.js';

/** Requests in flight that an account has for each kind of endpoint, where nobody said. */
const usualBudgets = { upload: 15, other: 3 } as const;
export type LaneKind = keyof typeof usualBudgets;
export const laneKinds: readonly LaneKind[] = ['upload', 'other'];

/** Whose requests share a budget. */
export interface Lane {
  readonly accountId: string;
  readonly host: string;
  readonly kind: LaneKind;
}

/** Queues of which no worker takes anything: they list what there is, by the id of a job. */
const lists = { lanes: 'lanes', runs: 'runs' } as const;

export const laneKindOf = (command: FleetCommand): LaneKind =>
  command === 'upload' || command === 'subscribe' ? 'upload' : 'other';

/** The name of its queue; the account stays unnamed. */
export const laneName = ({ accountId, host, kind }: Lane): string =>
  `${digest([accountId, host]).slice(0, 12)}-${kind}`;

/** Where a run is found by its id. */
export interface ListedRun {
  readonly run: string;
  readonly workDir: string;
  readonly lane: string;
  /** Of what it sends, to which account: the same for the same. */
  readonly content?: string;
}

/** BullMQ takes no id that is a number, and that of a run may have digits only. */
const listedId = (run: string): string => `run-${run}`;

/** The lists of lanes and runs in a store. */
export class FleetLists {
  readonly #lanes: Queue;
  readonly #runs: Queue;

  constructor(store: QueueStore) {
    this.#lanes = store.queue(lists.lanes);
    this.#runs = store.queue(lists.runs);
  }

  async lanes(): Promise<string[]> {
    const jobs = await this.#lanes.getJobs(['waiting']);
    return jobs.flatMap((job) => job?.id ?? []);
  }

  async addRun(listed: ListedRun): Promise<void> {
    await this.#runs.add('run', listed, { jobId: listedId(listed.run) });
    await this.#lanes.add('lane', {}, { jobId: listed.lane });
  }

  async run(run: string): Promise<ListedRun | undefined> {
    return (await this.#runs.getJob(listedId(run)))?.data as ListedRun | undefined;
  }

  async runs(): Promise<ListedRun[]> {
    const jobs = await this.#runs.getJobs(['waiting']);
    return jobs.map((job) => job.data as ListedRun);
  }
}

/** Gives a lane a budget; without one it gets the usual, unless it has one. */
export async function setBudget(
  lane: Queue,
  kind: LaneKind,
  budget: number | undefined,
): Promise<number> {
  const known = await lane.getGlobalConcurrency();
  const wanted = budget ?? known ?? usualBudgets[kind];
  if (wanted !== known) await lane.setGlobalConcurrency(wanted);
  return wanted;
}

import { EngagectlError } from '../errors.js';
import { aborted } from '../jobs/job-context.js';
import { FleetLists } from './account-queue.js';
import { answered, type Outage, type QueueStore } from './queue-store.js';
import { RunningShard, type ShardWorld } from './worker.js';
import type { Job, Queue, Worker } from 'bullmq';

/** Milliseconds between two looks at what else there is to know. */
const lookEvery = 1000;

interface WorkOptions extends ShardWorld {
  /** Shards at once, of each account. */
  readonly slots: number;
  /** Ends when there is nothing left to do. */
  readonly drain: boolean;
  readonly said: { note(text: string): void; warn(text: string): void };
  readonly outage: Outage;
}

/** A worker, until its signal is aborted: then its shards are given back. */
export async function work(store: QueueStore, options: WorkOptions): Promise<void> {
  const lists = new FleetLists(store);
  const lanes = new Map<string, LaneWorker>();
  const { runtime, drain, outage } = options;
  const { signal } = runtime;
  const stopped = aborted(signal);
  const look = async (): Promise<void> => {
    const names = await answered(store, async () => lists.lanes());
    if (signal.aborted) return;
    for (const name of names) {
      if (!lanes.has(name)) lanes.set(name, new LaneWorker(name, store, options));
    }
    for (const lane of lanes.values()) await lane.look();
  };
  try {
    while (!signal.aborted) {
      await Promise.race([quietly(outage, look), stopped]); // a store that is away may not answer for long
      const isOver = drain && (await isDrained([...lanes.values()], outage));
      if (isOver) return;
      await runtime.sleep(lookEvery, signal).catch(() => undefined);
    }
  } finally {
    await Promise.all([...lanes.values()].map(async (lane) => lane.close()));
  }
}

/** Takes the shards of one account and kind of endpoint. */
class LaneWorker {
  readonly #queue: Queue;
  readonly #options: WorkOptions;
  readonly #running = new Map<string, RunningShard>();
  readonly #store: QueueStore;
  readonly #worker: Worker;

  constructor(name: string, store: QueueStore, options: WorkOptions) {
    const { worker, slots, lease } = options;
    this.#options = options;
    this.#store = store;
    this.#queue = store.queue(name);
    const of = (jobs: readonly string[]) => jobs.flatMap((id) => this.#running.get(id) ?? []);
    this.#worker = store.worker(name, async (job, token) => this.#process(job, token), {
      name: worker,
      slots,
      lease,
      renewed: (jobs) => of(jobs).forEach((shard) => shard.lease.renew()),
      refused: (jobs) => of(jobs).forEach((shard) => shard.lease.lose()),
    });
  }

  /** Tells how far the shards are, and gives back those that are too many or not wanted any more. */
  async look(): Promise<void> {
    if (this.#running.size === 0) return;
    const [budget, active] = await Promise.all([
      this.#queue.getGlobalConcurrency(),
      this.#queue.getActive(),
    ]);
    const ids = active.map(({ id = '' }) => id).toSorted();
    const tooMany = new Set(ids.slice(budget ?? ids.length));
    for (const [id, shard] of this.#running) {
      const { progress } = shard;
      if (shard.isCancelled || tooMany.has(id)) shard.giveBack();
      if (progress && shard.lease.isHeld()) await shard.job.updateProgress(progress);
    }
  }

  /** Nothing waits, runs or is to be tried again. */
  async isDrained(): Promise<boolean> {
    const counts = await this.#queue.getJobCounts('waiting', 'active', 'delayed');
    return Object.values(counts).every((count) => count === 0);
  }

  async close(): Promise<void> {
    await this.#worker.close();
  }

  async #process(job: Job, token: string): Promise<unknown> {
    const shard = new RunningShard(job, this.#options);
    const id = job.id ?? '';
    if (shard.isCancelled) throw this.#store.failure('cancelled');
    this.#running.set(id, shard);
    try {
      return await shard.perform();
    } catch (error) {
      return await this.#ended(shard, error, token);
    } finally {
      this.#running.delete(id);
    }
  }

  /** Throws what tells the queue what becomes of a shard that is not done. */
  async #ended(shard: RunningShard, error: unknown, token: string): Promise<never> {
    if (shard.isCancelled) throw this.#store.failure('cancelled');
    if (!shard.lease.isHeld()) {
      this.#options.said.warn(
        `shard ${shard.job.id}: its lease has run out, another worker goes on`,
      );
      throw error;
    }
    if (shard.isGivenBack) {
      await shard.job.moveToWait(token);
      throw this.#store.movedBack();
    }
    const isForeseen = error instanceof EngagectlError;
    if (isForeseen && error.id === 'E-RUN-LOCKED') throw error; // the other one has it
    const { message, details } = isForeseen ? error : { message: String(error), details: {} };
    const id = isForeseen ? error.id : 'E-DEFECT';
    throw this.#store.failure(`${id}: ${message}${details.why ? `: ${details.why}` : ''}`);
  }
}

async function isDrained(lanes: readonly LaneWorker[], outage: Outage): Promise<boolean> {
  let isOver = false;
  await quietly(outage, async () => {
    const drained = await Promise.all(lanes.map(async (lane) => lane.isDrained()));
    isOver = drained.every(Boolean);
  });
  return isOver;
}

/** A store that is away is waited for. */
async function quietly(outage: Outage, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
    outage.over();
  } catch (error) {
    outage.tell(error as Error);
  }
}

import path from 'node:path';
import { EngagectlError, interruption } from '../errors.js';
import { aborted, type Ports } from '../jobs/job-context.js';
import { FleetLists, type ShardJob, type ShardProgress } from './account-queue.js';
import { answered, type Outage, type QueueStore } from './queue-store.js';
import { constants, copyFileSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { shardName } from '../jobs/shard.js';
import { WorkFolder, type FleetRun, type ShardResult } from './fleet-run.js';
import { Lease, leasedOutcomes, LeasedSlot } from './lease.js';
import type { Job, Queue, Worker } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';
import type { Runtime } from '../runtime.js';

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

/** A shard as whoever knows the commands performs it. */
export interface ShardPart {
  readonly run: FleetRun;
  readonly shard: Shard;
  /** All that it keeps and writes goes there. */
  readonly folder: string;
  readonly ports: Ports;
  /** Aborted when it is to stop; its reason is an EngagectlError. */
  readonly signal: AbortSignal;
  /** Is told once what says how far it is. */
  readonly begun: (progress: () => Omit<ShardProgress, 'worker'>) => void;
  /** Is told what came of it while its run is still open; what it throws is thrown. */
  readonly ended: (outcome: ShardOutcome) => void;
}

/** What came of it. */
export interface ShardOutcome extends Omit<ShardResult, 'shard' | 'worker' | 'ended'> {
  /** All of it was worked through. */
  readonly done: boolean;
  readonly error: EngagectlError | undefined;
}

type PerformShard = (part: ShardPart) => Promise<ShardOutcome>;

/** What a worker is, for each of its shards. */
interface ShardWorld {
  readonly worker: string;
  readonly runtime: Runtime;
  /** Milliseconds. */
  readonly lease: number;
  readonly perform: PerformShard;
}

/** A shard that this worker has a lease on, from its journal to its result. */
class RunningShard {
  readonly lease: Lease;
  readonly job: Job;
  readonly #world: ShardWorld;
  readonly #asked = new AbortController();
  readonly #data: ShardJob;
  readonly #folder: WorkFolder;
  #progress: (() => Omit<ShardProgress, 'worker'>) | undefined;

  constructor(job: Job, world: ShardWorld) {
    this.job = job;
    this.lease = new Lease(world.lease, world.runtime.monotonic);
    this.#world = world;
    this.#data = job.data as ShardJob;
    this.#folder = new WorkFolder(this.#data.workDir, this.#data.run);
  }

  /** It is to be given back to the queue. */
  get isGivenBack(): boolean {
    return this.#world.runtime.signal.aborted || this.#asked.signal.aborted;
  }

  get isCancelled(): boolean {
    return this.#folder.isCancelled;
  }

  get progress(): ShardProgress | undefined {
    return this.#progress && { worker: this.#world.worker, ...this.#progress() };
  }

  /** Requests in flight may finish; then it is given back. */
  giveBack(): void {
    this.#asked.abort(interruption(new Error('the shard is given back to the queue')));
  }

  /** Its result, at once where it was worked through before. Throws what stopped it. */
  async perform(): Promise<ShardResult> {
    const { shard } = this.#data;
    const known = this.#folder.result(shard);
    if (known) return known;
    const run = this.#folder.read();
    const folder = this.#folder.shard(shard);
    if (!existsSync(folder)) throw folderGone(folder, this.#data);
    ownFiles(folder);
    this.lease.assertHeld();
    const { done, error } = await this.#world.perform({
      run,
      shard,
      folder,
      ports: this.#ports(),
      signal: AbortSignal.any([this.#world.runtime.signal, this.#asked.signal, this.lease.lost]),
      begun: (progress) => {
        this.#progress = progress;
      },
      ended: (outcome) => this.#note(outcome),
    });
    const result = done ? this.#folder.result(shard) : undefined;
    if (result) return result;
    throw (
      error ?? new EngagectlError('E-DEFECT', `shard ${shardName(shard)} ended without a result`)
    );
  }

  #ports(): Ports {
    const slot = new LeasedSlot(this.lease);
    return {
      budget: () => slot,
      outcomes: (journal) => leasedOutcomes(journal, this.lease),
      fence: this.lease.assertHeld,
      leasedRun: `shard-${shardName(this.#data.shard)}`,
    };
  }

  /** Before the run is closed: what comes after a crash here is a run whose every record is settled. */
  #note({ done, error: _, ...outcome }: ShardOutcome): void {
    this.lease.assertHeld();
    const { shard } = this.#data;
    const { worker, runtime } = this.#world;
    const ended = runtime.now();
    if (done) this.#folder.setResult(shard, { shard: shard.index, worker, ended, ...outcome });
  }
}

/**
 * Puts copies in the place of the files that an earlier worker may have open. Should that one wake up
 * and write on, it writes into files that have no name any more. The journal does so by itself.
 */
function ownFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('out') && !name.startsWith('rejects')) continue;
    const file = path.join(folder, name);
    copyFileSync(file, `${file}.own`, constants.COPYFILE_FICLONE);
    if (existsSync(file)) renameSync(`${file}.own`, file);
  }
}

/** It was there when the run was submitted. What it held may have been sent. */
const folderGone = (file: string, { shard }: ShardJob): EngagectlError =>
  new EngagectlError('E-JOURNAL', `the folder of shard ${shardName(shard)} is gone`, {
    why: 'what was sent was noted there, so nobody can tell what is left to do',
    fix: 'put it back; or submit to another --work-dir, by --again if need be, which sends all of it',
    file,
  });

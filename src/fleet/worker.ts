import path from 'node:path';
import { constants, copyFileSync, existsSync, readdirSync, renameSync } from 'node:fs';
import { EngagectlError, interruption } from '../errors.js';
import { shardName } from '../jobs/shard.js';
import { WorkFolder, type FleetRun, type ShardResult } from './fleet-run.js';
import { Lease, leasedOutcomes, LeasedSlot } from './lease.js';
import type { Job } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';
import type { Ports } from '../jobs/job-context.js';
import type { Runtime } from '../runtime.js';
import type { ShardJob, ShardProgress } from './shard-job.js';

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

export type PerformShard = (part: ShardPart) => Promise<ShardOutcome>;

/** What a worker is, for each of its shards. */
export interface ShardWorld {
  readonly worker: string;
  readonly runtime: Runtime;
  /** Milliseconds. */
  readonly lease: number;
  readonly perform: PerformShard;
}

/** A shard that this worker has a lease on, from its journal to its result. */
export class RunningShard {
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

import type { Job, JobsOptions, Queue } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';
import type { FleetRun } from './fleet-run.js';

/** What a job of the queue says: whose shard of which run, and where that is. Nothing else. */
export interface ShardJob {
  readonly run: string;
  readonly workDir: string;
  readonly shard: Shard;
}

/** How far a worker has come with one. */
export interface ShardProgress {
  readonly worker: string;
  /** Records settled, or exported. */
  readonly records: number;
  readonly rejected: number;
  /** 0 to 1, where it is known. */
  readonly share?: number | undefined;
}

/** A shard whose lease was lost is tried again; what nothing would change fails at once. */
const options: JobsOptions = { attempts: 1000, backoff: { type: 'fixed', delay: 500 } };

export const shardJobId = (run: string, index: number): string => `${run}-${index}`;

/** Puts those shards into the queue that are not there. */
export async function addShards(
  lane: Queue,
  { run, shards }: Pick<FleetRun, 'run' | 'shards'>,
  workDir: string,
): Promise<void> {
  const jobs = Array.from({ length: shards }, (_, at) => {
    const shard = { index: at + 1, count: shards };
    const opts = { ...options, jobId: shardJobId(run, shard.index) };
    return { name: 'shard', data: { run, workDir, shard } satisfies ShardJob, opts };
  });
  await lane.addBulk(jobs);
}

/** The jobs of a run that the store knows, in the order of their shards. */
export async function jobsOf(
  lane: Queue,
  { run, shards }: Pick<FleetRun, 'run' | 'shards'>,
): Promise<(Job | undefined)[]> {
  const indexes = Array.from({ length: shards }, (_, at) => at + 1);
  return Promise.all(indexes.map(async (index) => lane.getJob(shardJobId(run, index))));
}

import type { Job, JobsOptions, Queue } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';
import { shardsIn, type FleetRun } from './fleet-run.js';

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

export const shardJobId = ({ run }: Pick<FleetRun, 'run'>, { index }: Shard): string =>
  `${run}-${index}`;

/** Puts those shards into the queue that are not there. */
export async function addShards(
  lane: Queue,
  run: Pick<FleetRun, 'run' | 'shards'>,
  workDir: string,
): Promise<void> {
  const jobs = shardsIn(run).map((shard) => {
    const opts = { ...options, jobId: shardJobId(run, shard) };
    const data = { run: run.run, workDir, shard } satisfies ShardJob;
    return { name: 'shard', data, opts };
  });
  await lane.addBulk(jobs);
}

/** The shards of a run in order, each with its job where the store knows it. */
export async function jobsOf(
  lane: Queue,
  run: Pick<FleetRun, 'run' | 'shards'>,
): Promise<{ readonly shard: Shard; readonly job: Job | undefined }[]> {
  return Promise.all(
    shardsIn(run).map(async (shard) => ({ shard, job: await lane.getJob(shardJobId(run, shard)) })),
  );
}

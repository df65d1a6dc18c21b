import { fingerprint } from '../jobs/run/run-folder.js';
import {
  isRunId,
  isShard,
  isWorkDir,
  shardsOf,
  untrusted,
  type FleetCommand,
  type FleetRun,
  type InputText,
  type ShardJob,
} from './fleet-run.js';
import type { SignedRun } from './signature.js';
import { EngagectlError } from '../errors.js';
import {
  withinDeadline,
  loadOptionalPackage,
  evictionWarning,
  verifiedUrl,
  type QueueStore,
} from './queue-store.js';
import type { Queue, Job, JobsOptions } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';

/** Default concurrency limit of an account for each kind of endpoint. */
const usualBudgets = { upload: 15, other: 3 } as const;
type LaneKind = keyof typeof usualBudgets;

/** Account and kind of endpoint whose requests share a concurrency limit. */
interface AccountQueue {
  readonly accountId: string;
  readonly host: string;
  readonly kind: LaneKind;
}

/** Queues without workers; their jobs are the entries of a list. */
const lists = { lanes: 'lanes', runs: 'runs' } as const;

export const endpointKind = (command: FleetCommand): LaneKind =>
  command === 'upload' || command === 'subscribe' ? 'upload' : 'other';

/** Name of the queue, a hash that does not reveal the account. */
export const queueName = ({ accountId, host, kind }: AccountQueue): string =>
  `${fingerprint([accountId, host]).slice(0, 12)}-${kind}`;

/** Name of the queue that all shards of a run are in. */
export const laneOf = (run: FleetRun): string =>
  queueName({ ...run, kind: endpointKind(run.command) });

/** Whether a name is that of a queue of shards. Anyone who can write to the store can list others. */
const isLane = (name: string): boolean => /^[0-9a-f]{12}-(?:upload|other)$/.test(name);

/** Location of a run, by its id. */
export interface RunEntry {
  readonly run: string;
  readonly workDir: string;
  readonly lane: string;
  /** Fingerprint of the content and the account. */
  readonly content?: string;
  /** Texts of inputs whose records are not idempotent. */
  readonly texts?: readonly InputText[];
}

/** A run whose content no other run may have. */
interface ContentClaim {
  readonly run: string;
  /** Undefined in claims of older versions. */
  readonly workDir: string | undefined;
}

/** BullMQ rejects numeric ids, and a run id may consist of digits only. */
const listedId = (run: string): string => `run-${run}`;

/** The list of the queues of shards. */
export const laneList = (store: QueueStore): Queue => store.queue(lists.lanes);

export async function lanesIn(list: Queue): Promise<string[]> {
  const jobs = await list.getJobs(['waiting']);
  return jobs.flatMap((job) => job?.id ?? []).filter(isLane);
}

/** The lists of queues and runs in a store. */
export class RunIndex {
  readonly #lanes: Queue;
  readonly #runs: Queue;

  constructor(store: QueueStore) {
    this.#lanes = laneList(store);
    this.#runs = store.queue(lists.runs);
  }

  async addRun(listed: RunEntry): Promise<void> {
    await this.#runs.add('run', listed, { jobId: listedId(listed.run) });
    await this.#lanes.add('lane', {}, { jobId: listed.lane });
  }

  /** Claims a content for a run; returns the run that claimed it first. */
  async claim(content: string, { run, workDir }: ContentClaim): Promise<ContentClaim> {
    const jobId = `content-${content}`;
    await this.#runs.add('content', { run, workDir }, { jobId }); // does nothing if there is such a job
    const first: unknown = (await this.#runs.getJob(jobId))?.data;
    const { run: id, workDir: place } = Object(first) as Record<string, unknown>;
    if (!isRunId(id)) return { run, workDir };
    return { run: id, workDir: isWorkDir(place) ? place : undefined };
  }

  async giveUp(content: string): Promise<void> {
    await this.#runs.remove(`content-${content}`);
  }

  async run(run: string): Promise<RunEntry | undefined> {
    const data: unknown = (await this.#runs.getJob(listedId(run)))?.data;
    return isListedRun(data) && data.run === run ? data : undefined;
  }

  async runs(): Promise<RunEntry[]> {
    const jobs = await this.#runs.getJobs(['waiting']);
    return jobs.map((job): unknown => job?.data).filter(isListedRun);
  }
}

function isListedRun(data: unknown): data is RunEntry {
  const { run, workDir, lane, texts = [] } = Object(data) as Record<string, unknown>;
  return isRunId(run) && isWorkDir(workDir) && typeof lane === 'string' && Array.isArray(texts);
}

/** Undefined if the store has no limit, or not a number. */
export async function budgetOf(lane: Queue): Promise<number | undefined> {
  const budget: unknown = await lane.getGlobalConcurrency();
  return Number.isSafeInteger(budget) && (budget as number) > 0 ? (budget as number) : undefined;
}

/** Sets the concurrency limit of a queue; without `limit`, the default, unless it already has one. */
export async function setConcurrencyLimit(
  lane: Queue,
  kind: LaneKind,
  budget: number | undefined,
): Promise<number> {
  const known = await budgetOf(lane);
  const limit = budget ?? known ?? usualBudgets[kind];
  if (limit !== known) await lane.setGlobalConcurrency(limit);
  return limit;
}

/**
 * Reads a job before its signature is verified. The job id is bound to the shard, so that a copy under
 * another id is not a second job for the shard. Throws E-UNTRUSTED.
 */
export function shardJob({ id, data }: Pick<Job, 'id' | 'data'>): ShardJob {
  const { run, workDir, shard, signature } = Object(data) as Partial<ShardJob>;
  if (isRunId(run) && isWorkDir(workDir) && isShard(shard) && id === shardJobId({ run }, shard)) {
    return { run, workDir, shard, signature: typeof signature === 'string' ? signature : '' };
  }
  throw untrusted('the job is not one of a fleet', {
    why: 'its run id, shard number, work directory or job id is malformed',
    fix: 'find out who can write to the queue',
  });
}

/** Progress of a worker on a shard. */
export interface ShardProgress {
  readonly worker: string;
  /** Records committed, or exported. */
  readonly records: number;
  readonly rejected: number;
  /** Share of the input, 0 to 1, if known. */
  readonly share?: number | undefined;
}

/** A shard whose lease was lost is retried; a permanent error fails immediately. */
const options: JobsOptions = { attempts: 1000, backoff: { type: 'fixed', delay: 500 } };

export const shardJobId = ({ run }: Pick<FleetRun, 'run'>, { index }: Shard): string =>
  `${run}-${index}`;

/** Adds the missing shards of a run to the queue. */
export async function addShards(lane: Queue, signed: SignedRun): Promise<void> {
  const { run } = signed;
  const jobs = shardsOf(run).map((shard) => {
    const opts = { ...options, jobId: shardJobId(run, shard) };
    return { name: 'shard', data: signed.job(shard), opts };
  });
  await lane.addBulk(jobs);
}

/** Returns the shards of a run in order, with their jobs if the store has them. */
export async function shardJobs(
  lane: Queue,
  run: Pick<FleetRun, 'run' | 'shards'>,
): Promise<{ readonly shard: Shard; readonly job: Job | undefined }[]> {
  return Promise.all(
    shardsOf(run).map(async (shard) => ({ shard, job: await lane.getJob(shardJobId(run, shard)) })),
  );
}

/** Result of a store check. */
interface StoreCheck {
  readonly store: string;
  readonly version: string;
  readonly lanes: number;
}

/**
 * Checks that a store is suitable for a fleet: it answers, has the tables, and evicts nothing. Throws
 * E-UNAVAILABLE, E-CONFIG.
 */
export async function checkStore(store: QueueStore, url: string): Promise<StoreCheck> {
  const lanes = await withinDeadline(store, async () => lanesIn(laneList(store)));
  const version = await withinDeadline(store, async () =>
    store.kind === 'Redis' ? ofRedis(url) : ofPostgres(url),
  );
  return { store: `${store.kind} at ${store.displayUrl}`, version, lanes: lanes.length };
}

async function ofRedis(url: string): Promise<string> {
  const { Redis } = await loadOptionalPackage('ioredis', async () => import('ioredis'));
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => undefined); // the command that fails reports it
  try {
    const info = await client.info();
    const messages = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
    const policy = messages('maxmemory_policy');
    if (policy !== 'noeviction' && policy !== '') {
      throw new EngagectlError('E-CONFIG', evictionWarning(policy), {
        why: 'evicted jobs are lost silently',
        fix: 'set maxmemory-policy noeviction, by redis-cli config set or in its configuration',
      });
    }
    return messages('redis_version');
  } finally {
    client.disconnect();
  }
}

async function ofPostgres(url: string): Promise<string> {
  const { default: pg } = await loadOptionalPackage('pg', async () => import('pg'));
  const client = new pg.Client({ connectionString: verifiedUrl(url) });
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
    return rows[0]?.server_version ?? '';
  } finally {
    await client.end();
  }
}

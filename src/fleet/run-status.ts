import {
  EngagectlError,
  errorIds,
  exitCodes,
  mostSerious,
  type ErrorId,
  type ExitCode,
} from '../errors.js';
import { shardsIn, WorkFolder, type FleetRun } from './fleet-run.js';
import {
  FleetLists,
  laneKindOf,
  laneName,
  shardJobId,
  type ShardProgress,
} from './account-queue.js';
import { answered, type QueueStore } from './queue-store.js';
import type { Queue } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';

/** Of a shard. `missing`: the store has lost it, or the work folder its result. */
type ShardState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'missing';

interface ShardStatus {
  readonly shard: number;
  readonly state: ShardState;
  readonly worker: string | null;
  readonly records: number;
  readonly rejected: number;
  /** 0 to 1; null where it is not known. */
  readonly share: number | null;
  readonly seconds: number | null;
  readonly exitCode: ExitCode | null;
  /** Why it failed. */
  readonly error: string | null;
}

export interface RunStatus {
  readonly run: string;
  readonly command: string;
  readonly state: 'running' | 'done' | 'failed' | 'cancelled';
  readonly shards: number;
  readonly counts: Readonly<Record<ShardState, number>>;
  readonly workers: number;
  readonly budget: number | null;
  /** Sums of the figures of shards that are done. */
  readonly figures: Readonly<Record<string, number>>;
  readonly exitCode: ExitCode;
  /** Of that exit code; null for 0. */
  readonly errorId: ErrorId | null;
  readonly parts: readonly ShardStatus[];
}

/** A run that somebody submitted: its folder, what is to be done, and its queue. */
export interface KnownRun {
  readonly folder: WorkFolder;
  readonly workDir: string;
  readonly run: FleetRun;
  readonly lane: Queue;
}

/**
 * Finds a run by its id. `workDir` tells where to look when the store knows nothing of it. Throws
 * E-USAGE, E-UNAVAILABLE, E-FILE-READ.
 */
export async function findRun(
  store: QueueStore,
  id: string,
  workDir: string | undefined,
): Promise<KnownRun> {
  const listed = await answered(store, async () => new FleetLists(store).run(id));
  const place = workDir ?? listed?.workDir;
  if (place === undefined) {
    throw new EngagectlError('E-USAGE', `the queue at ${store.shown} knows no run ${id}`, {
      why: 'it was submitted to another one, or the store was emptied',
      fix: 'name the --work-dir it was submitted with, or submit it again',
    });
  }
  const folder = new WorkFolder(place, id);
  const run = folder.read();
  const lane = store.queue(laneName({ ...run, kind: laneKindOf(run.command) }));
  return { folder, workDir: place, run, lane };
}

export async function statusOf(store: QueueStore, known: KnownRun): Promise<RunStatus> {
  const { run, folder, lane } = known;
  const [parts, workers, budget] = await answered(store, async () =>
    Promise.all([
      Promise.all(shardsIn(run).map(async (shard) => shardStatus(known, shard))),
      lane.getWorkers(),
      lane.getGlobalConcurrency(),
    ]),
  );
  const counts = { waiting: 0, running: 0, done: 0, failed: 0, cancelled: 0, missing: 0 };
  for (const { state } of parts) counts[state] += 1;
  const state = stateOf(counts, folder.isCancelled);
  const isDead = state === 'running' && workers.length === 0;
  const errorId = isDead ? 'E-UNAVAILABLE' : state === 'running' ? null : errorIn(parts);
  return {
    run: run.run,
    command: run.command,
    state,
    shards: run.shards,
    counts,
    workers: workers.length,
    budget,
    figures: figuresOf(known),
    exitCode: errorId ? errorIds[errorId] : exitCodes.ok,
    errorId,
    parts,
  };
}

/** The most serious of what shards ended with. */
function errorIn(parts: readonly ShardStatus[]): ErrorId | null {
  const worst = mostSerious(parts.flatMap(({ exitCode }) => exitCode ?? []));
  const failed = parts.find(({ error, exitCode }) => error !== null && exitCode === worst);
  if (failed) return errorIdIn(failed.error!);
  if (worst === exitCodes.ok) return null;
  if (worst === exitCodes.unknown) return 'E-UNKNOWN';
  return worst === exitCodes.interrupted ? 'E-INTERRUPTED' : 'E-REJECTED';
}

function stateOf(counts: RunStatus['counts'], isCancelled: boolean): RunStatus['state'] {
  if (counts.waiting + counts.running > 0) return 'running';
  if (counts.missing > 0) return isCancelled ? 'cancelled' : 'running';
  if (counts.failed > 0) return 'failed';
  return counts.cancelled > 0 ? 'cancelled' : 'done';
}

/**
 * Shards end while they are looked at. The state is asked for first, since what explains it (the
 * result of a shard that is done, the reason of one that failed) is there before the state tells it.
 */
async function shardStatus({ run, folder, lane }: KnownRun, shard: Shard): Promise<ShardStatus> {
  const id = shardJobId(run, shard);
  const state = await lane.getJobState(id);
  const job = await lane.getJob(id);
  const result = folder.result(shard);
  const shared = {
    shard: shard.index,
    worker: null,
    share: null,
    seconds: null,
    exitCode: null,
    error: null,
  };
  if (result) {
    const { worker, seconds, exitCode, figures } = result;
    const records = figures['records'] ?? figures['read'] ?? 0;
    const rejected = figures['rejected'] ?? 0;
    return { ...shared, state: 'done', worker, records, rejected, share: 1, seconds, exitCode };
  }
  const progress = (job?.progress ?? {}) as Partial<ShardProgress>;
  const { worker = null, records = 0, rejected = 0, share = null } = progress;
  const begun = { ...shared, worker, records, rejected, share };
  const error = state === 'failed' ? job?.failedReason : undefined; // none: it is tried again
  if (error === 'cancelled' || (!job && folder.isCancelled)) {
    return { ...begun, state: 'cancelled', exitCode: exitCodes.interrupted };
  }
  if (!job || state === 'completed') return { ...begun, state: 'missing' };
  if (state === 'active') return { ...begun, state: 'running' };
  if (error) return { ...begun, state: 'failed', error, exitCode: errorIds[errorIdIn(error)] };
  return { ...begun, state: 'waiting', worker: null };
}

/** The reason of a shard that failed begins with the id of its error. */
function errorIdIn(reason: string): ErrorId {
  const id = /^(E-[A-Z-]+):/.exec(reason)?.[1] ?? '';
  return Object.hasOwn(errorIds, id) ? (id as ErrorId) : 'E-DEFECT';
}

/** Sums over the shards that are done. */
export function figuresOf({
  run,
  folder,
}: Pick<KnownRun, 'run' | 'folder'>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { figures } of folder.results(run)) {
    for (const [name, figure] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + figure;
  }
  return sums;
}

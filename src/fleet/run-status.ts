import {
  EngagectlError,
  errorIds,
  exitCodes,
  mostSerious,
  withWhy,
  type ErrorId,
  type ExitCode,
} from '../errors.js';
import {
  assertRunId,
  shardsOf,
  WorkDirectory,
  type FleetRun,
  type RunAccount,
  type ShardResult,
} from './fleet-run.js';
import { budgetOf, laneOf, RunIndex, shardJobId } from './account-queue.js';
import { withinDeadline, type QueueStore } from './queue-store.js';
import { SignedRun, type FleetKey } from './signature.js';
import type { TrustRuntime } from '../files/ownership.js';
import type { Queue } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';

/** `missing`: the store lost the shard, or the work directory its result. */
type ShardState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'missing';

interface ShardStatus {
  readonly shard: number;
  readonly state: ShardState;
  readonly worker: string | null;
  readonly records: number;
  readonly rejected: number;
  /** Progress, 0 to 1; null if unknown. */
  readonly share: number | null;
  readonly seconds: number | null;
  readonly exitCode: ExitCode | null;
  /** Reason of a failure, or why a worker left the waiting shard to others. */
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
  /** Sums over finished shards; requests and bytes are those of all owners of a shard. */
  readonly figures: Readonly<Record<string, number>>;
  readonly exitCode: ExitCode;
  /** Id of the most serious error; null if there is none. */
  readonly errorId: ErrorId | null;
  readonly parts: readonly ShardStatus[];
}

/** A verified run with its directory and its queue. */
export interface FoundRun {
  readonly folder: WorkDirectory;
  readonly signed: SignedRun;
  readonly run: FleetRun;
  readonly lane: Queue;
}

/** Location of a run that the store does not know, and how to derive its account's key. */
interface RunPlace {
  readonly workDir: string | undefined;
  readonly runtime: TrustRuntime;
  readonly keyOf: (account: RunAccount) => Promise<FleetKey>;
}

/**
 * Finds a run by its id and verifies it. Throws E-USAGE, E-UNAVAILABLE, E-CONFIG-FILE, E-FILE-READ,
 * E-UNTRUSTED.
 */
export async function findRun(
  store: QueueStore,
  id: string,
  { workDir, keyOf, runtime }: RunPlace,
): Promise<FoundRun> {
  assertRunId(id);
  const listed = await withinDeadline(store, async () => new RunIndex(store).run(id));
  const place = workDir ?? listed?.workDir;
  if (place === undefined) {
    throw new EngagectlError('E-USAGE', `the queue at ${store.displayUrl} knows no run ${id}`, {
      why: 'it was submitted to another one, or the store was emptied',
      fix: 'name the --work-dir it was submitted with, or submit it again',
    });
  }
  const folder = new WorkDirectory(place, id);
  folder.refuseUntrusted(runtime);
  const signed = await SignedRun.read(folder, keyOf);
  const { run } = signed;
  const lane = store.queue(laneOf(run));
  return { folder, signed, run, lane };
}

export async function runStatus(store: QueueStore, known: FoundRun): Promise<RunStatus> {
  const { run, folder, lane } = known;
  const [parts, workers, budget] = await withinDeadline(store, async () =>
    Promise.all([
      Promise.all(shardsOf(run).map(async (shard) => shardStatus(known, shard))),
      lane.getWorkers(),
      budgetOf(lane),
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
    budget: budget ?? null,
    figures: totals(known.signed),
    exitCode: errorId ? errorIds[errorId] : exitCodes.ok,
    errorId,
    parts,
  };
}

/** Returns the most serious error of the shards. */
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
 * Reads the status of a shard, which may end meanwhile. The state is read first, since its explanation
 * (the result of a finished shard, the reason of a failed one) is written before the state changes.
 */
async function shardStatus(
  { run, folder, signed, lane }: FoundRun,
  shard: Shard,
): Promise<ShardStatus> {
  const id = shardJobId(run, shard);
  const state = await lane.getJobState(id);
  const job = await lane.getJob(id);
  const result = resultOf(signed, shard);
  const shared = {
    shard: shard.index,
    worker: null,
    share: null,
    seconds: null,
    exitCode: null,
    error: null,
  };
  if (result && 'figures' in result) {
    const { worker, seconds, exitCode, figures } = result;
    const records = figures['records'] ?? figures['read'] ?? 0;
    const rejected = figures['rejected'] ?? 0;
    return { ...shared, state: 'done', worker, records, rejected, share: 1, seconds, exitCode };
  }
  const reported = { ...shared, ...progressOf(job?.progress) };
  const isAtWork = state === 'active' || state === 'waiting' || state === 'delayed';
  if (result && !isAtWork) {
    const error = `${result.id}: ${withWhy(result)}`;
    return { ...reported, state: 'failed', error, exitCode: result.exitCode };
  }
  const error = state === 'failed' ? reasonOf(job?.failedReason) : undefined; // no error: it will be retried
  if (error === 'cancelled' || (!job && folder.isCancelled)) {
    return { ...reported, state: 'cancelled', exitCode: exitCodes.interrupted };
  }
  if (!job || state === 'completed' || state === 'unknown')
    return { ...reported, state: 'missing' };
  if (state === 'active') return { ...reported, state: 'running' };
  if (error) return { ...reported, state: 'failed', error, exitCode: errorIds[errorIdIn(error)] };
  return { ...reported, state: 'waiting', worker: null, error: leftReason(job.progress) };
}

/** Returns the result of a finished shard, or why it is not trusted. Throws E-FILE-READ. */
function resultOf(signed: SignedRun, shard: Shard): ShardResult | EngagectlError | undefined {
  try {
    return signed.result(shard);
  } catch (error) {
    if (error instanceof EngagectlError && error.id === 'E-UNTRUSTED') return error;
    throw error;
  }
}

/** Anyone who can write to the store can write anything there, so values that are not numbers are ignored. */
function progressOf(
  progress: unknown,
): Pick<ShardStatus, 'worker' | 'records' | 'rejected' | 'share'> {
  const { worker, records, rejected, share } = Object(progress) as Record<string, unknown>;
  const isShare = typeof share === 'number' && share >= 0 && share <= 1;
  return {
    worker: typeof worker === 'string' ? worker.slice(0, 100) : null,
    records: countOf(records),
    rejected: countOf(rejected),
    share: isShare ? share : null,
  };
}

/** Returns why a worker without the account of a shard left it to others. */
function leftReason(progress: unknown): string | null {
  const { leftBy, ...left } = Object(progress) as Record<string, unknown>;
  const reason = reasonOf(left['reason']);
  if (typeof leftBy !== 'string' || reason === undefined) return null;
  return `left by ${leftBy.slice(0, 100)}: ${reason}`;
}

const countOf = (value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;

const reasonOf = (reason: unknown): string | undefined =>
  typeof reason === 'string' ? reason.slice(0, 2000) : undefined;

/** The reason of a failed shard starts with the id of its error. */
function errorIdIn(reason: string): ErrorId {
  const id = /^(E-[A-Z-]+):/.exec(reason)?.[1] ?? '';
  return Object.hasOwn(errorIds, id) ? (id as ErrorId) : 'E-DEFECT';
}

/** Sums the figures of finished shards. */
export function totals(signed: SignedRun): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const shard of shardsOf(signed.run)) {
    const { figures = {} } = signed.trustedResult(shard) ?? {};
    for (const [name, figure] of Object.entries(figures)) sums[name] = (sums[name] ?? 0) + figure;
  }
  return sums;
}

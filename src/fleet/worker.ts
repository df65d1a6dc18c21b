import path from 'node:path';
import { countOf, EngagectlError, interruptionError, withWhy } from '../errors.js';
import { sanitizeLine } from '../wording.js';
import { whenAborted, type EnginePorts } from '../jobs/job-context.js';
import {
  budgetOf,
  laneList,
  laneOf,
  lanesIn,
  shardJob,
  type ShardProgress,
} from './account-queue.js';
import { withinDeadline, type Outage, type QueueStore } from './queue-store.js';
import { realpathSync } from 'node:fs';
import { shardName } from '../jobs/shard.js';
import {
  WorkDirectory,
  untrusted,
  type FleetRun,
  type RunAccount,
  type ShardJob,
  type ShardResult,
} from './fleet-run.js';
import { refuseUntrusted, type TrustRuntime } from '../files/ownership.js';
import { Lease, leasedOutcomes, LeasedConcurrency } from './lease.js';
import { runNameOf, runsIn, ShardTraffic, type ShardEpoch } from './shard-folder.js';
import { SignedRun, type FleetKey } from './signature.js';
import type { Job, Queue, Worker } from 'bullmq';
import type { Shard } from '../jobs/job-options.js';
import type { Runtime } from '../runtime.js';

/** Milliseconds between checks. */
const lookEvery = 1000;
/** Milliseconds until a shard that a worker has no account for is offered again. */
const offerAgainAfter = 2000;

interface WorkOptions extends WorkerContext {
  /** Maximum concurrent shards per account. */
  readonly slots: number;
  /** Stop when nothing is left to do. */
  readonly drain: boolean;
  readonly outage: Outage;
}

/**
 * Runs a worker until its signal is aborted; its shards are then returned to the queue. With `drain`,
 * throws the error of a shard that is left for a worker with another account.
 */
export async function runWorker(store: QueueStore, options: WorkOptions): Promise<void> {
  let list: Queue | undefined;
  const lanes = new Map<string, AccountWorker>();
  const { runtime, drain, outage } = options;
  const { signal } = runtime;
  const stopped = whenAborted(signal);
  let isOver = false;
  const look = async (): Promise<void> => {
    const names = await withinDeadline(store, async () => {
      list ??= await store.connected(laneList(store));
      return lanesIn(list);
    });
    if (signal.aborted) return;
    for (const name of names) {
      const lane = lanes.get(name) ?? new AccountWorker(name, store, options);
      lanes.set(name, lane);
      await lane.connect();
      if (signal.aborted) return;
    }
    for (const lane of lanes.values()) await lane.look();
    if (!drain) return;
    const drained = await Promise.all([...lanes.values()].map(async (lane) => lane.isDrained()));
    isOver = drained.every(Boolean);
  };
  try {
    while (!signal.aborted) {
      await Promise.race([duringOutage(outage, look), stopped]); // an unavailable store may not answer for long
      if (isOver) return throwIfLeft([...lanes.values()]);
      await runtime.sleep(lookEvery, signal).catch(() => undefined);
    }
  } finally {
    await Promise.all([...lanes.values()].map(async (lane) => lane.close()));
  }
}

/** Processes the shards of one account and kind of endpoint. */
class AccountWorker {
  readonly #name: string;
  readonly #options: WorkOptions;
  #queue: Queue | undefined;
  #worker: Worker | undefined;
  readonly #running = new Map<string, RunningShard>();
  /** Why this worker gave back shards of other accounts, by job id. */
  readonly #notOurs = new Map<string, EngagectlError>();
  readonly #store: QueueStore;

  constructor(name: string, store: QueueStore, options: WorkOptions) {
    this.#name = name;
    this.#store = store;
    this.#options = options;
  }

  /** Takes shards from now on, unless the worker is stopped. May be called again, above all after an error of the store. */
  async connect(): Promise<void> {
    const store = this.#store;
    this.#queue ??= await store.connected(store.queue(this.#name));
    if (this.#options.runtime.signal.aborted) return;
    this.#worker ??= await store.connected(this.#newWorker());
  }

  #newWorker(): Worker {
    const { worker, slots, lease, runtime } = this.#options;
    const of = (jobs: readonly string[]) => jobs.flatMap((id) => this.#running.get(id) ?? []);
    return this.#store.worker(this.#name, async (job, token) => this.#process(job, token), {
      name: worker,
      slots,
      lease,
      monotonic: runtime.monotonic,
      renewed: (jobs, requestedAt) => of(jobs).forEach((shard) => shard.lease.renew(requestedAt)),
      refused: (jobs) => of(jobs).forEach((shard) => shard.lease.lose()),
    });
  }

  /** Reports progress, and returns shards that are excess or cancelled. */
  async look(): Promise<void> {
    const queue = this.#queue;
    if (!queue || this.#running.size === 0) return;
    const [budget, active] = await Promise.all([budgetOf(queue), queue.getActive()]);
    const ids = active.map(({ id = '' }) => id).toSorted();
    const tooMany = new Set(ids.slice(budget ?? ids.length));
    for (const [id, shard] of this.#running) {
      const { progress } = shard;
      if (shard.isCancelled || tooMany.has(id)) shard.giveBack();
      if (progress && shard.lease.isHeld()) await shard.job.updateProgress(progress);
    }
  }

  /** Whether no shard is waiting, running or to be retried, except by workers with another account. */
  async isDrained(): Promise<boolean> {
    const queue = this.#queue;
    if (!queue) return false;
    const counts = await queue.getJobCounts('waiting', 'active', 'delayed');
    const { delayed: count = 0, ...others } = counts;
    if (Object.values(others).some((other) => other > 0)) return false;
    const delayed = await queue.getDelayed();
    const ids = new Set(delayed.map(({ id = '' }) => id));
    for (const id of this.#notOurs.keys()) if (!ids.has(id)) this.#notOurs.delete(id);
    // Since the count, a delayed shard may have become one that is waiting.
    return ids.size === count && ids.size === this.#notOurs.size;
  }

  /** The errors of shards that this worker gave back, as of the last `isDrained`. */
  get left(): readonly EngagectlError[] {
    return [...this.#notOurs.values()];
  }

  async close(): Promise<void> {
    await this.#worker?.close();
  }

  async #process(job: Job, token: string): Promise<unknown> {
    const { lease, runtime } = this.#options;
    // The job was fetched with a lease, but nobody knows how long ago: ask for it again.
    const requestedAt = runtime.monotonic();
    if (!(await job.extendLock(token, lease))) throw new Error('the lease has expired already');
    const held = new Lease(lease, runtime.monotonic, requestedAt);
    const shard = new RunningShard(job, held, this.#options);
    const id = job.id ?? '';
    this.#running.set(id, shard);
    try {
      await shard.open();
      if (shard.isCancelled) throw this.#store.failure('cancelled');
      return await shard.perform();
    } catch (error) {
      return await this.#ended(shard, error, token);
    } finally {
      this.#running.delete(id);
    }
  }

  /** Throws the error that tells the queue what to do with an unfinished shard. */
  async #ended(shard: RunningShard, error: unknown, token: string): Promise<never> {
    if (shard.isCancelled) throw this.#store.failure('cancelled');
    if (!shard.lease.isHeld()) {
      this.#options.messages.warn(
        `shard ${shard.job.id}: its lease expired, another worker continues`,
      );
      throw error;
    }
    if (shard.isGivenBack) {
      await shard.job.moveToWait(token);
      throw this.#store.moved('wait');
    }
    const isForeseen = error instanceof EngagectlError;
    if (isForeseen && error.id === 'E-RUN-LOCKED') throw error; // another worker has it
    const reason = isForeseen ? `${error.id}: ${withWhy(error)}` : `E-DEFECT: ${String(error)}`;
    if (isForeseen && shard.isOfOtherAccount) return this.#leave(shard, { error, reason, token });
    if (!shard.isOpen)
      this.#options.messages.warn(sanitizeLine(`shard ${shard.job.id} is refused: ${reason}`));
    throw this.#store.failure(reason);
  }

  /** Leaves a shard to a worker that has its account; `fleet status` shows the reason meanwhile. */
  async #leave(shard: RunningShard, { error, reason, token }: Refusal): Promise<never> {
    const { worker, runtime, messages } = this.#options;
    const { job } = shard;
    const id = job.id ?? '';
    if (!this.#notOurs.has(id)) messages.warn(`shard ${id} is left to another worker: ${reason}`);
    this.#notOurs.set(id, error);
    await job.updateProgress({ ...Object(job.progress), leftBy: worker, reason });
    await job.moveToDelayed(runtime.now() + offerAgainAfter, token);
    throw this.#store.moved('delayed');
  }
}

interface Refusal {
  readonly error: EngagectlError;
  readonly reason: string;
  readonly token: string;
}

function throwIfLeft(lanes: readonly AccountWorker[]): void {
  const errors = lanes.flatMap(({ left }) => left);
  const [first] = errors;
  if (!first) return;
  throw new EngagectlError(first.id, `${countOf(errors.length, 'shard')} left for other workers`, {
    why: withWhy(first),
    fix: first.details.fix,
  });
}

/** Waits for an unavailable store. */
async function duringOutage(outage: Outage, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
    outage.over();
  } catch (error) {
    outage.report(error as Error);
  }
}

/** A shard, as passed to the function that processes it. */
export interface ShardTask {
  readonly run: FleetRun;
  readonly shard: Shard;
  /** Directory for everything it keeps and writes. */
  readonly folder: string;
  /** Directory in it for its run. */
  readonly runsFolder: string;
  readonly ports: EnginePorts;
  /** Aborted to stop it; its reason is an EngagectlError. */
  readonly signal: AbortSignal;
  /** Called once with a function that returns the progress. */
  readonly started: (progress: () => Omit<ShardProgress, 'worker'>) => void;
  /** Called with the outcome while the run is still open; its errors are rethrown. */
  readonly ended: (outcome: ShardOutcome) => void;
}

/** Outcome of a processed shard. */
export interface ShardOutcome extends Omit<ShardResult, 'shard' | 'worker' | 'ended'> {
  /** Whether the whole shard was processed. */
  readonly done: boolean;
  readonly error: EngagectlError | undefined;
}

/** An account on this worker: the key that signs its runs, and the function that processes its shards. */
export interface ShardAccount {
  readonly key: FleetKey;
  readonly perform: (part: ShardTask) => Promise<ShardOutcome>;
}

/** Context that a worker shares among its shards. */
interface WorkerContext {
  readonly worker: string;
  readonly runtime: Runtime;
  /** Milliseconds. */
  readonly lease: number;
  readonly workDirs: WorkDirs;
  readonly messages: { warn(text: string): void };
  /** Returns the account of a run as configured on this machine. Throws E-RUN-CHANGED if it differs. */
  readonly accountOf: (run: RunAccount) => Promise<ShardAccount>;
}

/** The directories from which a worker accepts runs. It reads and writes nothing elsewhere. */
export class WorkDirs {
  readonly #given: readonly string[];
  /** Their resolved paths, from the first time they existed. */
  readonly #places = new Map<string, string>();

  readonly #runtime: TrustRuntime;

  /**
   * `given` are absolute paths. Throws E-CONFIG-FILE for a directory that another user owns or can write
   * to.
   */
  constructor(given: readonly string[], runtime: TrustRuntime) {
    this.#given = given;
    this.#runtime = runtime;
    this.missing();
  }

  /** Returns directories that do not exist yet. Throws E-CONFIG-FILE, like the constructor. */
  missing(): readonly string[] {
    return this.#given.filter((folder) => {
      const place = this.#places.get(folder) ?? realPath(folder);
      if (place !== undefined) {
        refuseUntrusted(folder, this.#runtime);
        this.#places.set(folder, place);
      }
      return place === undefined;
    });
  }

  /** Throws E-UNTRUSTED for a directory outside of them, with links resolved. */
  refuseOthers(workDir: string): void {
    this.missing();
    const place = realPath(workDir);
    const isInside = (folder: string) =>
      place === folder || place?.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
    if ([...this.#places.values()].some(isInside)) return;
    throw untrusted(`${workDir} is none of the work directories of this worker`, {
      why: `it was started with ${this.#given.join(' and ')}`,
      fix: 'start workers with --work-dir for it, then: engagectl fleet retry <run>',
    });
  }
}

function realPath(name: string): string | undefined {
  try {
    return realpathSync(name);
  } catch {
    return undefined;
  }
}

/** A shard under lease, from its journal to its result. */
class RunningShard {
  readonly lease: Lease;
  readonly job: Job;
  readonly #context: WorkerContext;
  readonly #giveBackController = new AbortController();
  #opened: OpenedShard | undefined;
  #isOfOtherAccount = false;
  #progress: (() => Omit<ShardProgress, 'worker'>) | undefined;

  constructor(job: Job, lease: Lease, context: WorkerContext) {
    this.job = job;
    this.lease = lease;
    this.#context = context;
  }

  /**
   * Verifies the shard before anything is done: the job comes from a queue, and the run from a
   * directory, to which others may be able to write. Throws E-UNTRUSTED, E-CONFIG-FILE, and the errors
   * of reading the run and resolving its account.
   */
  async open(): Promise<void> {
    const job = shardJob(this.job);
    const { workDirs, accountOf, runtime } = this.#context;
    workDirs.refuseOthers(job.workDir);
    const folder = new WorkDirectory(job.workDir, job.run);
    folder.refuseUntrusted(runtime);
    let account: ShardAccount | undefined;
    const signed = await SignedRun.read(folder, async (of) => {
      account = await accountOf(of).catch((error: unknown) => {
        this.#isOfOtherAccount = true;
        throw error;
      });
      return account.key;
    });
    if (!signed.isJob(job)) throw notSigned(job);
    // A copy in another queue would be a second job for the shard: two workers would take it from each other.
    if (this.job.queueName !== laneOf(signed.run)) throw copied(job);
    folder.refuseLinks(job.shard);
    this.#opened = { shard: job.shard, folder, signed, account: account! };
  }

  /** Whether the shard was verified. */
  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Whether this machine does not have the account of the shard. */
  get isOfOtherAccount(): boolean {
    return this.#isOfOtherAccount;
  }

  /** Whether the shard is to be returned to the queue. */
  get isGivenBack(): boolean {
    return this.#context.runtime.signal.aborted || this.#giveBackController.signal.aborted;
  }

  get isCancelled(): boolean {
    return this.#opened?.folder.isCancelled === true;
  }

  get progress(): ShardProgress | undefined {
    return this.#progress && { worker: this.#context.worker, ...this.#progress() };
  }

  /** Lets requests in flight finish, then returns the shard. */
  giveBack(): void {
    this.#giveBackController.abort(
      interruptionError(new Error('the shard is given back to the queue')),
    );
  }

  /** Processes the shard; returns an earlier result immediately. Throws the error that stopped it. */
  async perform(): Promise<ShardResult> {
    const opened = this.#opened!;
    const { shard, signed, account } = opened;
    const known = this.#knownResult(opened);
    if (known) return known;
    this.lease.assertHeld(); // a process that was stopped wakes up late
    const { worker, runtime } = this.#context;
    const claimed = new Date(runtime.now()).toISOString();
    const epoch = await opened.folder.shard(shard).takeOver({ worker, claimed });
    this.lease.fence(epoch.isCurrent);
    this.lease.assertHeld();
    const finished = signed.trustedResult(shard); // by the former owner, meanwhile
    if (finished) return finished;
    const traffic = new ShardTraffic(epoch.path);
    if (signed.run.command !== 'export-events') traffic.assertJournaled(shard);
    const { done, error } = await account.perform({
      run: signed.run,
      shard,
      folder: epoch.path,
      runsFolder: runsIn(epoch.path),
      ports: { ...this.#ports(shard), requests: traffic },
      signal: AbortSignal.any([runtime.signal, this.#giveBackController.signal, this.lease.lost]),
      started: (progress) => {
        this.#progress = progress;
      },
      ended: ({ figures, ...outcome }) =>
        this.#note(opened, epoch, { ...outcome, figures: traffic.addTo(figures) }),
    });
    const result = done ? signed.result(shard) : undefined;
    if (result) return result;
    throw (
      error ?? new EngagectlError('E-DEFECT', `shard ${shardName(shard)} ended without a result`)
    );
  }

  /** Ignores an untrusted result: the journal tells what is left to do. */
  #knownResult({ signed, shard }: OpenedShard): ShardResult | undefined {
    try {
      return signed.result(shard);
    } catch (error) {
      if (!(error instanceof EngagectlError && error.id === 'E-UNTRUSTED')) throw error;
      this.#context.messages.warn(`shard ${this.job.id}: ${error.id}: ${withWhy(error)}`);
      return undefined;
    }
  }

  #ports(shard: Shard): EnginePorts {
    const slot = new LeasedConcurrency(this.lease);
    return {
      limiter: () => slot,
      outcomes: (journal) => leasedOutcomes(journal, this.lease),
      fence: this.lease.assertHeld,
      leasedRun: runNameOf(shard),
    };
  }

  /** Called before the run is closed: after a crash here, every record of the run has an outcome. */
  #note(
    { signed, shard }: OpenedShard,
    { path: folder }: ShardEpoch,
    { done, error: _, ...outcome }: ShardOutcome,
  ): void {
    this.lease.assertHeld();
    const { worker, runtime } = this.#context;
    const ended = runtime.now();
    const result = { shard: shard.index, worker, ended, ...outcome };
    if (done) signed.setResult(shard, folder, result);
    this.lease.assertHeld(); // then the next owner, if there is one, copies this result
  }
}

/** A shard whose job, run and location are verified. */
interface OpenedShard {
  readonly shard: Shard;
  readonly folder: WorkDirectory;
  readonly signed: SignedRun;
  readonly account: ShardAccount;
}

const copied = ({ run, shard }: ShardJob): EngagectlError =>
  untrusted(`the job of shard ${shardName(shard)} of run ${run} is a copy in another queue`, {
    why: 'its run belongs to the queue of its account and command, where the shard is already',
    fix: 'find out who can write to the queue',
  });

const notSigned = ({ run, shard }: ShardJob): EngagectlError =>
  untrusted(`the job of shard ${shardName(shard)} is not signed by this account's passcode`, {
    why: 'somebody else put it into the queue or changed it, or the passcode was another one then',
    fix: `engagectl fleet retry ${run}`,
  });

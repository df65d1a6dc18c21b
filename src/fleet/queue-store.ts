import type { Job, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
import type { Client, ClientConfig } from 'pg';
import { EngagectlError } from '../errors.js';

/** Jobs of vanished workers are moved to another one any number of times. */
const unlimitedStalls = 1_000_000;
/** Milliseconds within which an interactive command expects an answer. */
const answerMs = 5000;
/** Namespace in a shared store: a prefix in Redis, a schema in PostgreSQL. */
const namespace = 'engagectl';

/** The store of the queues: Redis or PostgreSQL. */
export interface QueueStore {
  readonly kind: 'Redis' | 'PostgreSQL';
  /** Its address without user and password. */
  readonly displayUrl: string;
  /**
   * Resolves once what was made is connected; otherwise closes it, and throws the error of the store. Who waits for a
   * store makes it anew then: BullMQ keeps the first failure of a connection to PostgreSQL for good, and a worker that
   * has failed so never yields to the event loop, not even for a signal.
   */
  connected<T extends Queue | Worker>(made: T): Promise<T>;
  queue(name: string): Queue;
  worker(name: string, work: Process, options: WorkerSettings): Worker;
  /** Error for `work` to throw: the job has failed and is not retried. */
  failure(why: string): Error;
  /** Error for `work` to throw: the job was moved, to wait or to be delayed. */
  moved(to: 'wait' | 'delayed'): Error;
  close(): Promise<void>;
}

type Process = (job: Job, token: string) => Promise<unknown>;

interface WorkerSettings {
  readonly name: string;
  readonly slots: number;
  /** Milliseconds. */
  readonly lease: number;
  readonly monotonic: () => number;
  /** Called after leases were renewed, with the time on `monotonic` before the store was asked. */
  readonly renewed: (jobs: readonly string[], requestedAt: number) => void;
  /** Called if leases could not be renewed, because another worker has them. */
  readonly refused: (jobs: readonly string[]) => void;
}

export interface StoreOptions {
  /** Whether to wait for an unavailable store. */
  readonly waitForStore: boolean;
  /** Create missing tables. */
  readonly migrate?: boolean;
  /** Called at each attempt with the reason why the store is unavailable. */
  readonly onUnavailable?: (error: Error) => void;
  /** Called once with a warning about the store. */
  readonly onWarning?: (text: string) => void;
}

/**
 * Opens the store at `redis://`, `rediss://` or `postgres://` without a request. Throws E-CONFIG,
 * E-USAGE.
 */
export async function openQueueStore(
  url: string,
  { waitForStore, migrate = false, onUnavailable = () => undefined, onWarning }: StoreOptions,
): Promise<QueueStore> {
  const { protocol, displayUrl } = addressOf(url);
  const bullmq = await loadOptionalPackage('bullmq', async () => import('bullmq'));
  const isRedis = protocol.startsWith('redis');
  if (isRedis) await loadOptionalPackage('ioredis', async () => import('ioredis'));
  const driver = isRedis ? undefined : await loadOptionalPackage('pg', async () => import('pg'));
  const factory = isRedis ? undefined : (bullmq.createPostgresBackend as never);
  const connection = driver
    ? postgresConnection(url, migrate, clientClass(driver.default.Client, onUnavailable))
    : redisConnection(url, waitForStore);
  const shared = { connection, prefix: namespace } as QueueOptions & WorkerOptions;
  const open = new Set<Queue | Worker>();
  captureWarnings(onWarning);
  return {
    kind: isRedis ? 'Redis' : 'PostgreSQL',
    displayUrl,
    connected: async (made) => {
      try {
        await made.waitUntilReady();
        return made;
      } catch (error) {
        open.delete(made);
        await made.close();
        throw error;
      }
    },
    queue: (name) => {
      const queue = new bullmq.Queue(name, shared, factory);
      queue.on('error', onUnavailable); // requests report errors themselves, unless they wait for the store
      open.add(queue);
      return queue;
    },
    worker: (name, work, settings) => {
      const LeasingWorker = leasingWorker(bullmq.Worker, settings);
      const made = new LeasingWorker(
        name,
        async (job, token = '') => work(job, token),
        { ...shared, ...shardOptions(settings) },
        factory,
      );
      made.on('lockRenewalFailed', settings.refused);
      made.on('error', onUnavailable);
      open.add(made);
      return made;
    },
    failure: (why) => new bullmq.UnrecoverableError(why),
    moved: (to) => (to === 'wait' ? new bullmq.WaitingError() : new bullmq.DelayedError()),
    close: async () => {
      await Promise.allSettled([...open].map(async (one) => one.close()));
      open.clear();
      reportWarning = undefined;
    },
  };
}

const redisConnection = (url: string, waitForStore: boolean) => ({
  url,
  connectTimeout: answerMs,
  // Otherwise, a connection whose database is refused works in database 0, which may be that of another fleet.
  reconnectOnError: (error: StoreError) => refusedDatabase(error) !== undefined,
  ...(!waitForStore && { retryStrategy: giveUp }),
});

const postgresConnection = (url: string, migrate: boolean, Client: object) => ({
  connectionString: verifiedUrl(url),
  schema: namespace,
  max: 1, // of each queue and worker: a server with default settings has 100 connections for all
  connectionTimeoutMillis: answerMs,
  migrate,
  Client,
});

/** A client of PostgreSQL whose errors between two questions do not end the process: the next question fails. */
const clientClass = (Base: typeof Client, report: (error: Error) => void) =>
  class extends Base {
    constructor(config?: ClientConfig) {
      super(config);
      this.on('error', report);
    }
  };

const shardOptions = ({ name, slots, lease }: WorkerSettings) => ({
  name,
  concurrency: slots,
  lockDuration: lease,
  stalledInterval: Math.max(500, lease / 10), // one of all workers looks so often
  maxStalledCount: unlimitedStalls,
  drainDelay: 1,
  runRetryDelay: 1000,
});

/** A worker that reports when it asked for the renewal of leases. BullMQ reports only the answer. */
const leasingWorker = (
  Base: typeof Worker,
  { monotonic, renewed }: Pick<WorkerSettings, 'monotonic' | 'renewed'>,
) =>
  class extends Base {
    override async extendJobLocks(jobs: string[], tokens: string[], duration: number) {
      const requestedAt = monotonic();
      const failed = await super.extendJobLocks(jobs, tokens, duration);
      renewed(
        jobs.filter((job) => !failed.includes(job)),
        requestedAt,
      );
      return failed;
    }
  };

/**
 * BullMQ prints warnings about the store on the console, one per connection, past --quiet and among
 * the objects of --json; a connection that is closed while it opens prints them after the close.
 * Its warnings are therefore kept from the console for good, and reported while a store is open.
 */
let reportWarning: ((text: string) => void) | undefined;
let isCaptured = false;

function captureWarnings(onWarning: StoreOptions['onWarning']): void {
  const reported = new Set<string>();
  reportWarning = (text) => {
    if (!reported.has(text)) onWarning?.(evictionIn(text) ?? `the queue: ${text}`);
    reported.add(text);
  };
  if (isCaptured) return;
  isCaptured = true;
  const { warn } = console;
  const filtered = (...values: unknown[]): void => {
    const [text] = values;
    if (typeof text === 'string' && bullmqWarning.test(text)) reportWarning?.(text);
    else warn(...values);
  };
  Object.assign(console, { warn: filtered });
}

const bullmqWarning = /^(?:IMPORTANT! Eviction policy|It is highly recommended|BullMQ:)/;

function evictionIn(text: string): string | undefined {
  const [, policy] = /Eviction policy is (\S+)\./.exec(text) ?? [];
  return policy && evictionWarning(policy);
}

/** Warning for a Redis whose policy may evict keys. */
export const evictionWarning = (policy: string): string =>
  `this Redis may throw jobs away when its memory is full: its maxmemory-policy is ${policy}, not noeviction`;

/** Error of a store. ioredis adds the command that failed. */
type StoreError = Error & {
  readonly code?: string;
  readonly command?: { readonly name: string; readonly args: readonly unknown[] };
};

/** Returns the database of Redis that could not be selected, if that is the error. */
const refusedDatabase = ({ command }: StoreError): string | undefined =>
  command?.name === 'select' ? `database ${String(command.args[0])}` : undefined;

function reasonOf(error: StoreError): string {
  const database = refusedDatabase(error);
  return `${database === undefined ? '' : `${database}: `}${error.message || error.name}`;
}

const giveUp = (attempt: number): number | null => (attempt > 2 ? null : 200);

/** Awaits an answer of a store. Throws E-UNAVAILABLE after the deadline, E-CONFIG if its database is refused. */
export async function withinDeadline<T>(
  { displayUrl }: QueueStore,
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof EngagectlError) throw cause;
    const error = cause as StoreError;
    const { name, message, code = '' } = error;
    const why = reasonOf(error);
    const database = refusedDatabase(error);
    if (database !== undefined && message.startsWith('ERR')) {
      throw new EngagectlError('E-CONFIG', `the queue at ${displayUrl} refuses ${database}`, {
        why,
        fix: 'correct the number in ENGAGECTL_QUEUE; by default, a Redis has databases 0 to 15',
        cause,
      });
    }
    const isBare = name === 'SchemaMigrationRequiredError';
    // Errors of Redis, and of PostgreSQL: class 28, invalid authorization specification.
    const isRefused = /^(?:NOAUTH|WRONGPASS|NOPERM)/.test(message) || code.startsWith('28');
    const does = isRefused ? 'refuses the user or the password' : 'does not answer';
    throw new EngagectlError('E-UNAVAILABLE', `the queue at ${displayUrl} ${does}`, {
      why,
      fix: isBare
        ? 'engagectl fleet init'
        : isRefused
          ? 'correct them in ENGAGECTL_QUEUE'
          : 'start it, or correct ENGAGECTL_QUEUE',
      cause,
    });
  }
}

function addressOf(url: string): { protocol: string; displayUrl: string } {
  const known = ['redis:', 'rediss:', 'postgres:', 'postgresql:'];
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !known.includes(parsed.protocol)) {
    throw new EngagectlError('E-USAGE', 'the queue is not an address of Redis or PostgreSQL', {
      why: 'the parts of a fleet share their work in one of these two',
      fix: 'use one like redis://localhost:6379 or postgres://user@localhost/fleet',
    });
  }
  const { protocol, host, pathname, search, hash, searchParams } = parsed;
  // The address is not shown: its host or path is a part of the password.
  if (`${pathname}${search}${hash}`.includes('@')) {
    throw new EngagectlError('E-USAGE', 'the address of the queue has an @ behind its host', {
      why: 'a /, ? or # ends the host, also within a password',
      fix: 'write %2F, %3F and %23 for them in the password, %40 for an @ behind the host, and two slashes in front of the user',
    });
  }
  const port = searchParams.getAll('port').at(-1) ?? '';
  if (!/^\d*$/.test(port) || Number(port) > 65_535) {
    throw new EngagectlError('E-USAGE', 'the port in the address of the queue is not a port', {
      why: 'a port is a number from 1 to 65535',
      fix: 'write it behind the host, as in postgres://user@localhost:5432/fleet',
    });
  }
  const database = pathname.slice(1) || (searchParams.getAll('db').at(-1) ?? '0');
  if (protocol.startsWith('redis') && !/^\d+$/.test(database)) {
    throw new EngagectlError('E-USAGE', `the database "${database}" of the queue is not a number`, {
      why: 'Redis numbers its databases, by default from 0 to 15',
      fix: 'use an address like redis://localhost:6379/1',
    });
  }
  return { protocol, displayUrl: `${protocol}//${host}${pathname}` };
}

/**
 * Returns the address of a PostgreSQL with the mode `verify-full` instead of weaker ones. The driver takes them for it
 * with a warning on stderr, but not with `uselibpqcompat`, which that warning advises, and not from its next version on.
 */
export const verifiedUrl = (url: string): string =>
  url
    .replaceAll(/(?<=[?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/g, 'verify-full')
    .replaceAll(/(?<=[?&])uselibpqcompat=[^&#]*&?/g, '');

/** Loads an optional package that only a fleet needs. */
export async function loadOptionalPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    const driver = name === 'bullmq' ? 'ioredis' : name;
    throw new EngagectlError('E-CONFIG', `a fleet needs the package ${name}`, {
      why: 'it is not installed: no other command needs it',
      fix: `npm install bullmq ${driver}${name === 'bullmq' ? ' (or pg, for PostgreSQL)' : ''}`,
      cause,
    });
  }
}

/** Reports why a store is unavailable, each reason once until the store answers again. */
export class Outage {
  readonly #messages: { warn(text: string): void };
  readonly #reported = new Set<string>();

  constructor(messages: { warn(text: string): void }) {
    this.#messages = messages;
  }

  readonly report = (error: Error): void => {
    const { why = reasonOf(error) } = error instanceof EngagectlError ? error.details : {};
    if (!this.#reported.has(why)) this.#messages.warn(`waiting for the queue: ${why}`);
    this.#reported.add(why);
  };

  over(): void {
    this.#reported.clear();
  }
}

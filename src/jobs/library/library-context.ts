import path from 'node:path';
import { setMaxListeners } from 'node:events';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { limits } from '../../contract/limits.js';
import { EngagectlError, interruptionError } from '../../errors.js';
import { trustedFolder } from '../../files/ownership.js';
import { timeZone } from '../../time-zone.js';
import { openConnection } from '../connection.js';
import { libraryWording, type Connection, type JobContext } from '../job-context.js';
import type { Readable } from 'node:stream';
import type { Runtime } from '../../runtime.js';
import type { ConnectOptions, Run } from './api.js';
import type { JobProgress } from '../job-results.js';

/** The world without signals, or with one. */
export type RuntimeOf = (signal: AbortSignal) => Runtime;

/** What all jobs of an account share: its connections. */
export class LibraryContext {
  readonly #options: ConnectOptions;
  readonly #runtimeOf: RuntimeOf;
  #connection: Promise<Connection> | undefined;

  constructor(options: ConnectOptions, runtimeOf: RuntimeOf) {
    this.#options = options;
    this.#runtimeOf = runtimeOf;
  }

  get keepsRuns(): boolean {
    return this.#options.stateFolder !== undefined;
  }

  /** Throws E-CONFIG where nothing is kept that could be gone on with. */
  needRuns(): void {
    if (!this.keepsRuns) throw noPlace();
  }

  /** What one job works in. `input` takes the place of standard input. */
  of(signal?: AbortSignal, input?: Readable): JobContext {
    const { timezone = 'UTC', stateFolder, log = () => undefined } = this.#options;
    const runtime = this.#runtimeOf(ownSignal(signal));
    return {
      runtime: input ? (Object.create(runtime, { stdin: { value: input } }) as Runtime) : runtime,
      words: libraryWording,
      said: {
        note: (text) => log('note', text),
        warn: (text) => log('warning', text),
        verbose: (text) => log('verbose', text),
        debug: () => undefined,
      },
      argv: [],
      timezone,
      // It stays open for the next job.
      connect: async () => ({ ...(await this.#connect()), close: () => Promise.resolve() }),
      runsFolder: () => {
        if (stateFolder === undefined) throw noPlace();
        return trustedFolder(path.resolve(runtime.cwd, stateFolder, 'runs'), runtime);
      },
    };
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await (await connection?.catch(() => undefined))?.close();
  }

  #connect(): Promise<Connection> {
    this.#connection ??= this.#open().catch((error: unknown) => {
      this.#connection = undefined;
      throw error;
    });
    return this.#connection;
  }

  async #open(): Promise<Connection> {
    const { baseUrl, accountId, passcode, timezone = 'UTC', log } = this.#options;
    const { retry = {}, fetchLimits = {} } = this.#options;
    return openConnection(
      {
        baseUrl,
        accountId,
        passcode,
        zone: timeZone(timezone),
        headerPrefix: this.#options.headerPrefix ?? defaultHeaderPrefix,
        timeoutMs: fetchLimits.timeoutMs ?? 60_000,
        maxInFlight: fetchLimits.maxInFlight ?? limits.uploadsInFlight,
        policy: { maxAttempts: 8, retryForMs: 600_000, retryBaseMs: 500, ...retry },
        said: { verbose: (text) => log?.('verbose', text), debug: () => undefined },
      },
      this.#runtimeOf(new AbortController().signal),
    );
  }
}

/**
 * Aborted with the caller's, to which nothing is added: many runs may share it. To ours much listens, and
 * Node would warn.
 */
function ownSignal(caller: AbortSignal | undefined): AbortSignal {
  const own = caller ? AbortSignal.any([caller]) : new AbortController().signal;
  setMaxListeners(0, own);
  return own;
}

/** A run under way; `work` says by `begun` what tells how far it is. */
export function startRun<Result>(
  world: JobContext,
  work: (begun: (progress: () => JobProgress) => void) => Promise<Result>,
): Run<Result> {
  let progress: (() => JobProgress) | undefined;
  const begun = (read: () => JobProgress) => {
    progress = read;
  };
  return {
    result: toEngagectlError(work(begun), world),
    progress: () => progress?.() ?? nothingYet,
  };
}

const nothingYet: JobProgress = {
  read: 0,
  records: 0,
  rejected: 0,
  bytes: 0,
  totalBytes: undefined,
  inFlight: 0,
  waiting: undefined,
};

/** Foreseen failures are of one kind, also where the signal's own reason was thrown. */
export async function toEngagectlError<T>(work: Promise<T>, { runtime }: JobContext): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof EngagectlError || !runtime.signal.aborted) throw error;
    throw interruptionError(runtime.signal.reason);
  }
}

const noPlace = (): EngagectlError =>
  new EngagectlError('E-CONFIG', 'no stateFolder was given to connect', {
    why: 'what a run did is kept in a folder',
    fix: 'connect with a stateFolder',
  });

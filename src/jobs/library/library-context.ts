import path from 'node:path';
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { defaultHeaderPrefix } from '../../contract/endpoints.js';
import { defaultRememberMs } from '../../bulk/event-memory/event-store.js';
import { limits } from '../../contract/limits.js';
import { callerAbort, EngagectlError, interruptionError, reasonText } from '../../errors.js';
import { fileErrorReason } from '../../files/file-errors.js';
import { trustedFolder } from '../../files/ownership.js';
import { timeZone } from '../../time-zone.js';
import { openConnection } from '../connection.js';
import { definedOf, isAbortSignal, noOption } from '../job-options.js';
import { libraryWording, type Connection, type JobContext } from '../job-context.js';
import type { Runtime } from '../../runtime.js';
import type { ConnectOptions, Run } from './api.js';
import type { JobProgress } from '../job-results.js';

/** Creates a runtime with an abort signal. */
export type RuntimeOf = (signal: AbortSignal) => Runtime;

/** Context of one job. */
export interface LibraryJobContext extends JobContext {
  /** Stops listening to the caller's signal, and closes its stream. Called when the job has ended. */
  readonly release: () => void;
}

/** Context that all jobs of an account share, including the connection. */
export class LibraryContext {
  readonly #options: ConnectOptions;
  readonly #runtimeOf: RuntimeOf;
  readonly #log: NonNullable<ConnectOptions['log']>;
  /** Absolute: a later job must find the runs, although the program may have changed its directory. */
  readonly #runsFolder: string | undefined;
  #connection: Promise<Connection> | undefined;

  /** Throws E-USAGE for unknown options, and E-CONFIG for a `stateFolder` that is not a string. */
  constructor(options: ConnectOptions, runtimeOf: RuntimeOf) {
    refuseUnknownOptions(options);
    const { stateFolder } = options;
    if (stateFolder !== undefined) {
      refuseNonText({ stateFolder });
      const { cwd } = runtimeOf(new AbortController().signal);
      this.#runsFolder = path.resolve(cwd, stateFolder, 'runs');
    }
    this.#options = options;
    this.#runtimeOf = runtimeOf;
    this.#log = harmless(options.log);
  }

  get keepsRuns(): boolean {
    return this.#runsFolder !== undefined;
  }

  /** Throws E-CONFIG if runs are not kept and so cannot be resumed. */
  needRuns(): void {
    if (!this.keepsRuns) throw noPlace();
  }

  /** Creates the context of one job. `input` replaces standard input, `left` aborts the job like `caller`. */
  of(caller?: AbortSignal, input?: Readable, left?: AbortSignal): LibraryJobContext {
    const { timezone = 'UTC' } = this.#options;
    const log = this.#log;
    const runsFolder = this.#runsFolder;
    const { signal, release } = ownSignal([caller, left].filter(isAbortSignal));
    const runtime = this.#runtimeOf(signal);
    const close = () => input?.destroy();
    const stdin = input && { stdin: { value: streamOf(bytesOf(input), close) } };
    return {
      release: () => {
        release();
        close(); // also if the job was refused before it was read
      },
      runtime: stdin ? (Object.create(runtime, stdin) as Runtime) : runtime,
      words: libraryWording,
      messages: {
        note: (text) => log('note', text),
        warn: (text) => log('warning', text),
        verbose: (text) => log('verbose', text),
        debug: () => undefined,
      },
      argv: [],
      timezone,
      // The connection stays open for the next job.
      connect: async () => ({ ...(await this.#connect()), close: () => Promise.resolve() }),
      runsFolder: () => {
        if (runsFolder === undefined) throw noPlace();
        return trustedFolder(runsFolder, runtime);
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
    const { baseUrl, accountId, passcode, timezone = 'UTC' } = this.#options;
    const { retry = {}, fetchLimits = {}, rememberMs = defaultRememberMs } = this.#options;
    refuseNonText({ accountId, passcode });
    refuseLimits(fetchLimits);
    refuseNumber('rememberMs', rememberMs, Number.MAX_SAFE_INTEGER);
    return openConnection(
      {
        baseUrl,
        accountId,
        passcode,
        zone: timeZone(timezone),
        rememberMs,
        headerPrefix: this.#options.headerPrefix ?? defaultHeaderPrefix,
        timeoutMs: fetchLimits.timeoutMs ?? 60_000,
        maxInFlight: fetchLimits.maxInFlight ?? limits.uploadsInFlight,
        policy: { maxAttempts: 8, retryForMs: 600_000, retryBaseMs: 500, ...definedOf(retry) },
        messages: { verbose: (text) => this.#log('verbose', text), debug: () => undefined },
      },
      this.#runtimeOf(new AbortController().signal),
    );
  }
}

/** Returns a `log` whose errors are ignored: they would end a run in the middle, without its figures. */
const harmless =
  (log: ConnectOptions['log']): NonNullable<ConnectOptions['log']> =>
  (kind, text) => {
    void (async () => log?.(kind, text))().catch(() => undefined);
  };

/**
 * Creates the signal of one run, whose reason is always E-INTERRUPTED. The listener is not added to the caller's signal,
 * which many runs may share, but to one derived from it, which Node keeps in memory until the listener is removed. A job
 * refuses a `signal` that is none.
 */
function ownSignal(
  callers: AbortSignal[],
): Pick<LibraryJobContext, 'release'> & { readonly signal: AbortSignal } {
  const own = new AbortController();
  setMaxListeners(0, own.signal);
  if (callers.length === 0) return { signal: own.signal, release: () => undefined };
  const derived = AbortSignal.any(callers);
  const abort = () => own.abort(callerAbort(derived.reason));
  if (derived.aborted) abort();
  else derived.addEventListener('abort', abort, { once: true });
  return { signal: own.signal, release: () => derived.removeEventListener('abort', abort) };
}

/** Returns a stream of chunks that is closed at once when it is destroyed, even while they make it wait. `stop` ends them. */
export function streamOf(chunks: AsyncIterable<Buffer>, stop: () => void): Readable {
  const stream = Readable.from(chunks);
  // oxlint-disable-next-line no-underscore-dangle -- Node's own method, which waits for the chunks
  stream._destroy = (error, done) => {
    stop();
    done(error);
  };
  return stream;
}

/** Throws E-USAGE for a chunk that is neither bytes nor text, and E-FILE-READ if the source fails. */
async function* bytesOf(source: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  let half = ''; // of a character that two texts share
  try {
    for await (const chunk of source) {
      if (typeof chunk === 'string') {
        const text = half + chunk;
        half = /[\uD800-\uDBFF]?$/.exec(text)![0];
        yield Buffer.from(text.slice(0, text.length - half.length));
      } else if (Buffer.isBuffer(chunk)) yield chunk;
      else if (chunk instanceof Uint8Array) yield Buffer.from(chunk);
      else throw noBytes(chunk);
    }
    if (half !== '') yield Buffer.from(half);
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    throw new EngagectlError('E-FILE-READ', 'the source cannot be read', {
      why: error instanceof Error ? fileErrorReason(error) : reasonText(error),
      fix: 'check what provides the records, then run again',
      cause: error,
    });
  }
}

function noBytes(chunk: unknown): EngagectlError {
  const found = typeof chunk === 'object' ? 'an object' : `a ${typeof chunk}`;
  return new EngagectlError('E-USAGE', `a chunk of the stream is ${found}, not bytes`, {
    why: 'a stream as a source contains the bytes of a file',
    fix: 'pass a stream of records as an iterable: (async function* () { yield* stream; })()',
  });
}

/** Starts a run. `work` calls `started` with a function that returns the progress. */
export function startRun<Result>(
  context: LibraryJobContext,
  work: (started: (progress: () => JobProgress) => void) => Promise<Result>,
): Run<Result> {
  let progress: (() => JobProgress) | undefined;
  const started = (read: () => JobProgress) => {
    progress = read;
  };
  return {
    result: toEngagectlError(work(started), context),
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

/** Waits for a job, then releases its context. Throws the reason of an aborted signal as an EngagectlError. */
export async function toEngagectlError<T>(
  work: Promise<T>,
  { runtime, release }: LibraryJobContext,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof EngagectlError || !runtime.signal.aborted) throw error;
    throw interruptionError(runtime.signal.reason);
  } finally {
    release();
  }
}

/** Options of `connect`, and of the objects among them. */
const optionNames = {
  connect: [
    'baseUrl',
    'accountId',
    'passcode',
    'headerPrefix',
    'timezone',
    'rememberMs',
    'retry',
    'fetchLimits',
    'stateFolder',
    'log',
  ],
  retry: ['maxAttempts', 'retryForMs', 'retryBaseMs'],
  fetchLimits: ['timeoutMs', 'maxInFlight'],
} as const;

/** Throws E-USAGE for a name that a caller without types misspells: the default would be used without a word. */
function refuseUnknownOptions(options: ConnectOptions): void {
  const { retry = {}, fetchLimits = {} } = options;
  const given = { connect: options, retry, fetchLimits };
  for (const place of ['connect', 'retry', 'fetchLimits'] as const) {
    refuseNonObject(given[place], place);
    const known: readonly string[] = optionNames[place];
    const wrong = Object.keys(given[place]).find((name) => !known.includes(name));
    if (wrong !== undefined) throw noOption(wrong, place, known);
  }
}

function refuseNonObject(value: unknown, name: string): void {
  if (typeof value === 'object' && value !== null) return;
  const found = value === null ? 'null' : typeof value;
  throw new EngagectlError('E-USAGE', `${name} must be an object, found ${found}`);
}

/** The longest timer of Node in milliseconds. A longer one, or Infinity, would end after 1 ms. */
const longestTimer = 2 ** 31 - 1;

/** Throws E-USAGE for limits with which each request would time out, or none would be sent. */
function refuseLimits(fetchLimits: object): void {
  for (const name of ['timeoutMs', 'maxInFlight']) {
    refuseNumber(`fetchLimits.${name}`, Reflect.get(fetchLimits, name) ?? 1, longestTimer);
  }
}

/** Throws E-USAGE unless the value is a number from 1 to `most`. */
function refuseNumber(name: string, value: unknown, most: number): void {
  if (typeof value === 'number' && value >= 1 && value <= most) return;
  const found = typeof value === 'number' ? String(value) : JSON.stringify(value);
  throw new EngagectlError('E-USAGE', `${name} must be a number from 1 to ${most}, found ${found}`);
}

/** Throws E-CONFIG for what a caller without types passes instead of text, such as an unset variable. */
function refuseNonText(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string') continue;
    throw new EngagectlError('E-CONFIG', `${name} must be a string, found ${typeof value}`);
  }
}

const noPlace = (): EngagectlError =>
  new EngagectlError('E-CONFIG', 'resume requires a stateFolder', {
    why: 'the journal of a run is kept in the state directory',
    fix: 'pass stateFolder to connect',
  });

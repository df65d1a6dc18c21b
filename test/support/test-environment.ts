import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises';
import { onTestFailed, onTestFinished, type TestContext } from 'vitest';
import { main } from '../../src/main.js';
import { dropEmptyVariables, type Runtime } from '../../src/runtime.js';

export interface WorldOptions {
  /** Standard input: text, bytes, or a stream of them. Empty by default. */
  readonly stdin?: string | Uint8Array | Readable;
  readonly env?: Readonly<Record<string, string>>;
  /** Which standard streams are terminals; `true` means all of them. None by default. */
  readonly tty?: boolean | { stdin?: boolean; stdout?: boolean; stderr?: boolean };
  /** Columns of the terminals. 80 by default. */
  readonly columns?: number;
  /** Aborted by the test to play Ctrl-C. */
  readonly signal?: AbortSignal;
  /** An event `ask` on it plays SIGUSR1. */
  readonly statusRequests?: EventTarget;
  /** `instant` (the default) makes back-offs and polling return at once. */
  readonly sleep?: 'instant' | 'real';
  /** Directory of the command; default: that of the world. */
  readonly cwd?: string;
  /** User id that the command sees. */
  readonly uid?: number;
  /** Wall clock, milliseconds since 1970. The machine's by default. */
  readonly now?: () => number;
  /** Monotonic clock in milliseconds. The machine's by default. */
  readonly monotonic?: () => number;
  /** The test's own context, if it runs concurrently with others of its file. */
  readonly test?: RunningTest;
}

/** Registers clean-up after a test. */
type RunningTest = Pick<TestContext, 'onTestFinished' | 'onTestFailed'>;

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface World {
  /** Fresh folders, removed when the test ends. `cwd` is where relative paths lead. */
  readonly cwd: string;
  readonly configDir: string;
  readonly stateDir: string;
  readonly test: RunningTest;
  /** A runtime of this world, with streams of its own, for tests below the command line. */
  runtime(options?: WorldOptions): Runtime & { output(): { stdout: string; stderr: string } };
  /** Runs one command line in process. `options` add to those of the world for this run. */
  run(argv: readonly string[], options?: WorldOptions): Promise<Outcome>;
  /** Absolute path of a file in `cwd`. */
  path(...parts: string[]): string;
}

/**
 * A small world of its own: temporary folders, captured streams, an environment that holds
 * nothing of the machine's. To be called inside a test or a beforeEach.
 */
export function makeWorld(defaults: WorldOptions = {}): World {
  const { test = { onTestFinished, onTestFailed } } = defaults;
  const root = mkdtempSync(path.join(tmpdir(), 'engagectl-test-'));
  test.onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const random = seededRandom(test);
  const [cwd, configDir, stateDir] = ['work', 'config', 'state'].map((name) =>
    path.join(root, name),
  ) as [string, string, string];
  mkdirSync(cwd);

  const runtime: World['runtime'] = (options = {}) => {
    const given = { ...defaults, ...options };
    const stdout = capture(given, 'stdout');
    const stderr = capture(given, 'stderr');
    return {
      stdin: inputOf(given),
      stdout: stdout.stream,
      stderr: stderr.stream,
      env: dropEmptyVariables({
        ENGAGECTL_CONFIG_DIR: configDir,
        ENGAGECTL_STATE_DIR: stateDir,
        ...defaults.env,
        ...options.env,
      }),
      cwd: given.cwd ?? cwd,
      program: 'engagectl',
      platform: process.platform,
      pid: process.pid,
      uid: given.uid ?? process.geteuid?.(),
      nodeVersion: process.versions.node,
      token: randomUUID,
      now: given.now ?? Date.now,
      monotonic: given.monotonic ?? (() => performance.now()),
      random,
      sleep: given.sleep === 'real' ? realSleep : instantSleep,
      signal: given.signal ?? new AbortController().signal,
      onStatusRequest: (show) => {
        given.statusRequests?.addEventListener('ask', show);
        return () => given.statusRequests?.removeEventListener('ask', show);
      },
      output: () => ({ stdout: stdout.text(), stderr: stderr.text() }),
    };
  };

  const run: World['run'] = async (argv, options) => {
    const world = runtime(options);
    const code = await main(argv, world);
    return { code, ...world.output() };
  };

  return {
    cwd,
    configDir,
    stateDir,
    test,
    runtime,
    run,
    path: (...parts) => path.join(cwd, ...parts),
  };
}

function inputOf({ stdin = '', tty = false }: WorldOptions): Runtime['stdin'] {
  const stream =
    stdin instanceof Readable
      ? stdin
      : Readable.from([typeof stdin === 'string' ? Buffer.from(stdin) : stdin]);
  return Object.assign(stream, { isTTY: isTerminal(tty, 'stdin') });
}

function capture({ tty = false, columns = 80 }: WorldOptions, name: 'stdout' | 'stderr') {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  const terminal = isTerminal(tty, name);
  Object.assign(stream, { isTTY: terminal }, terminal ? cursorMethods(stream, columns) : {});
  return { stream, text: () => Buffer.concat(chunks).toString('utf8') };
}

/** Members of a terminal's stream that spinners need besides `write`. */
const cursorMethods = (stream: Writable, columns: number) => ({
  columns,
  cursorTo: (x: number) => cursorTo(stream, x),
  moveCursor: (dx: number, dy: number) => moveCursor(stream, dx, dy),
  clearLine: (direction: -1 | 0 | 1) => clearLine(stream, direction),
});

const isTerminal = (
  tty: NonNullable<WorldOptions['tty']>,
  name: 'stdin' | 'stdout' | 'stderr',
): boolean => (typeof tty === 'boolean' ? tty : (tty[name] ?? false));

const realSleep: Runtime['sleep'] = async (ms, signal) => {
  await delay(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
    throw signal?.aborted ? signal.reason : error;
  });
};

const instantSleep: Runtime['sleep'] = async (_ms, signal) => {
  await nextTick();
  signal?.throwIfAborted();
};

/** Numbers in [0, 1) that a failed test can be run with again: ENGAGECTL_TEST_SEED=<seed>. */
function seededRandom({ onTestFailed: onFailed }: RunningTest): () => number {
  const seed = Number(process.env['ENGAGECTL_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  onFailed(() => void process.stderr.write(`ENGAGECTL_TEST_SEED=${seed}\n`));
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

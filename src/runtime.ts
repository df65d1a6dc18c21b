import { setMaxListeners } from 'node:events';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shellPath } from './wording.js';

/** A readable standard stream; `isTTY` if it is a terminal. */
type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean };
/** A writable standard stream; `columns` and `rows` are set for a terminal. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The outside world as an object, which tests replace. */
export interface Runtime {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Program name for suggested commands: `engagectl`, `npx engagectl`. */
  readonly program: string;
  /** Environment variables; an empty one counts as unset and is not in here. */
  readonly env: Readonly<Record<string, string>>;
  /** Directory for relative paths. */
  readonly cwd: string;
  /** Like `linux`, `darwin`, `win32`. */
  readonly platform: NodeJS.Platform;
  /** Process id. */
  readonly pid: number;
  /** User id of the process. Undefined, as on Windows: ownership is not checked. */
  readonly uid?: number | undefined;
  /** Like `20.18.1`. */
  readonly nodeVersion: string;
  /** Wall clock in epoch milliseconds, for dates only; durations use `monotonic`. */
  readonly now: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  /** Random number in [0, 1). */
  readonly random: () => number;
  /** Returns 32 unguessable and unique letters, digits, - and _, for names and secrets. */
  readonly token: () => string;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; its reason is the EngagectlError to end with. */
  readonly signal: AbortSignal;
  /** Calls `show` on each status request (SIGUSR1); returns a function that unregisters it. */
  readonly onStatusRequest: (show: () => void) => () => void;
  /** Removes typed secrets from a text; undefined if there are none. */
  readonly redact?: (text: string) => string;
  /** Unredacted standard error, for deliberately showing a secret; undefined if no secret was typed. */
  readonly unredactedStderr?: Runtime['stderr'];
  /** Receives all messages, displayed or not; undefined without `--log-file`. */
  readonly log?: (entry: LogEntry) => void;
}

/** A message. */
export interface LogEntry {
  readonly type: string;
  /** Text for people, possibly several lines. */
  readonly text: string;
  /** The message as an object; default `{ message: text }`. */
  readonly about?: object;
}

/**
 * The real runtime. Standard streams are opened on first use, and the clock is not that of
 * `performance`, which Node loads on first use: a millisecond each. The caller owns the signal handlers.
 */
export function nodeRuntime(
  signal: AbortSignal,
  onStatusRequest: Runtime['onStatusRequest'] = () => () => undefined,
): Runtime {
  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    get program() {
      return programOf(process.argv[1] ?? '', process.env['npm_command']);
    },
    env: dropEmptyVariables(process.env),
    cwd: process.cwd(),
    platform: process.platform,
    pid: process.pid,
    uid: process.geteuid?.(),
    nodeVersion: process.versions.node,
    now: Date.now,
    monotonic: () => Number(process.hrtime.bigint()) / 1e6,
    random: Math.random,
    token: () => Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url'),
    sleep: async (ms, abort) => {
      if (abort) setMaxListeners(0, abort); // each wait listens to the abort signal
      try {
        await delay(ms, undefined, abort ? { signal: abort } : {});
      } catch (error) {
        throw abort?.aborted ? abort.reason : error;
      }
    },
    signal,
    onStatusRequest,
  };
}

/**
 * Returns the runtime of a command in another directory. Its lines to paste change to that directory first: the same
 * relative path may be another file where they are pasted.
 */
export function inDirectory(runtime: Runtime, cwd: string): Runtime {
  if (cwd === runtime.cwd) return runtime;
  const program = runtime.program.startsWith('node ')
    ? `node ${shellPath(process.argv[1] ?? '')}`
    : runtime.program;
  return { ...runtime, cwd, program: `cd ${shellPath(cwd)} && ${program}` };
}

function programOf(script: string, npmCommand: string | undefined): string {
  if (npmCommand === 'exec') return 'npx engagectl';
  // On Windows, and with pnpm, a script found by its name calls it there.
  if (/[\\/]node_modules[\\/]engagectl[\\/]bin[\\/]/.test(script)) return 'engagectl';
  return script.endsWith('.js')
    ? `node ${shellPath(relative(process.cwd(), script))}`
    : 'engagectl';
}

/** Drops unset and empty variables: `X= engagectl …` equals not setting X. */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const set = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(set);
}

import { setMaxListeners } from 'node:events';
import { relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shellPath } from './wording.js';

/** A readable standard stream, and whether a person sits at it. */
type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean };
/** A writable standard stream; `columns` and `rows` are set when it is a terminal. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The outside world as one value, so that tests can hand in another. */
export interface Runtime {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** How this program was called, as a shell takes it: `engagectl`, `npx engagectl`. */
  readonly program: string;
  /** Environment variables; an empty one counts as unset and is not in here. */
  readonly env: Readonly<Record<string, string>>;
  /** Folder against which relative paths are resolved. */
  readonly cwd: string;
  /** Like `linux`, `darwin`, `win32`. */
  readonly platform: NodeJS.Platform;
  /** Id of the user that the process runs as. Undefined, as on Windows: nobody's files are refused. */
  readonly uid?: number | undefined;
  /** Like `20.18.1`. */
  readonly nodeVersion: string;
  /** Wall clock, milliseconds since 1970. For dates only: durations use `monotonic`. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** In [0, 1). */
  readonly random: () => number;
  /** 32 letters, digits, - and _, which nobody can guess and nothing else has: for names and secrets. */
  readonly token: () => string;
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP; its reason is the EngagectlError to end with. */
  readonly signal: AbortSignal;
  /** Has `show` called whenever the user asks by SIGUSR1 how far it is; returns what ends that. */
  readonly onStatusRequest: (show: () => void) => () => void;
  /** Takes secrets that were typed out of a text; undefined where none was. */
  readonly redact?: (text: string) => string;
  /** Standard error as it is, for what shows a secret on purpose; undefined where none was typed. */
  readonly unredactedStderr?: Runtime['stderr'];
  /** Gets what is told, whether it is shown or not; undefined without `--log-file`. */
  readonly log?: (entry: LogEntry) => void;
}

/** What is told at a time. */
export interface LogEntry {
  readonly type: string;
  /** For people; of several lines perhaps. */
  readonly text: string;
  /** The same as an object; `{ message: text }` by default. */
  readonly about?: object;
}

/**
 * The real world. A standard stream is opened when it is asked for, and the clock is not that of
 * `performance`, which Node loads at its first use: a millisecond each. Its signals come
 * from the shim that owns the process's signal handlers.
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
    uid: process.geteuid?.(),
    nodeVersion: process.versions.node,
    now: Date.now,
    monotonic: () => Number(process.hrtime.bigint()) / 1e6,
    random: Math.random,
    token: () => Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url'),
    sleep: async (ms, abort) => {
      if (abort) setMaxListeners(0, abort); // each wait listens to what stops the run
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

function programOf(script: string, npmCommand: string | undefined): string {
  if (npmCommand === 'exec') return 'npx engagectl';
  // On Windows, and of pnpm, a script calls it there that is found by its name.
  if (/[\\/]node_modules[\\/]engagectl[\\/]bin[\\/]/.test(script)) return 'engagectl';
  return script.endsWith('.js')
    ? `node ${shellPath(relative(process.cwd(), script))}`
    : 'engagectl';
}

/** Drops unset and empty variables: `X= engagectl …` is the same as not setting X. */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const set = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return Object.fromEntries(set);
}

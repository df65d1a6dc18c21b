import { shellPath } from '../../wording.js';
import { EngagectlError } from '../../errors.js';
import { localDataDirectory } from '../../config/local-account.js';
import { limits } from '../../contract/limits.js';
import type {
  RunningService,
  SeedError,
  ServiceOptions,
  CallOptions,
} from '../../service/start.js';
import type { Account } from '../../config/account.js';
import type { Runtime } from '../../runtime.js';
import type { Messages } from '../../ui/messages.js';

/**
 * Starts the embedded service, loading its modules on demand. `otherRouter` is the address of a process
 * that already routes calls. Throws E-USAGE if the port is unavailable, E-FILE-WRITE if the store cannot
 * be opened.
 */
export async function startServiceOrExplain(
  options: ServiceOptions,
  otherRouter?: string,
): Promise<RunningService> {
  const service = await import('../../service/start.js').catch((cause: unknown) => {
    throw isMissing(cause) ? storeNotInstalled(cause) : cause;
  });
  try {
    return await service.startService(options);
  } catch (error) {
    const { code = '', syscall, message } = error as NodeJS.ErrnoException;
    if (error instanceof service.SeedError) throw seedRefused(error);
    if (syscall === 'listen' || syscall === 'getaddrinfo')
      throw portRefused(options, code, otherRouter);
    if (options.dataDir === undefined || !/^(SQLITE_|E[A-Z]+$)/.test(code)) throw error;
    const folder = shellPath(options.dataDir);
    const other = 'take another one: ENGAGECTL_STATE_DIR, serve --data <dir>';
    throw new EngagectlError('E-FILE-WRITE', `${options.dataDir}: the store cannot be opened`, {
      why: message,
      fix: /^(EFORMAT|SQLITE_(NOTADB|CORRUPT))/.test(code)
        ? `begin with an empty one: mv ${folder} ${shellPath(`${options.dataDir}.old`)}; or ${other}`
        : `check the folder and its disk, or ${other}`,
      file: options.dataDir,
      cause: error,
    });
  }
}

function portRefused(
  { port, host }: ServiceOptions,
  code: string,
  otherRouter: string | undefined,
): EngagectlError {
  const where = host === undefined ? `port ${port}` : `port ${port} of ${host}`;
  const what = `${where} cannot be listened on (${code})`;
  if (/^(EADDRNOTAVAIL|ENOTFOUND|EAI_AGAIN)$/.test(code))
    return new EngagectlError('E-USAGE', what, {
      why: 'this machine has no such address',
      fix: 'leave out --host for this machine alone; --host 0.0.0.0 takes all of its addresses',
    });
  if (code === 'EADDRINUSE' && otherRouter && Number(new URL(otherRouter).port) === port)
    return new EngagectlError('E-USAGE', what, {
      why: 'another engagectl with the same data listens on it: a serve, or a phone (call listen, place, run) that routes the calls since a serve was killed',
      fix: 'end that command, then start this one; or choose another with --port <n>',
    });
  return new EngagectlError('E-USAGE', what, {
    why: code === 'EADDRINUSE' ? 'another program listens on it' : 'this user may not use it',
    fix: 'choose another with --port <n>; --port 0 takes any free one',
  });
}

/** Converts an error of the seed: it is invalid, or cannot be read. */
function seedRefused(error: SeedError): EngagectlError {
  const { code } = (error.cause ?? {}) as NodeJS.ErrnoException;
  return new EngagectlError(code === undefined ? 'E-FORMAT' : 'E-FILE-READ', error.message, {
    why: code ?? 'a seed contains upload records, or exported profiles and events',
    fix: `${code === undefined ? 'correct the file' : 'check its path and who may read it'}; nothing of it was kept`,
    ...(error.file === undefined ? {} : { file: error.file, line: error.line }),
    cause: error,
  });
}

const isMissing = (error: unknown): error is Error =>
  error instanceof Error && /^Cannot find (?:module|package) '@?libsql\b/.test(error.message);

/**
 * Builds the error for a missing native part of the store, a package per platform that an installation
 * can omit.
 */
const storeNotInstalled = (cause: Error): EngagectlError =>
  new EngagectlError(
    'E-USAGE',
    'a part of engagectl is not installed: the local service has no store',
    {
      why: cause.message.split('\n')[0],
      fix: 'install engagectl again, without --omit=optional; accounts can be used without it',
      cause,
    },
  );

interface Local {
  readonly runtime: Runtime;
  readonly messages: Messages;
  /** Default: any free port. */
  readonly port?: number;
  /** Undefined: without calling. */
  readonly calls?: CallOptions;
}

/**
 * Starts the service of `--region local` in this process. Its data is in the state directory, shared
 * with `serve` and other commands at the same time.
 */
export async function startLocalService(
  { headerPrefix, accountId, passcode, timezone }: Account,
  { runtime, messages, port = 0, calls }: Local,
): Promise<RunningService> {
  return startServiceOrExplain({
    dataDir: localDataDirectory(runtime),
    port,
    headerPrefixes: [headerPrefix],
    accountId,
    passcode,
    timezone,
    latencyMs: 0,
    pendingPolls: 0,
    failRate: 0,
    maxConcurrent: { upload: limits.uploadsInFlight, other: limits.othersInFlight },
    variants: {},
    calls,
    keptBodyText: 0, // the request log is never read here
    random: runtime.random,
    now: runtime.now,
    onDefect: warnOfDefects(messages),
  });
}

/** Returns the handler of unexpected errors of a service, which warns of each and names a full disk. */
export const warnOfDefects = (messages: Messages) => (error: unknown) =>
  messages.warn(
    (error as Partial<NodeJS.ErrnoException>).code === 'SQLITE_FULL'
      ? 'the disk of the local service is full: what did not fit was not stored'
      : `internal error of the local service: ${String(error)}`,
  );

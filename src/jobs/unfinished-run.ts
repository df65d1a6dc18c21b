import path from 'node:path';
import { listRuns, removeRun, runKey, type RunFolder, type RunHeader } from './run-folder.js';
import type { Account } from '../config/account.js';
import { stateFolder } from '../config/folders.js';
import { localRegion } from '../config/saved-account.js';
import { EngagectlError } from '../errors.js';
import type { Runtime } from '../runtime.js';

export const runsFolder = (runtime: Runtime): string => path.join(stateFolder(runtime), 'runs');

/** False where this user has no home folder, and no variable names another place. */
export function hasPlaceForRuns(runtime: Runtime): boolean {
  try {
    return runsFolder(runtime) !== '';
  } catch (error) {
    if (error instanceof EngagectlError) return false;
    throw error;
  }
}

/** The host that a run belongs to; the embedded service has another port every time. */
export const hostOf = ({ region, baseUrl }: Account): string =>
  region === localRegion ? localRegion : new URL(baseUrl).host;

type Wanted = Pick<RunHeader, 'command' | 'accountId' | 'host' | 'files' | 'options'> & {
  readonly flags: {
    readonly resume?: boolean;
    readonly fresh?: boolean;
    /** Set by `runs resume`: the run that is meant, and no other. */
    readonly run?: string;
  };
};

/**
 * The unfinished run to go on with; undefined when there is none, or when `--fresh` removed it.
 * To be called while holding the run's lock. Throws E-RUN-UNFINISHED and E-RUN-CHANGED.
 */
export function unfinishedRun(root: string, wanted: Wanted): RunFolder | undefined {
  const key = runKey(wanted);
  const runs = listRuns(root);
  const found = runs.find(({ header }) => header.key === key);
  const { run: meant } = wanted.flags;
  if (meant !== undefined && found?.header.run !== meant) throw otherRun(meant, runs);
  if (!found) return undefined;
  if (wanted.flags.fresh === true) {
    removeRun(found);
    return undefined;
  }
  const { run, started, options } = found.header;
  if (wanted.flags.resume !== true) {
    throw new EngagectlError('E-RUN-UNFINISHED', `run ${run} of this command is not finished`, {
      why: `it was begun at ${started}; starting anew would send what was sent already`,
      fix: 'go on with it by --resume, or forget it and start anew by --fresh',
      file: found.path,
    });
  }
  if (options === wanted.options) return found;
  throw new EngagectlError('E-RUN-CHANGED', `run ${run} was begun with other options`, {
    why: 'some of them change what is sent, so its parts would not fit together',
    fix: `engagectl runs resume ${run} goes on with its own options; --fresh starts anew`,
    file: found.path,
  });
}

/**
 * Said where a run's end cannot be noted. Its summary has told the exit code by then, which holds:
 * what is settled is on the disk, and a resume sends none of it again.
 */
export function notForgotten({ header: { run } }: RunFolder, cause: unknown): string {
  const { message } = cause as Error;
  const why = cause instanceof EngagectlError ? `: ${cause.details.why}` : '';
  return `${message}${why}; engagectl runs resume ${run} finds what is left to do, if anything`;
}

/** `runs resume` must not begin another run because the environment names another account now. */
function otherRun(meant: string, runs: readonly RunFolder[]): EngagectlError {
  const header = runs.find(({ header }) => header.run === meant)?.header;
  const where = header && `account ${header.accountId} at ${header.host}`;
  return new EngagectlError('E-RUN-CHANGED', `run ${meant} belongs to ${where ?? 'nobody'}`, {
    why: 'flags, environment or config profile name another account or region now',
    fix: 'go on with the same ones as when it was begun',
  });
}

import path from 'node:path';
import { Journal, readJournal } from '../../bulk/journal/journal.js';
import { EngagectlError } from '../../errors.js';
import { trustedFolder } from '../../files/ownership.js';
import { isLocked, lockRunWithin, type FileLock } from '../../files/file-lock.js';
import {
  createRun,
  journalPath,
  listRuns,
  lockPath,
  makeStateFolder,
  removeRun,
  runKey,
  type RunPlace,
} from './run-folder.js';
import { isLeased, newRunId, type JobContext } from '../job-context.js';
import { matchesRun, findUnfinishedRun, type RunQuery } from './resume.js';
import type { JournalEntry, KnownKinds, ParsedJournal } from '../../bulk/journal/journal-format.js';

/** A run that this process holds. */
export interface OpenRun<Entry extends JournalEntry> {
  readonly id: string;
  /** State on disk; undefined if the run keeps none and cannot be resumed. */
  readonly kept: KeptRun<Entry> | undefined;
  /**
   * Releases the run, and removes its folder unless `keep`. A failure becomes a warning. `removed` is called when the
   * run cannot be resumed any more, and is still locked.
   */
  close(options: { readonly keep: boolean; readonly removed?: () => void }): void;
}

interface KeptRun<Entry extends JournalEntry> {
  readonly folder: RunPlace;
  readonly journal: Journal<Entry>;
  /** Entries of earlier processes; empty in a new run. */
  readonly entries: readonly Entry[];
  /** An earlier process started the run. */
  readonly resumed: boolean;
  /** Reads the current journal. Throws E-JOURNAL. */
  read(): readonly Entry[];
}

/** Returns the folder of runs; undefined if there is none. */
export function runsFolder(context: JobContext): string | undefined {
  try {
    return context.runsFolder();
  } catch (error) {
    if (isNoPlace(error)) return undefined;
    throw error;
  }
}

/** Creates a run without a journal. */
export const unjournaledRun = ({ runtime }: Pick<JobContext, 'runtime'>): OpenRun<never> => ({
  id: newRunId(runtime),
  kept: undefined,
  close: ({ keep, removed }) => {
    if (!keep) removed?.();
  },
});

/**
 * Opens the unfinished run to resume, or creates a new one. If no state can be kept, an export runs
 * without it and a write fails. Throws E-RUN-UNFINISHED, E-RUN-LOCKED, E-RUN-CHANGED,
 * E-RUN-VERSION, E-JOURNAL, E-FILE-WRITE.
 */
export async function openRun<Entry extends JournalEntry>(
  query: RunQuery,
  kinds: KnownKinds<Entry>,
  context: JobContext,
): Promise<OpenRun<Entry>> {
  try {
    return await openKept(query, kinds, context);
  } catch (error) {
    if (!query.exports || !isNoPlace(error)) throw error;
    context.messages.warn(`${error.message}; this export cannot be resumed`);
    return unjournaledRun(context);
  }
}

async function openKept<Entry extends JournalEntry>(
  query: RunQuery,
  kinds: KnownKinds<Entry>,
  context: JobContext,
): Promise<OpenRun<Entry>> {
  const root = context.runsFolder();
  const id = context.ports?.leasedRun ?? newRunId(context.runtime);
  const folder = path.join(root, id);
  const make = { what: `create the run folder ${folder}`, file: folder, context };
  await inPlace(make, () => makeStateFolder(root));
  trustedFolder(root, context.runtime); // another user may have created it first
  const lock = await lockOn(root, query, context);
  try {
    const found = findUnfinishedRun(root, query, context);
    const made = found
      ? undefined
      : await inPlace(make, () => createRun(root, header(id, query, context)));
    const {
      path: place,
      header: { run, key, argv, retryUnknown = argv.includes('--retry-unknown') },
    } = found ?? made!; // an earlier version did not write retryUnknown
    return openFolder({ path: place, header: { run, key, retryUnknown } }, kinds, {
      lock,
      made: made?.journal,
      context,
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openFolder<Entry extends JournalEntry>(
  folder: RunPlace,
  kinds: KnownKinds<Entry>,
  { lock, made, context }: { lock: FileLock; made: ParsedJournal | undefined; context: JobContext },
): OpenRun<Entry> {
  const file = journalPath(folder);
  const { journal, entries } = Journal.open(file, kinds, context.words.option, made);
  const resumed = made === undefined;
  return {
    id: folder.header.run,
    kept: { folder, journal, entries, resumed, read: () => readJournal(file, kinds) },
    close: ({ keep, removed }) => {
      try {
        journal.close();
        if (keep) return;
        removeRun(folder, context.words);
        removed?.();
      } catch (error) {
        context.messages.warn(notForgotten(folder, error as Error, context));
      } finally {
        lock.release();
      }
    },
  };
}

/**
 * Refuses a run without a journal if the same job has an unfinished run, whose work it would repeat.
 * Throws E-RUN-UNFINISHED, E-RUN-LOCKED, E-RUN-VERSION, E-FILE-WRITE.
 */
export async function refuseUnfinished(query: RunQuery, context: JobContext): Promise<void> {
  const root = runsFolder(context);
  if (root === undefined) return;
  // Lock only if there is a run: the disk may not support locks.
  const isThere = listRuns(root, context.runtime).some(({ header }) => matchesRun(header, query));
  const lock = isThere ? await lockOn(root, query, context) : undefined;
  try {
    findUnfinishedRun(root, query, context);
  } finally {
    lock?.release();
  }
}

const header = (run: string, query: RunQuery, { argv, runtime }: JobContext) => ({
  version: 2 as const,
  run,
  key: runKey(query),
  command: query.command,
  accountId: query.accountId,
  host: query.host,
  files: query.files,
  argv,
  cwd: runtime.cwd,
  started: new Date(runtime.now()).toISOString(),
  options: query.options,
  ...(query.shard !== undefined && { shard: query.shard }),
  ...(query.timezone !== undefined && { timezone: query.timezone }),
  ...(query.retryUnknown === true && { retryUnknown: true }),
});

/** Run state cannot be kept: no home, permission, space or lock support. */
class NoPlace extends EngagectlError {}

const isNoPlace = (error: unknown): error is EngagectlError =>
  error instanceof NoPlace || (error instanceof EngagectlError && error.id === 'E-CONFIG');

async function lockOn(root: string, query: RunQuery, context: JobContext): Promise<FileLock> {
  if (isLeased(context)) return { release: () => undefined };
  const file = lockPath(root, runKey(query));
  return inPlace({ what: `lock the run with ${file}`, file, context }, () =>
    lockOrWait(file, query, context),
  );
}

/** Pause between attempts to lock a run, which is held for as long as the run takes. */
const lockPauseMs = 500;

/** Locks a file of the state directory; waits for another process as long as the options say. Throws E-RUN-LOCKED. */
export async function lockOrWait(
  file: string,
  { waitLock = 0 }: Pick<RunQuery, 'waitLock'>,
  { runtime, messages, words }: Pick<JobContext, 'runtime' | 'messages' | 'words'>,
): Promise<FileLock> {
  try {
    return await lockRunWithin(file, {
      owner: { pid: runtime.pid, since: runtime.now() },
      waitMs: waitLock,
      pauseMs: lockPauseMs,
      sleep: async (milliseconds) => runtime.sleep(milliseconds, runtime.signal),
      waiting: ({ message, details }) =>
        messages.note(`${message}: ${details.why}; waiting for it`),
    });
  } catch (error) {
    if (!isLocked(error)) throw error;
    const fix = `wait until it is done; ${words.option('waitLock', '10m')} does that`;
    throw new EngagectlError(error.id, error.message, { ...error.details, fix });
  }
}

async function inPlace<T>(
  {
    what,
    file,
    context,
  }: { readonly what: string; readonly file: string; readonly context: JobContext },
  work: () => T | Promise<T>,
): Promise<T> {
  const { stateFolder, option } = context.words;
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EngagectlError) throw cause;
    throw new NoPlace('E-FILE-WRITE', `cannot ${what}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `free space or make the state directory writable, set another one with ${stateFolder}, or run without a journal: ${option('noJournal')}`,
      file,
      cause,
    });
  }
}

/**
 * Warning for a run whose folder cannot be removed after its summary. The exit code holds: all
 * outcomes are on disk, and resuming sends none of them again.
 */
function notForgotten({ header: { run } }: RunPlace, cause: Error, { words }: JobContext): string {
  const why = cause instanceof EngagectlError ? `: ${cause.details.why}` : '';
  return `${cause.message}${why}; ${words.resumeRun(run)} finishes what is left, if anything`;
}

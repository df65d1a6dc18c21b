import path from 'node:path';
import { Journal, readJournal } from '../../bulk/journal/journal.js';
import { EngagectlError } from '../../errors.js';
import { trustedFolder } from '../../files/ownership.js';
import { lockRun, type FileLock } from '../../files/file-lock.js';
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
import { newRunId, type JobContext } from '../job-context.js';
import { matchesRun, findUnfinishedRun, type RunQuery } from './resume.js';
import type { JournalEntry, KnownKinds, ParsedJournal } from '../../bulk/journal/journal-format.js';

/** A run that nobody else is at work on. */
export interface OpenRun<Entry extends JournalEntry> {
  readonly id: string;
  /** Undefined: nothing is kept, so that it cannot be resumed. */
  readonly kept: KeptRun<Entry> | undefined;
  /**
   * Lets go of the run, and removes its folder unless it is to be gone on with. That this fails is
   * a warning.
   */
  close(options: { readonly keep: boolean }): void;
}

interface KeptRun<Entry extends JournalEntry> {
  readonly folder: RunPlace;
  readonly journal: Journal<Entry>;
  /** Of earlier processes; empty in a new run. */
  readonly entries: readonly Entry[];
  /** Whether an earlier process began it. */
  readonly resumed: boolean;
  /** What the journal holds by now. Throws E-JOURNAL. */
  read(): readonly Entry[];
}

/** The folder that holds the runs; undefined where there is no place for it. */
export function runsFolder(world: JobContext): string | undefined {
  try {
    return world.runsFolder();
  } catch (error) {
    if (isNoPlace(error)) return undefined;
    throw error;
  }
}

/** A run of which nothing is kept. */
export const unjournaledRun = ({ runtime }: Pick<JobContext, 'runtime'>): OpenRun<never> => ({
  id: newRunId(runtime),
  kept: undefined,
  close: () => undefined,
});

/**
 * Finds the unfinished run that is to be gone on with, or begins a new one. Where there is no place
 * to keep it an export is done all the same, and a write is not. Throws E-RUN-UNFINISHED,
 * E-RUN-LOCKED, E-RUN-CHANGED, E-RUN-VERSION, E-JOURNAL, E-FILE-WRITE.
 */
export async function openRun<Entry extends JournalEntry>(
  wanted: RunQuery,
  kinds: KnownKinds<Entry>,
  world: JobContext,
): Promise<OpenRun<Entry>> {
  try {
    return await openKept(wanted, kinds, world);
  } catch (error) {
    if (!wanted.exports || !isNoPlace(error)) throw error;
    world.said.warn(`${error.message}; this export cannot be resumed`);
    return unjournaledRun(world);
  }
}

async function openKept<Entry extends JournalEntry>(
  wanted: RunQuery,
  kinds: KnownKinds<Entry>,
  world: JobContext,
): Promise<OpenRun<Entry>> {
  const root = world.runsFolder();
  const id = world.ports?.leasedRun ?? newRunId(world.runtime);
  const folder = path.join(root, id);
  const make = { what: `make the run folder ${folder}`, file: folder, world };
  await inPlace(make, () => makeStateFolder(root));
  trustedFolder(root, world.runtime); // somebody else may have been quicker to make it
  const lock = await lockOn(root, wanted, world);
  try {
    const found = findUnfinishedRun(root, wanted, world);
    const made = found
      ? undefined
      : await inPlace(make, () => createRun(root, header(id, wanted, world)));
    const {
      path: place,
      header: { run, key },
    } = found ?? made!;
    return openFolder({ path: place, header: { run, key } }, kinds, {
      lock,
      made: made?.journal,
      world,
    });
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openFolder<Entry extends JournalEntry>(
  folder: RunPlace,
  kinds: KnownKinds<Entry>,
  { lock, made, world }: { lock: FileLock; made: ParsedJournal | undefined; world: JobContext },
): OpenRun<Entry> {
  const file = journalPath(folder);
  const { journal, entries } = Journal.open(file, kinds, world.words.option, made);
  const resumed = made === undefined;
  return {
    id: folder.header.run,
    kept: { folder, journal, entries, resumed, read: () => readJournal(file, kinds) },
    close: ({ keep }) => {
      try {
        journal.close();
        if (!keep) removeRun(folder, world.words);
      } catch (error) {
        world.said.warn(notForgotten(folder, error as Error, world));
      } finally {
        lock.release();
      }
    },
  };
}

/**
 * For a run that keeps nothing, which must not do again in silence what an unfinished one did.
 * Throws E-RUN-UNFINISHED, E-RUN-LOCKED, E-RUN-VERSION, E-FILE-WRITE.
 */
export async function refuseUnfinished(wanted: RunQuery, world: JobContext): Promise<void> {
  const root = runsFolder(world);
  if (root === undefined) return;
  // Without one there is nothing to lock, nor perhaps a disk that could.
  const isThere = listRuns(root, world.runtime).some(({ header }) => matchesRun(header, wanted));
  const lock = isThere ? await lockOn(root, wanted, world) : undefined;
  try {
    findUnfinishedRun(root, wanted, world);
  } finally {
    lock?.release();
  }
}

const header = (run: string, wanted: RunQuery, { argv, runtime }: JobContext) => ({
  version: 2 as const,
  run,
  key: runKey(wanted),
  command: wanted.command,
  accountId: wanted.accountId,
  host: wanted.host,
  files: wanted.files,
  argv,
  cwd: runtime.cwd,
  started: new Date(runtime.now()).toISOString(),
  options: wanted.options,
  ...(wanted.shard !== undefined && { shard: wanted.shard }),
});

/** Runs cannot be kept here: no home, no rights, no room, no locks. */
class NoPlace extends EngagectlError {}

const isNoPlace = (error: unknown): error is EngagectlError =>
  error instanceof NoPlace || (error instanceof EngagectlError && error.id === 'E-CONFIG');

async function lockOn(root: string, wanted: RunQuery, world: JobContext): Promise<FileLock> {
  if (world.ports?.leasedRun !== undefined) return { release: () => undefined };
  const file = lockPath(root, runKey(wanted));
  return inPlace({ what: `lock the run by ${file}`, file, world }, () => lockRun(file));
}

async function inPlace<T>(
  {
    what,
    file,
    world,
  }: { readonly what: string; readonly file: string; readonly world: JobContext },
  work: () => T | Promise<T>,
): Promise<T> {
  const { stateFolder, option } = world.words;
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof EngagectlError) throw cause;
    throw new NoPlace('E-FILE-WRITE', `cannot ${what}`, {
      why: cause instanceof Error ? cause.message : String(cause),
      fix: `make the state folder writable, name another in ${stateFolder}, or do without: ${option('noJournal')}`,
      file,
      cause,
    });
  }
}

/**
 * Said where a run's end cannot be noted. Its summary has told the exit code by then, which holds:
 * what is settled is on the disk, and a resume sends none of it again.
 */
function notForgotten({ header: { run } }: RunPlace, cause: Error, { words }: JobContext): string {
  const why = cause instanceof EngagectlError ? `: ${cause.details.why}` : '';
  return `${cause.message}${why}; ${words.goOn(run)} finds what is left to do, if anything`;
}

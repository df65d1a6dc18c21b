import path from 'node:path';
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { EngagectlError } from '../errors.js';

const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;

/** Held until `release`, or until the process ends in any way. */
export interface FileLock {
  release(): void;
}

/** The process that holds a lock, for messages only: the kernel decides who holds it. */
interface LockOwner {
  readonly pid: number;
  /** Time of the lock, in epoch milliseconds. */
  readonly since: number;
}

/**
 * Locks a run exclusively, across processes, containers and parts of a program. SQLite takes the lock,
 * and the kernel keeps it on the file: no pid that could be reused, no stale lock after a crash. The
 * E-RUN-LOCKED of another process names the `owner`, if there is one. Throws E-RUN-LOCKED; E-FILE-WRITE if
 * the name is a symbolic link, which SQLite would follow; or the error that prevents any lock.
 */
export async function lockRun(file: string, owner?: LockOwner): Promise<FileLock> {
  const { default: Database } = await import('libsql').catch((cause: unknown) => {
    throw notInstalled(cause);
  });
  for (;;) {
    create(file);
    const before = identityOf(file);
    const journal = foreignJournal(file);
    if (journal) throw planted(journal);
    const database = new Database(file);
    try {
      // No rollback journal, because nothing is ever rolled back.
      database.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE');
    } catch (error) {
      database.close();
      if (isBusy(error)) throw locked(ownerOf(file));
      throw codeOf(error) === 'SQLITE_NOTADB' ? damaged(file) : error;
    }
    if (before !== undefined && identityNow(file, database) === before) {
      if (owner) recordOwner(file, owner);
      return { release: () => release(file, database) };
    }
    // The previous owner removed the file meanwhile, so nobody else would find this lock.
    database.close();
  }
}

/** As `lockRun`, but undefined if it is held elsewhere. */
export async function tryLockRun(file: string): Promise<FileLock | undefined> {
  try {
    return await lockRun(file);
  } catch (error) {
    if (isLocked(error)) return undefined;
    throw error;
  }
}

interface WaitOptions {
  readonly owner?: LockOwner;
  /** Maximum time to wait for another process, and the pause between attempts, in milliseconds. */
  readonly waitMs: number;
  readonly pauseMs: number;
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Called with the error of the first attempt, if the lock is held elsewhere. */
  readonly waiting?: (error: EngagectlError) => void;
}

/** As `lockRun`, but waits up to `waitMs` until the process that holds the lock has released it. */
export async function lockRunWithin(
  file: string,
  { owner, waitMs, pauseMs, sleep, waiting }: WaitOptions,
): Promise<FileLock> {
  for (let waited = 0; ;) {
    try {
      return await lockRun(file, owner);
    } catch (error) {
      if (!isLocked(error) || waited >= waitMs) throw error;
      if (waited === 0) waiting?.(error);
    }
    const pause = Math.min(pauseMs, waitMs - waited);
    await sleep(pause);
    waited += pause;
  }
}

/** As `lockRun`, but waits up to a minute for a lock that other processes hold only for moments. */
export const waitForLock = async (
  file: string,
  sleep: (milliseconds: number) => Promise<void>,
): Promise<FileLock> => lockRunWithin(file, { waitMs: 60_000, pauseMs: 50, sleep });

/** Whether an error says that another process holds a lock. */
export const isLocked = (error: unknown): error is EngagectlError =>
  error instanceof EngagectlError && error.id === 'E-RUN-LOCKED';

const ownerPath = (file: string): string => `${file}.owner`;

/** Records the owner beside the lock. Without it, the error of another process says less. */
function recordOwner(file: string, { pid, since }: LockOwner): void {
  const record = ownerPath(file);
  try {
    rmSync(record, { force: true });
    const text = JSON.stringify({ pid, since: new Date(since).toISOString() });
    writeFileSync(record, `${text}\n`, { flag: 'wx', mode: 0o600 });
  } catch {
    // the disk is full, for example
  }
}

/** Describes the process that holds a lock; undefined if it is not recorded. */
function ownerOf(file: string): string | undefined {
  try {
    const { pid, since } = JSON.parse(readFileSync(ownerPath(file), 'utf8')) as Partial<
      Record<string, unknown>
    >;
    const second = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?=\.\d{3}Z$)/.exec(String(since))?.[0];
    if (!Number.isSafeInteger(pid) || second === undefined) return undefined;
    return `process ${Number(pid)} has been working on it since ${second}Z`;
  } catch {
    return undefined;
  }
}

/**
 * Returns the rollback journal beside a database if it ends with the name of a further file, which SQLite would remove;
 * undefined if it does not. Those that SQLite writes for one database have no such name.
 */
export function foreignJournal(database: string): string | undefined {
  const journal = `${database}-journal`;
  const found = lstatSync(journal, { throwIfNoEntry: false });
  if (!found) return undefined;
  if (!found.isFile()) return journal;
  const descriptor = openSync(journal, O_RDONLY | O_NONBLOCK | (O_NOFOLLOW ?? 0));
  try {
    const end = Buffer.alloc(endOfName.length);
    readSync(descriptor, end, 0, end.length, Math.max(0, found.size - end.length));
    return end.equals(endOfName) ? journal : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/** Last bytes of a rollback journal with the name of a further file (SQLite file format, section 3). */
const endOfName = Buffer.from('d9d505f920a163d7', 'hex');

/** Never opens an existing file: closing it would release a lock that this process may have on it. */
function create(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * Distinguishes a file from an earlier one with the same name or inode number. Throws E-FILE-WRITE for a
 * link.
 */
function identityOf(file: string): string | undefined {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) throw linked(file);
  return found && `${found.dev} ${found.ino} ${found.birthtimeNs}`;
}

/** As `identityOf`, for a file whose database is open; closes it on an error. */
function identityNow(file: string, database: { close(): unknown }): string | undefined {
  try {
    return identityOf(file);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Removes the files of the lock while it is held. If they cannot be removed, they are reused. */
function release(file: string, database: { close(): unknown }): void {
  try {
    rmSync(ownerPath(file), { force: true });
    rmSync(file, { force: true });
  } catch {
    // reuse them
  } finally {
    database.close();
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const isBusy = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_BUSY');

/** The lock file is empty unless something else wrote to it. */
const damaged = (file: string): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `the lock of the run is damaged: ${file}`, {
    why: 'a program other than engagectl wrote to the file, so it cannot serve as a lock',
    fix: 'make sure that no process works on the run, then remove it',
    file,
  });

const linked = (file: string): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `the lock file ${file} is a symbolic link`, {
    why: 'engagectl creates regular lock files only, so something else created the link',
    fix: 'find out who created it, then remove it',
    file,
  });

const planted = (journal: string): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${journal} names another file, which would be removed`, {
    why: 'engagectl writes no such journals, so something else created it',
    fix: 'find out who created it, then remove it',
    file: journal,
  });

const locked = (owner: string | undefined): EngagectlError =>
  new EngagectlError('E-RUN-LOCKED', 'another process is working on this run', {
    why: owner ?? 'its process id is not recorded',
    fix: 'wait until it is done',
  });

/** The native part is a package per platform, which an installation can omit. */
const notInstalled = (cause: unknown): EngagectlError =>
  new EngagectlError('E-USAGE', 'a run cannot be locked: a part of engagectl is not installed', {
    why: (cause as Error).message.split('\n')[0],
    fix: 'install engagectl again, without --omit=optional; or keep nothing to resume from: --no-journal',
    cause,
  });

interface SqliteVersion {
  /** Version of the installed package; null if it is missing. */
  readonly libsql: string | null;
  readonly sqlite: string | null;
}

/** Version of the SQLite that locks runs and stores the local service's data; null if it is not installed. */
export async function sqliteVersion(): Promise<SqliteVersion> {
  try {
    const entry = createRequire(import.meta.url).resolve('libsql');
    const manifest = readFileSync(path.join(path.dirname(entry), 'package.json'), 'utf8');
    const { version: libsql } = JSON.parse(manifest) as { version: string };
    const { default: Database } = await import('libsql');
    const database = new Database(':memory:');
    const row = database.prepare('SELECT sqlite_version() AS sqlite').get();
    database.close();
    return { libsql, sqlite: (row as { sqlite: string }).sqlite };
  } catch {
    return { libsql: null, sqlite: null };
  }
}

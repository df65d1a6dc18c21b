import { lstat, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { EngagectlError, unnamedOption, type OptionName } from '../errors.js';
import { checkWritablePath, refuseForeignLink, refuseForeignPipe } from '../files/path-checks.js';
import { fileWriteError } from '../files/file-errors.js';
import { isStdout } from './formats.js';
import type { Runtime } from '../runtime.js';
import { fsyncFolder, renameToNew, setAside } from '../files/atomic-write.js';
import {
  matchesCheckpoint,
  removeFile,
  verifyCheckpoint,
  type FileCheckpoint,
} from './checkpoint-file.js';

/** Target of `--output`. Symbolic links are resolved. */
export type Target =
  | { readonly kind: 'stdout'; readonly option: OptionName }
  /** A FIFO or device, written directly. */
  | StreamTarget
  | FileTarget;

export interface StreamTarget {
  readonly kind: 'stream';
  readonly name: string;
  readonly path: string;
  /** Number of the device and of the file that was checked. */
  readonly inode: string;
  readonly option: OptionName;
}

export interface FileTarget {
  readonly kind: 'file';
  readonly name: string;
  readonly path: string;
  /** Path of the document until it is complete. */
  readonly partial: string;
  readonly option: OptionName;
  /** The process's user, who owns the partial file. */
  readonly uid: number | undefined;
}

/**
 * Resolves an output name without changing anything. Throws E-FILE-WRITE for a folder or a socket, and for a path through a
 * symbolic link of another user than `uid`, who would choose the file that is written, or to their named pipe; E-USAGE for
 * a name of partial files, which an event may have.
 */
export async function resolveTarget(
  name: string | undefined,
  { cwd, uid, option }: Pick<Runtime, 'cwd' | 'uid'> & { readonly option: OptionName },
): Promise<Target> {
  if (isStdout(name)) return { kind: 'stdout', option };
  const place = { name, what: 'the file', option: option('output', '<file>') };
  // The path is that of the check: looked at again, it could lead through a link that was planted in between.
  const resolved = refuseForeignLink(resolve(cwd, name), place, { uid });
  const there = await lstat(resolved).catch(() => undefined);
  const path = there ? resolved : resolve(cwd, name);
  // Only a name such as /dev/stdout leads to what has no path.
  const found =
    there ?? (isOpenFile(resolved) ? await stat(path).catch(() => undefined) : undefined);
  if (found?.isDirectory() || name.endsWith('/'))
    throw fileWriteError({ file: name, done: 'written', option }, { code: 'EISDIR' });
  if (found?.isFIFO()) refuseForeignPipe(path, found.uid, place, { uid });
  if (found?.isSocket()) throw socketError(name, option);
  const isFile = !found || found.isFile() || found.isSymbolicLink(); // a link is replaced
  if (!isFile) return { kind: 'stream', name, path, inode: `${found.dev} ${found.ino}`, option };
  if (/\.partial\.(records|slice-\d+)$/.test(path)) throw partialName(name, option);
  return { kind: 'file', name, path, partial: `${path}.partial`, option, uid };
}

const partialName = (name: string, option: OptionName): EngagectlError =>
  new EngagectlError('E-USAGE', `${name} is a name of unfinished files`, {
    why: 'the export of another file would replace or remove it',
    fix: `choose another ${option('output', '<file>')}, such as one that ends in .ndjson`,
    file: name,
  });

const socketError = (name: string, option: OptionName): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${name} is a socket`, {
    why: 'records are written to files, named pipes and devices',
    fix: `name a file with ${option('output', '<file>')}, or write to standard output and pipe it`,
    file: name,
  });

const isOpenFile = (path: string): boolean => path.startsWith('/proc/');

/** Throws E-FILE-WRITE if the file cannot be created, E-OUTPUT-EXISTS if it exists without `overwrite`. */
export async function refuseExisting(target: FileTarget, overwrite: boolean): Promise<void> {
  const { name, path, option } = target;
  checkWritablePath(path, { name, what: 'the file', option: option('output', '<file>') }, {});
  if (overwrite) return;
  if (await exists(target.path)) throw targetExists(target);
}

/** Throws E-PARTIAL-EXISTS if a partial file or spool exists. */
export async function refusePartial(target: FileTarget): Promise<void> {
  for (const path of [target.partial, spoolPath(target)]) {
    if (await exists(path)) throw partialExists(target);
  }
}

function targetExists({ name, option }: FileTarget, details: { why?: string; fix?: string } = {}) {
  return new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
    why: 'files are only replaced on request',
    fix: `replace it with ${option('overwrite')}, or choose another ${option('output')}`,
    file: name,
    ...details,
  });
}

export function partialExists({ name, partial, option }: FileTarget): EngagectlError {
  return new EngagectlError('E-PARTIAL-EXISTS', `${name}: the partial file ${partial} exists`, {
    why: 'an earlier export to this file did not finish, and it has no run to resume',
    fix: `restart with ${option('fresh')}, which sets the partial file aside, or choose another ${option('output')}`,
    file: partial,
  });
}

/** Path of the spool: records of a CSV until all of its columns are known. */
export const spoolPath = ({ partial }: FileTarget): string => `${partial}.records`;

/** Renames the partial files of an earlier export to `….1`, or the next free number. */
export async function movePartialsAside(target: FileTarget): Promise<void> {
  await removeSpills(target);
  for (const path of [target.partial, spoolPath(target)]) {
    try {
      setAside(path);
    } catch (error) {
      throw fileWriteError({ file: path, done: 'set aside', option: target.option }, error);
    }
  }
}

/** Path of a slice's spill; `slice` is its number in the run. */
export const spillPath = ({ partial }: FileTarget, slice: number): string =>
  `${partial}.slice-${slice}`;

/** Removes all spills of the target. Throws E-FILE-WRITE. */
export async function removeSpills({ partial, option }: FileTarget): Promise<void> {
  const names = await readdir(dirname(partial)).catch(() => []);
  const prefix = `${basename(partial)}.slice-`;
  for (const name of names) {
    const isSpill = name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length));
    if (isSpill) await removeFile(join(dirname(partial), name), option);
  }
}

/** Whether the path exists; true for a dangling link. */
const exists = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined;
};

/** Renames a complete partial file to its final name. Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
export async function publishFile(
  target: FileTarget,
  { overwrite }: { readonly overwrite: boolean },
): Promise<void> {
  const { name, path, partial, option } = target;
  try {
    if (overwrite) await rename(partial, path);
    else renameToNew(partial, path);
    fsyncFolder(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !(await inodeOf(partial))) throw vanished(target, error);
    if (code !== 'EEXIST') throw fileWriteError({ file: name, done: 'finished', option }, error);
    throw targetExists(target, {
      why: 'it was created during the run',
      fix: `the export is complete in ${partial}: rename that file`,
    });
  }
}

/** Error for a partial file that another process removed or renamed. */
export const vanished = ({ partial, option }: FileTarget, cause?: unknown): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${partial} disappeared during the run`, {
    why: 'another process removed or renamed it',
    fix: `restart the export with ${option('fresh')}`,
    file: partial,
    cause,
  });

/**
 * Publishes a document that an earlier process sealed and may have renamed. Throws E-RUN-CHANGED if
 * neither the partial nor the final file is that document.
 */
export async function resumePublish(
  target: FileTarget,
  mark: FileCheckpoint,
  rules: { readonly overwrite: boolean },
): Promise<void> {
  const [partial, final] = await Promise.all([inodeOf(target.partial), inodeOf(target.path)]);
  if (partial === undefined && final !== undefined) {
    await verifyCheckpoint(target.path, mark, target);
    return syncName(target); // killed between the rename and its sync
  }
  await verifyCheckpoint(target.partial, mark, target);
  // Killed between link and unlink of a rename that does not replace files.
  if (partial?.ino === final?.ino) return unlink(target.partial);
  const isPlaceholder = final?.size === 0;
  await publishFile(target, { overwrite: rules.overwrite || isPlaceholder });
}

function syncName({ name, path, option }: FileTarget): void {
  try {
    fsyncFolder(dirname(path));
  } catch (error) {
    throw fileWriteError({ file: name, done: 'finished', option }, error);
  }
}

async function inodeOf(path: string) {
  return lstat(path).catch(() => undefined);
}

/** Files of an unfinished output, as recorded in the journal. */
interface UnfinishedOutput extends Pick<Runtime, 'uid'> {
  readonly path: string;
  readonly cwd: string;
  /** Checkpoints of the partial file or spool. */
  readonly marks: readonly FileCheckpoint[];
  /** Checkpoints of spills, by slice number. */
  readonly spills: ReadonlyMap<number, FileCheckpoint>;
}

/** Paths of removed and kept files. */
export interface Leftovers {
  readonly removed: readonly string[];
  /** Files that changed since the export wrote them. */
  readonly left: readonly string[];
}

/** Removes the partial files of an unfinished export if they are unchanged; nothing behind a link of another user. */
export async function removePartialFiles(output: UnfinishedOutput): Promise<Leftovers> {
  const where = { ...output, option: unnamedOption }; // errors are discarded below
  const target = await resolveTarget(output.path, where).catch(() => undefined); // a folder now
  if (target?.kind !== 'file') return { removed: [], left: [] };
  const files = await existing([target.partial, spoolPath(target)]);
  // A CSV has both, and only one of them has a mark.
  const areOurs = await anyMatches(files, output.marks);
  const spills = [...output.spills].map(([slice, mark]) => ({
    file: spillPath(target, slice),
    mark,
  }));
  const ours: string[] = [];
  for (const file of files) if (areOurs || (await isEmpty(file))) ours.push(file);
  for (const { file, mark } of spills) if (await matchesCheckpoint(file, mark)) ours.push(file);
  const all = [...files, ...(await existing(spills.map(({ file }) => file)))];
  const removed: string[] = [];
  for (const file of ours) {
    // Another user may have put an equal file there.
    const isRemoved = await unlink(file).then(
      () => true,
      () => false,
    );
    if (isRemoved) removed.push(file);
  }
  return { removed, left: all.filter((file) => !removed.includes(file)) };
}

async function anyMatches(
  files: readonly string[],
  marks: readonly FileCheckpoint[],
): Promise<boolean> {
  for (const file of files) {
    for (const mark of marks)
      if (mark.bytes > 0 && (await matchesCheckpoint(file, mark))) return true;
  }
  return false;
}

async function existing(files: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map((file) => lstat(file).catch(() => undefined)));
  return files.filter((_, index) => found[index]?.isFile());
}

const isEmpty = async (file: string): Promise<boolean> => (await lstat(file)).size === 0;

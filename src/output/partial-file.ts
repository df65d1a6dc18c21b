import { lstat, readdir, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { EngagectlError, unnamedOption, type OptionName } from '../errors.js';
import { checkWritablePath } from '../files/path-checks.js';
import { fileWriteError } from '../files/file-errors.js';
import { isStdout } from './formats.js';
import { renameToNew, fsyncFolder } from '../files/atomic-write.js';
import { verifyCheckpoint, type FileCheckpoint } from './checkpoint-file.js';

/** What `--output` names. A symbolic link stands for the file it leads to. */
export type Target =
  | { readonly kind: 'stdout'; readonly option: OptionName }
  /** A FIFO or device: written directly. */
  | StreamTarget
  | FileTarget;

export interface StreamTarget {
  readonly kind: 'stream';
  readonly name: string;
  readonly path: string;
  readonly option: OptionName;
}

export interface FileTarget {
  readonly kind: 'file';
  readonly name: string;
  readonly path: string;
  /** Where the document stands until it is complete. */
  readonly partial: string;
  readonly option: OptionName;
}

/** Looks at what is there now, and changes nothing. */
export async function resolveTarget(
  name: string | undefined,
  { cwd, option }: { readonly cwd: string; readonly option: OptionName },
): Promise<Target> {
  if (isStdout(name)) return { kind: 'stdout', option };
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() || name.endsWith('/'))
    throw fileWriteError({ file: name, done: 'written', option }, { code: 'EISDIR' });
  if (found !== undefined && !found.isFile()) return { kind: 'stream', name, path, option };
  return { kind: 'file', name, path, partial: `${path}.partial`, option };
}

/** Throws E-FILE-WRITE where it cannot be made, E-OUTPUT-EXISTS where it is and is not to be replaced. */
export async function refuseExisting(target: FileTarget, overwrite: boolean): Promise<void> {
  const { name, path, option } = target;
  checkWritablePath(path, { name, what: 'the file', option: option('output', '<file>') });
  if (overwrite) return;
  if (await exists(target.path)) throw targetExists(target);
}

/** Throws E-PARTIAL-EXISTS. */
export async function refusePartial(target: FileTarget): Promise<void> {
  for (const path of [target.partial, spoolPath(target)]) {
    if (await exists(path)) throw partialExists(target);
  }
}

function targetExists({ name, option }: FileTarget, details: { why?: string; fix?: string } = {}) {
  return new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
    why: 'nothing is replaced unless you say so',
    fix: `replace it with ${option('overwrite')}, or choose another ${option('output')}`,
    file: name,
    ...details,
  });
}

export function partialExists({ name, partial, option }: FileTarget): EngagectlError {
  return new EngagectlError('E-PARTIAL-EXISTS', `${name}: ${partial} is in the way`, {
    why: 'an earlier export to this file did not finish, and no run is known that could go on',
    fix: `start again with ${option('fresh')}, which sets it aside, or choose another ${option('output')}`,
    file: partial,
  });
}

/** Where the records of a CSV wait until all of its columns are known. */
export const spoolPath = ({ partial }: FileTarget): string => `${partial}.records`;

/** Renames what an earlier export left, to `….1` or the next number that is free. */
export async function movePartialsAside(target: FileTarget): Promise<void> {
  await removeSpills(target);
  for (const path of [target.partial, spoolPath(target)]) {
    try {
      await setAside(path);
    } catch (error) {
      throw fileWriteError({ file: path, done: 'set aside', option: target.option }, error);
    }
  }
}

/** Where the pages of a slice wait for their turn; `slice` is its number in the run. */
export const spillPath = ({ partial }: FileTarget, slice: number): string =>
  `${partial}.slice-${slice}`;

/** Removes the pages that waited, whichever process left them. */
export async function removeSpills({ partial }: FileTarget): Promise<void> {
  const names = await readdir(dirname(partial)).catch(() => []);
  const prefix = `${basename(partial)}.slice-`;
  for (const name of names) {
    if (name.startsWith(prefix)) await rm(join(dirname(partial), name), { force: true });
  }
}

async function setAside(path: string): Promise<void> {
  if (!(await exists(path))) return;
  let n = 1;
  while (await exists(`${path}.${n}`)) n += 1;
  await rename(path, `${path}.${n}`);
}

/** A dangling link counts as something that is there. */
const exists = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined;
};

/** Gives a complete partial its final name. Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
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
      why: 'it appeared during the run',
      fix: `the export is complete in ${partial}: move it where you want it`,
    });
  }
}

const vanished = ({ partial, option }: FileTarget, cause: unknown): EngagectlError =>
  new EngagectlError('E-FILE-WRITE', `${partial} vanished during the run`, {
    why: 'something removed or renamed it',
    fix: `start the export again with ${option('fresh')}`,
    file: partial,
    cause,
  });

/**
 * Publishes what an earlier process completed, however far it came with that itself. Throws
 * E-RUN-CHANGED when neither name leads to that document.
 */
export async function resumePublish(
  target: FileTarget,
  mark: FileCheckpoint,
  rules: { readonly overwrite: boolean },
): Promise<void> {
  const [partial, final] = await Promise.all([inodeOf(target.partial), inodeOf(target.path)]);
  if (partial === undefined && final !== undefined)
    return verifyCheckpoint(target.path, mark, target.option);
  await verifyCheckpoint(target.partial, mark, target.option);
  // Killed between the two steps of a rename that replaces nothing.
  if (partial?.ino === final?.ino) return unlink(target.partial);
  const isPlaceholder = final?.size === 0;
  await publishFile(target, { overwrite: rules.overwrite || isPlaceholder });
}

async function inodeOf(path: string) {
  return lstat(path).catch(() => undefined);
}

/** What is known of the files of an unfinished output. */
interface UnfinishedOutput {
  readonly path: string;
  readonly cwd: string;
  /** Where its partial or spool stood. */
  readonly marks: readonly FileCheckpoint[];
  /** Where the spills of its slices stood, by the slice's number in the run. */
  readonly spills: ReadonlyMap<number, FileCheckpoint>;
}

/** Paths of files. */
export interface Leftovers {
  readonly removed: readonly string[];
  /** Not as the export left them: somebody else's by now. */
  readonly left: readonly string[];
}

/** Removes what an unfinished export left beside its output, and nothing that it did not write. */
export async function removePartialFiles(output: UnfinishedOutput): Promise<Leftovers> {
  const where = { cwd: output.cwd, option: unnamedOption }; // nobody reads what is thrown here
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
  for (const { file, mark } of spills) if (await matches(file, mark)) ours.push(file);
  const all = [...files, ...(await existing(spills.map(({ file }) => file)))];
  for (const file of ours) await rm(file, { force: true });
  return { removed: ours, left: all.filter((file) => !ours.includes(file)) };
}

async function anyMatches(
  files: readonly string[],
  marks: readonly FileCheckpoint[],
): Promise<boolean> {
  for (const file of files) {
    for (const mark of marks) if (mark.bytes > 0 && (await matches(file, mark))) return true;
  }
  return false;
}

const matches = async (file: string, mark: FileCheckpoint): Promise<boolean> =>
  verifyCheckpoint(file, mark, unnamedOption).then(
    () => true,
    () => false,
  );

async function existing(files: readonly string[]): Promise<string[]> {
  const found = await Promise.all(files.map((file) => lstat(file).catch(() => undefined)));
  return files.filter((_, index) => found[index]?.isFile());
}

const isEmpty = async (file: string): Promise<boolean> => (await lstat(file)).size === 0;

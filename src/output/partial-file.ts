import { lstat, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { EngagectlError, type OptionName } from '../errors.js';
import { refusePlace } from '../files/path-checks.js';
import { fileError } from '../files/file-errors.js';
import { isStdout } from './formats.js';

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
export async function findTarget(
  name: string | undefined,
  { cwd, option }: { readonly cwd: string; readonly option: OptionName },
): Promise<Target> {
  if (isStdout(name)) return { kind: 'stdout', option };
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() || name.endsWith('/'))
    throw fileError({ file: name, done: 'written', option }, { code: 'EISDIR' });
  if (found !== undefined && !found.isFile()) return { kind: 'stream', name, path, option };
  return { kind: 'file', name, path, partial: `${path}.partial`, option };
}

/** Throws E-FILE-WRITE where it cannot be made, E-OUTPUT-EXISTS where it is and is not to be replaced. */
export async function refuseTarget(target: FileTarget, overwrite: boolean): Promise<void> {
  const { name, path, option } = target;
  refusePlace(path, { name, what: 'the file', option: option('output', '<file>') });
  if (overwrite) return;
  if (await exists(target.path)) throw targetExists(target);
}

/** Throws E-PARTIAL-EXISTS. */
export async function refusePartial(target: FileTarget): Promise<void> {
  for (const path of [target.partial, spoolOf(target)]) {
    if (await exists(path)) throw partialExists(target);
  }
}

export function targetExists(
  { name, option }: FileTarget,
  details: { why?: string; fix?: string } = {},
) {
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
export const spoolOf = ({ partial }: FileTarget): string => `${partial}.records`;

/** Renames what an earlier export left, to `….1` or the next number that is free. */
export async function setLeftoversAside(target: FileTarget): Promise<void> {
  await removeSpills(target);
  for (const path of [target.partial, spoolOf(target)]) {
    try {
      await setAside(path);
    } catch (error) {
      throw fileError({ file: path, done: 'set aside', option: target.option }, error);
    }
  }
}

/** Where the pages of a slice wait for their turn; `slice` is its number in the run. */
export const spillOf = ({ partial }: FileTarget, slice: number): string =>
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

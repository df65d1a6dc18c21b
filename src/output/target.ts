import { lstat, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { EngagectlError } from '../errors.js';
import { fileError } from './file-error.js';

/** What `--output` names. A symbolic link stands for the file it leads to. */
export type Target =
  | { readonly kind: 'stdout' }
  /** A FIFO or device: written directly. */
  | { readonly kind: 'stream'; readonly name: string; readonly path: string }
  | FileTarget;

export interface FileTarget {
  readonly kind: 'file';
  readonly name: string;
  readonly path: string;
  /** Where the document stands until it is complete. */
  readonly partial: string;
}

/** Whether an `--output` means stdout. */
export const isStdout = (name: string | undefined): name is undefined | '-' | '/dev/stdout' =>
  name === undefined || name === '-' || name === '/dev/stdout';

/** Looks at what is there now, and changes nothing. */
export async function findTarget(name: string | undefined, cwd: string): Promise<Target> {
  if (isStdout(name)) return { kind: 'stdout' };
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() || name.endsWith('/'))
    throw fileError(name, 'written', { code: 'EISDIR' });
  if (found !== undefined && !found.isFile()) return { kind: 'stream', name, path };
  return { kind: 'file', name, path, partial: `${path}.partial` };
}

/** Throws E-OUTPUT-EXISTS. */
export async function refuseTarget({ name, path }: FileTarget): Promise<void> {
  if (await exists(path)) throw targetExists(name);
}

/** Throws E-PARTIAL-EXISTS. */
export async function refusePartial(target: FileTarget): Promise<void> {
  for (const path of [target.partial, spoolOf(target)]) {
    if (await exists(path)) throw partialExists(target);
  }
}

export function targetExists(name: string, details: { why?: string; fix?: string } = {}) {
  return new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
    fix: 'replace it with --overwrite, or choose another --output',
    file: name,
    ...details,
  });
}

export function partialExists({ name, partial }: FileTarget): EngagectlError {
  return new EngagectlError('E-PARTIAL-EXISTS', `${name}: ${partial} is in the way`, {
    why: 'an earlier export to this file did not finish, and no run is known that could go on',
    fix: 'start again with --fresh, which sets it aside, or choose another --output',
    file: partial,
  });
}

/** Where the rows of a CSV wait until all of its columns are known. */
export const spoolOf = ({ partial }: FileTarget): string => `${partial}.spool`;

/** Renames what an earlier export left, to `….1` or the next number that is free. */
export async function setLeftoversAside(target: FileTarget): Promise<void> {
  await removeSpills(target);
  for (const path of [target.partial, spoolOf(target)]) {
    try {
      await setAside(path);
    } catch (error) {
      throw fileError(path, 'set aside', error);
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

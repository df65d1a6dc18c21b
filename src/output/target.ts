import { lstat, realpath, rename, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { EngagectlError } from '../errors.js';
import { fileError } from './file-error.js';

/** What `--output` names. A symbolic link stands for the file it leads to. */
export type Target =
  | { readonly kind: 'stdout' }
  /** A FIFO or device: written directly. */
  | { readonly kind: 'stream'; readonly name: string; readonly path: string }
  | {
      readonly kind: 'file';
      readonly name: string;
      readonly path: string;
      readonly partial: string;
    };

export interface TargetRules {
  readonly overwrite: boolean;
  readonly fresh: boolean;
}

/** Whether an `--output` means stdout. */
export const isStdout = (name: string | undefined): name is undefined | '-' | '/dev/stdout' =>
  name === undefined || name === '-' || name === '/dev/stdout';

/** Looks at what is there now, and changes nothing. */
export async function findTarget(name: string | undefined, cwd: string): Promise<Target> {
  if (isStdout(name)) return { kind: 'stdout' };
  const path = await realpath(resolve(cwd, name)).catch(() => resolve(cwd, name));
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) throw fileError(name, 'written', { code: 'EISDIR' });
  if (found !== undefined && !found.isFile()) return { kind: 'stream', name, path };
  return { kind: 'file', name, path, partial: `${path}.partial` };
}

/** Refuses a target or partial that is in the way, before anything is asked of the service. */
export async function checkTarget(
  target: Target,
  { overwrite, fresh }: TargetRules,
): Promise<void> {
  if (target.kind !== 'file') return;
  if (!overwrite && (await exists(target.path))) throw targetExists(target.name);
  if (!fresh && (await exists(target.partial))) throw partialExists(target);
}

export function targetExists(name: string, details: { why?: string; fix?: string } = {}) {
  return new EngagectlError('E-OUTPUT-EXISTS', `${name} already exists`, {
    fix: 'replace it with --overwrite, or choose another --output',
    file: name,
    ...details,
  });
}

function partialExists({ name, partial }: { name: string; partial: string }): EngagectlError {
  return new EngagectlError('E-PARTIAL-EXISTS', `${name}: ${partial} is in the way`, {
    why: 'an earlier export to this file did not finish',
    fix: 'start again with --fresh, which sets it aside, or choose another --output',
    file: partial,
  });
}

/** Renames a file out of the way, to `….1` or the next number that is free. */
export async function setAside(path: string): Promise<void> {
  if (!(await exists(path))) return;
  for (let n = 1; ; n += 1) {
    if (await exists(`${path}.${n}`)) continue;
    await rename(path, `${path}.${n}`);
    return;
  }
}

/** A dangling link counts as something that is there. */
const exists = async (path: string): Promise<boolean> => {
  const found = await lstat(path).catch(() => undefined);
  return found !== undefined;
};

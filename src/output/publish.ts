import { constants } from 'node:fs';
import { link, lstat, open, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { EngagectlError } from '../errors.js';
import { syncFolder } from '../files/sync-folder.js';
import { fileError } from '../files/file-errors.js';
import { verifyMark, type FileMark } from './checkpoint-file.js';
import { targetExists, type FileTarget } from './partial-file.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW } = constants;

/** Gives a complete partial its final name. Throws E-OUTPUT-EXISTS, E-FILE-WRITE. */
export async function publish(
  target: FileTarget,
  { overwrite }: { readonly overwrite: boolean },
): Promise<void> {
  const { name, path, partial, option } = target;
  try {
    if (overwrite) await rename(partial, path);
    else await renameToNew(partial, path);
    syncFolder(dirname(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !(await inodeOf(partial))) throw vanished(target, error);
    if (code !== 'EEXIST') throw fileError({ file: name, done: 'finished', option }, error);
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
export async function publishAgain(
  target: FileTarget,
  mark: FileMark,
  rules: { readonly overwrite: boolean },
): Promise<void> {
  const [partial, final] = await Promise.all([inodeOf(target.partial), inodeOf(target.path)]);
  if (partial === undefined && final !== undefined)
    return verifyMark(target.path, mark, target.option);
  await verifyMark(target.partial, mark, target.option);
  // Killed between the two steps of a rename that replaces nothing.
  if (partial?.ino === final?.ino) return unlink(target.partial);
  const isPlaceholder = final?.size === 0;
  await publish(target, { overwrite: rules.overwrite || isPlaceholder });
}

async function inodeOf(path: string) {
  return lstat(path).catch(() => undefined);
}

/** File systems without hard links say one of these. */
const noLinks = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** `rename` would replace a file that appeared meanwhile; `link` fails then, with EEXIST. */
async function renameToNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!noLinks.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    const place = await open(to, O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    await place.close();
    return rename(from, to);
  }
  return unlink(from);
}

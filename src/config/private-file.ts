import path from 'node:path';
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { whyOf } from '../files/file-errors.js';
import { shellWord } from '../shell-word.js';
import type { Runtime } from '../runtime.js';

/**
 * Reads a file of secrets: a regular file, readable by its owner only, in a folder of the same
 * kind. Undefined when there is none; anything looser is E-CONFIG-FILE with the chmod to type.
 */
export async function readPrivate(
  file: string,
  { platform }: Pick<Runtime, 'platform'>,
): Promise<string | undefined> {
  try {
    const folder = path.dirname(file);
    refuseLoose(folder, await stat(folder), { platform, wanted: '700' });
    // A symbolic link is refused: replacing the file would cut it, writing through it would
    // put a secret where nobody looks for one.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      refuseLoose(file, await handle.stat(), { platform, wanted: '600' });
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw notUsable(file, whyOf(error));
  }
}

/** Windows has no such modes: there the folder's own access list protects the file. */
function refuseLoose(
  file: string,
  { mode }: { readonly mode: number },
  { platform, wanted }: Pick<Runtime, 'platform'> & { readonly wanted: '600' | '700' },
): void {
  if (platform === 'win32' || (mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new EngagectlError('E-CONFIG-FILE', `${file}: others may read it (mode ${octal})`, {
    why: 'it holds, or leads to, a passcode',
    fix: `chmod ${wanted} ${shellWord(file)}`,
    file,
  });
}

/** E-CONFIG-FILE that never shows what the file holds. */
export function notUsable(file: string, why: string): EngagectlError {
  return new EngagectlError('E-CONFIG-FILE', `${file}: cannot be used`, {
    why,
    fix: `correct it, or remove it (rm ${shellWord(file)}) and set it up again`,
    file,
  });
}

import { constants, copyFileSync, existsSync, readdirSync, renameSync } from 'node:fs';
import path from 'node:path';

/**
 * Puts copies in the place of the files that an earlier worker may have open. Should that one wake up
 * and write on, it writes into files that have no name any more. The journal does so by itself.
 */
export function ownFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith('out') && !name.startsWith('rejects')) continue;
    const file = path.join(folder, name);
    copyFileSync(file, `${file}.own`, constants.COPYFILE_FICLONE);
    if (existsSync(file)) renameSync(`${file}.own`, file);
  }
}

import { readdirSync, readlinkSync } from 'node:fs';

/** The descriptors that Node opens for itself. */
const ofNode = /^(?:anon_inode:|\/dev\/(?:null|urandom)$|\/proc\/)/;

/**
 * The files, sockets and pipes that are open in this process: targets such as `/tmp/x (deleted)` or
 * `socket:[4711]` by a key that no other open descriptor has. Empty on other systems than Linux.
 */
export function openDescriptors(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  if (process.platform !== 'linux') return found;
  for (const descriptor of readdirSync('/proc/self/fd')) {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      if (!ofNode.test(target)) found.set(`${descriptor} ${target}`, target);
    } catch {
      // closed meanwhile, like the descriptor of the folder that was read
    }
  }
  return found;
}

/** Paths of the files below a folder that are open in this process. */
export const openFilesBelow = (folder: string): string[] =>
  [...openDescriptors().values()].filter((target) => target.startsWith(`${folder}/`));

import path from 'node:path';
import { mkdirSync, statSync } from 'node:fs';

/**
 * Makes a folder (0700) and those it lies in; returns the ones that were missing. Node's own
 * `recursive` never returns on Linux where a parent exists and cannot hold a folder: under /proc,
 * behind a link to a disk that is not there.
 */
export function makeFolder(folder: string): readonly string[] {
  const missing: string[] = [];
  for (let at = folder; !isFolder(at) && at !== path.dirname(at); at = path.dirname(at)) {
    missing.unshift(at);
  }
  for (const each of missing) {
    try {
      mkdirSync(each, { mode: 0o700 });
    } catch (error) {
      if (!isFolder(each)) throw error; // else another process was quicker
    }
  }
  return missing;
}

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}

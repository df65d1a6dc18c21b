import path from 'node:path';
import { mkdirSync, statSync, closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

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

/** Makes new and renamed files of a folder survive a power cut. */
export function syncFolder(folder: string): void {
  const descriptor = openFolder(folder);
  if (descriptor === undefined) return;
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined on Windows, which does not open folders: only there these are the codes of it. */
function openFolder(folder: string): number | undefined {
  try {
    return openSync(folder, 'r');
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Writes a file for the user alone, and waits until the disk has its content. */
export function writeSynced(file: string, content: string | Buffer): void {
  const descriptor = openSync(file, 'w', 0o600);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

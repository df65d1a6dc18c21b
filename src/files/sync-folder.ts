import { closeSync, fsyncSync, openSync } from 'node:fs';

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

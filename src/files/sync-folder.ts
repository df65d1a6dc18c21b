import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes new and renamed files of a folder survive a power cut. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return; // folders cannot be opened there
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

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

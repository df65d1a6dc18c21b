import { existsSync } from 'node:fs';
import { afterAll } from 'vitest';

/**
 * Has a test file's folders made in memory: the disk would be asked to sync many thousand times. What a
 * power cut leaves is acted, and never tried on a disk.
 */
export function useMemoryDisk(): void {
  if (!existsSync('/dev/shm')) return;
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = '/dev/shm';
  afterAll(() => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  });
}

import { existsSync } from 'node:fs';

/**
 * Has folders made in memory from now on: the disk would be asked to sync many thousand times. What a
 * power cut leaves is acted, and never tried on a disk.
 */
export function useMemoryDisk(): void {
  if (existsSync('/dev/shm')) process.env['TMPDIR'] = '/dev/shm';
}

import { existsSync } from 'node:fs';

// To be imported before a folder is made. The disk would be asked to sync many thousand times; what a power
// cut leaves is acted, and never tried on a disk.

if (existsSync('/dev/shm')) process.env['TMPDIR'] = '/dev/shm';

import path from 'node:path';
import { lockRun } from '../../files/run-lock.js';
import type { Runtime } from '../../runtime.js';

/** Takes a lock like that of a run in the folder, and lets go of it. Throws what stands in the way. */
export async function tryLock(folder: string, runtime: Pick<Runtime, 'token'>): Promise<void> {
  const lock = await lockRun(path.join(folder, `.doctor-${runtime.token()}.lock`));
  lock.release();
}

import path from 'node:path';
import { constants } from 'node:fs';
import { access, stat, unlink, writeFile } from 'node:fs/promises';
import { stateFolder } from '../../config/directories.js';
import { shellWord } from '../../wording.js';
import { configPath, readConfig } from '../../config/config-file.js';
import { EngagectlError } from '../../errors.js';
import { tryLock } from '../../jobs/run/run-folder.js';
import type { Runtime } from '../../runtime.js';
import type { Warning } from '../../jobs/doctor/checks.js';

/** The config file: there, whole, and readable by its owner only. */
export async function checkConfig(runtime: Runtime): Promise<string> {
  const { profiles } = await readConfig(runtime);
  const names = Object.keys(profiles);
  const what = names.length === 0 ? 'no profile saved' : `profiles ${names.join(', ')}`;
  return `${configPath(runtime)}: ${what}`;
}

/** Where journals go: a write needs it, an export does without and cannot be resumed. */
export async function checkState(runtime: Runtime): Promise<string | Warning> {
  const folder = stateFolder(runtime);
  try {
    const there = await nearest(folder);
    if (there !== folder) {
      await access(there, constants.W_OK);
      return `${folder}: will be made in ${there}`;
    }
    const probe = path.join(folder, `.doctor-${runtime.token()}`);
    await writeFile(probe, '', { flag: 'wx', mode: 0o600 });
    await unlink(probe);
    const { mode } = await stat(folder);
    if (runtime.platform === 'win32' || (mode & 0o077) === 0) return `${folder}: can be written`;
    const fix = `chmod 700 ${shellWord(folder)}`;
    return { warning: `${folder}: others may look into it`, fix };
  } catch (error) {
    throw new EngagectlError('E-FILE-WRITE', `${folder} cannot be written`, {
      why: (error as Error).message,
      fix: 'make it writable, name another in ENGAGECTL_STATE_DIR, or write with --no-journal',
      file: folder,
      cause: error,
    });
  }
}

/** The folder itself, or the closest one above it that exists. */
async function nearest(folder: string): Promise<string> {
  try {
    await stat(folder);
    return folder;
  } catch (error) {
    const parent = path.dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === folder) throw error;
    return nearest(parent);
  }
}

/** What keeps two processes from working on one run. */
export async function checkLock(runtime: Runtime): Promise<string> {
  try {
    await tryLock(await nearest(stateFolder(runtime)), runtime);
    return 'a run can be locked';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'open')
      return 'not tried: no file can be made';
    throw new EngagectlError('E-FILE-WRITE', 'a run cannot be locked', {
      why: (error as Error).message,
      fix: 'keep the state folder where files can be locked (ENGAGECTL_STATE_DIR), or write with --no-journal',
      cause: error,
    });
  }
}

import path from 'node:path';
import { userInfo } from 'node:os';
import { EngagectlError } from '../errors.js';
import { trustedFolder } from '../files/ownership.js';
import type { Runtime } from '../runtime.js';

/** What the places of our files depend on. */
export type DirectoryRuntime = Pick<Runtime, 'env' | 'cwd' | 'platform' | 'uid'>;

/** Absolute path of the folder with `config.json` (contract §1, `ENGAGECTL_CONFIG_DIR`). */
export const configDirectory = (runtime: DirectoryRuntime): string =>
  chosen(runtime, 'ENGAGECTL_CONFIG_DIR') ?? standard(runtime).config;

/** Absolute path of the folder with the local service's data and the journals of runs. */
export const stateDirectory = (runtime: DirectoryRuntime): string =>
  chosen(runtime, 'ENGAGECTL_STATE_DIR') ?? standard(runtime).state;

/**
 * Where the journals of unfinished runs are. Throws E-CONFIG where this user has no home, E-CONFIG-FILE
 * where somebody else may have filled the folder.
 */
export const runsFolder = (runtime: DirectoryRuntime): string =>
  trustedFolder(path.join(stateDirectory(runtime), 'runs'), runtime);

function chosen({ env, cwd }: DirectoryRuntime, variable: string): string | undefined {
  const folder = env[variable];
  return folder === undefined ? undefined : path.resolve(cwd, folder);
}

/** The platform's own places: XDG on Linux, Library on macOS, AppData on Windows. */
function standard({ env, platform }: DirectoryRuntime) {
  const home = () => env['HOME'] ?? env['USERPROFILE'] ?? accountHome();
  if (platform === 'darwin') {
    return {
      config: path.join(home(), 'Library', 'Preferences', 'engagectl'),
      state: path.join(home(), 'Library', 'Application Support', 'engagectl'),
    };
  }
  if (platform === 'win32') {
    const roaming = env['APPDATA'] ?? path.join(home(), 'AppData', 'Roaming');
    const local = env['LOCALAPPDATA'] ?? path.join(home(), 'AppData', 'Local');
    return {
      config: path.join(roaming, 'engagectl', 'Config'),
      state: path.join(local, 'engagectl', 'State'),
    };
  }
  const config = absolute(env['XDG_CONFIG_HOME']) ?? path.join(home(), '.config');
  const state = absolute(env['XDG_STATE_HOME']) ?? path.join(home(), '.local', 'state');
  return { config: path.join(config, 'engagectl'), state: path.join(state, 'engagectl') };
}

/** The XDG specification has relative paths ignored. */
const absolute = (folder: string | undefined): string | undefined =>
  folder !== undefined && path.isAbsolute(folder) ? folder : undefined;

/** Not `homedir()`, which takes an empty HOME for the current folder. */
function accountHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    throw new EngagectlError('E-CONFIG', 'this user has no home folder', {
      why: 'HOME is not set, and the system knows no home of this user',
      fix: 'set ENGAGECTL_CONFIG_DIR and ENGAGECTL_STATE_DIR',
    });
  }
}

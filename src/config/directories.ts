import path from 'node:path';
import { userInfo } from 'node:os';
import { EngagectlError } from '../errors.js';
import { refuseUntrusted, trustedFolder } from '../files/ownership.js';
import type { Runtime } from '../runtime.js';

/** Runtime properties that determine our directories. */
export type DirectoryRuntime = Pick<Runtime, 'env' | 'cwd' | 'platform' | 'uid'>;

/** Absolute path of the directory of `config.json` (`ENGAGECTL_CONFIG_DIR`). */
export const configDirectory = (runtime: DirectoryRuntime): string =>
  chosen(runtime, 'ENGAGECTL_CONFIG_DIR') ?? standard(runtime).config;

/** Absolute path of the directory with run journals and the local service's data (`ENGAGECTL_STATE_DIR`). */
export const stateDirectory = (runtime: DirectoryRuntime): string =>
  chosen(runtime, 'ENGAGECTL_STATE_DIR') ?? standard(runtime).state;

/**
 * Directory of the journals of unfinished runs. Throws E-CONFIG if the user has no home directory,
 * E-CONFIG-FILE if somebody else may have written to it.
 */
export const runsFolder = (runtime: DirectoryRuntime): string =>
  trustedFolder(path.join(stateDirectory(runtime), 'runs'), runtime);

/**
 * File that keeps the device id of a cuid for `call listen`. Throws E-CONFIG-FILE if somebody else may have written to it
 * or to its directory: its content is sent to the router.
 */
export function deviceIdPath(cuid: string, runtime: DirectoryRuntime): string {
  const file = path.join(
    trustedFolder(path.join(stateDirectory(runtime), 'devices'), runtime),
    cuid,
  );
  refuseUntrusted(file, runtime);
  return file;
}

function chosen({ env, cwd }: DirectoryRuntime, variable: string): string | undefined {
  const folder = env[variable];
  return folder === undefined ? undefined : path.resolve(cwd, folder);
}

/** The platform's own directories: XDG on Linux, Library on macOS, AppData on Windows. */
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

/** The XDG specification ignores relative paths. */
const absolute = (folder: string | undefined): string | undefined =>
  folder !== undefined && path.isAbsolute(folder) ? folder : undefined;

/** Not `homedir()`, which treats an empty HOME as the current directory. */
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

/** What to do if the data directory of the local service cannot be written to. */
export const otherDataDirectory =
  'check the folder and its disk, or take another one: ENGAGECTL_STATE_DIR, serve --data <dir>';

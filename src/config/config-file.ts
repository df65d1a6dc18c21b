import path from 'node:path';
import { chmod, open, stat, unlink } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { makePrivateFolder, noFollow } from '../files/atomic-write.js';
import {
  refuseOthers,
  refuseUntrusted,
  trustsGroup,
  type TrustRuntime,
} from '../files/ownership.js';
import { fileErrorReason } from '../files/file-errors.js';
import { configDirectory, type DirectoryRuntime } from './directories.js';
import { describeSchemaIssues } from '../did-you-mean.js';
import { shellPath } from '../wording.js';
import { constants } from 'node:fs';
import { nameCharacters } from './validation.js';
import type { Runtime } from '../runtime.js';
import type { Config } from './schema.js';

type StoreRuntime = Pick<
  Runtime,
  'env' | 'cwd' | 'platform' | 'uid' | 'monotonic' | 'random' | 'sleep' | 'signal'
>;

/** How long a writer waits for another one. A write takes about ten milliseconds. */
const lockPatienceMs = 10_000;

export const configPath = (runtime: DirectoryRuntime): string =>
  path.join(configDirectory(runtime), 'config.json');

/** Reads the config file; empty if it is missing. Throws E-CONFIG-FILE if it cannot be trusted. */
export async function readConfig(runtime: DirectoryRuntime): Promise<Config> {
  const file = configPath(runtime);
  const text = await readPrivateFile(file, runtime);
  if (text === undefined) return { profiles: {} };
  return (await parser(file))(text);
}

/**
 * Updates the config file. Writers are serialized, and each reads what the previous one wrote; a reader
 * sees the whole old or new file.
 */
export async function updateConfig(
  runtime: StoreRuntime,
  change: (config: Config) => Config,
): Promise<void> {
  const folder = await makePrivateDirectory(configDirectory(runtime), runtime);
  const unlock = await lock(path.join(folder, 'config.lock'), runtime);
  try {
    const next = change(await readConfig(runtime));
    await write(next, configPath(runtime));
  } finally {
    await unlock();
  }
}

/** Replaces the file atomically; its directory is private, so nobody can plant a link in it. */
async function write(config: Config, file: string): Promise<void> {
  const { default: Conf } = await import('conf');
  const parse = await parser(file);
  const store = new Conf<Config>({
    cwd: path.dirname(file),
    configName: 'config',
    configFileMode: 0o600,
    accessPropertiesByDotNotation: false,
    serialize: (value) => `${JSON.stringify(value, undefined, 2)}\n`,
    deserialize: parse,
  });
  try {
    store.store = config;
  } catch (error) {
    throw notWritten(file, error as NodeJS.ErrnoException);
  }
}

/** Loads the schema and zod, which are not needed without a config file. */
async function parser(file: string): Promise<(text: string) => Config> {
  const { configMembers, configSchema } = await import('./schema.js');
  return (text) => {
    const parsed = configSchema.safeParse(parseJson(text, file));
    if (parsed.success) return parsed.data;
    throw configFileError(file, describeSchemaIssues(parsed.error, configMembers, nameCharacters));
  };
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')); // Notepad and PowerShell write a BOM
  } catch {
    // The parser's own message quotes the file, and the quote may be the passcode.
    throw configFileError(file, text.trim() === '' ? 'it is empty' : 'it is not valid JSON');
  }
}

type PrivateRuntime = Pick<Runtime, 'platform'> & TrustRuntime;

/**
 * Creates the directory, or makes an existing one unreadable for others. One that others may write to is
 * refused and left alone: it may be /tmp, with files of others.
 */
export async function makePrivateDirectory(
  folder: string,
  runtime: PrivateRuntime,
): Promise<string> {
  try {
    makePrivateFolder(folder);
    refuseUntrusted(folder, runtime);
    const { mode } = await stat(folder);
    if (isPrivate(mode, runtime)) return folder;
    await chmod(folder, trustsGroup(runtime) ? mode & 0o770 : 0o700);
    return folder;
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const tighten = code === undefined ? `chmod 700 ${shellPath(folder)}, or ` : '';
    throw new EngagectlError('E-CONFIG-FILE', `${folder}: cannot be used as a private folder`, {
      why: code === 'ENOENT' ? 'it cannot be made' : fileErrorReason(error),
      fix: `${tighten}choose another folder: by ENGAGECTL_CONFIG_DIR or ENGAGECTL_STATE_DIR, of serve by --data`,
      file: folder,
      cause: error,
    });
  }
}

/**
 * A lock left by a killed process is never broken automatically: two processes that break it at once
 * would both continue. The error says what to remove.
 */
async function lock(file: string, { monotonic, random, sleep, signal }: StoreRuntime) {
  const deadline = monotonic() + lockPatienceMs;
  for (;;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      await handle.close();
      return () => unlink(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw configFileError(file, fileErrorReason(error));
    }
    if (monotonic() > deadline)
      throw new EngagectlError('E-CONFIG-FILE', 'another engagectl is changing the configuration', {
        why: `its lock has been there for ${lockPatienceMs / 1000} s: ${file}`,
        fix: `when no other engagectl runs: rm ${shellPath(file)}`,
        file,
      });
    await sleep(10 + random() * 20, signal);
  }
}

/**
 * Reads a file of secrets: a regular file, readable by its owner only, in a directory of the same kind.
 * Undefined if it is missing; throws E-CONFIG-FILE with the chmod to type if permissions are looser.
 */
export async function readPrivateFile(
  file: string,
  runtime: PrivateRuntime,
): Promise<string | undefined> {
  try {
    const folder = path.dirname(file);
    refuseUntrusted(folder, runtime);
    refuseLoose(folder, await stat(folder), runtime, '700');
    // A symbolic link is refused: replacing the file would remove the link, and writing through it would
    // put a secret in an unexpected place.
    // Without O_NONBLOCK a FIFO would be waited for in a thread that no signal ends.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
    try {
      const found = await handle.stat();
      refuseOthers(file, found, runtime);
      refuseLoose(file, found, runtime, '600');
      if (!found.isFile() && !found.isDirectory())
        throw configFileError(file, 'it is not a regular file');
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw configFileError(file, fileErrorReason(error));
  }
}

/** Windows has no such modes: there the directory's access list protects the file. */
const isPrivate = (mode: number, runtime: PrivateRuntime): boolean =>
  runtime.platform === 'win32' || (mode & (trustsGroup(runtime) ? 0o007 : 0o077)) === 0;

function refuseLoose(
  file: string,
  { mode }: { readonly mode: number },
  runtime: PrivateRuntime,
  expectedMode: '600' | '700',
): void {
  if (isPrivate(mode, runtime)) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new EngagectlError('E-CONFIG-FILE', `${file}: others may read it (mode ${octal})`, {
    why: 'it holds, or leads to, a passcode',
    fix: `chmod ${expectedMode} ${shellPath(file)}`,
    file,
  });
}

/** Builds the error for a config file that could not be replaced; another error is returned as it is. */
const notWritten = (file: string, cause: NodeJS.ErrnoException): Error =>
  cause.code === undefined
    ? cause
    : new EngagectlError('E-FILE-WRITE', `${file} could not be written`, {
        why: fileErrorReason(cause),
        fix: 'free some space, or choose another folder by ENGAGECTL_CONFIG_DIR, then run again',
        file,
        cause,
      });

/** E-CONFIG-FILE without any content of the file. */
function configFileError(file: string, why: string): EngagectlError {
  return new EngagectlError('E-CONFIG-FILE', `${file}: cannot be used`, {
    why,
    fix: `correct it, or remove it (rm ${shellPath(file)}) and set it up again`,
    file,
  });
}

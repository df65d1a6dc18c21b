import path from 'node:path';
import { chmod, open, stat, unlink } from 'node:fs/promises';
import { EngagectlError } from '../errors.js';
import { makeFolder } from '../files/atomic-write.js';
import { whyOf } from '../files/file-errors.js';
import { configFolder, type Surroundings } from './directories.js';
import { schemaFaults } from '../did-you-mean.js';
import { shellWord } from '../wording.js';
import { constants } from 'node:fs';
import type { Runtime } from '../runtime.js';
import type { Config } from './schema.js';

type StoreRuntime = Pick<
  Runtime,
  'env' | 'cwd' | 'platform' | 'monotonic' | 'random' | 'sleep' | 'signal'
>;

/** How long a writer waits for another one. A write takes some ten milliseconds. */
const lockPatienceMs = 10_000;

export const configPath = (runtime: Surroundings): string =>
  path.join(configFolder(runtime), 'config.json');

/** What is saved; empty when there is no file yet. A file that cannot be trusted is E-CONFIG-FILE. */
export async function readConfig(runtime: Surroundings): Promise<Config> {
  const file = configPath(runtime);
  const text = await readPrivate(file, runtime);
  if (text === undefined) return { profiles: {} };
  return (await parser(file))(text);
}

/**
 * Saves what `change` makes of what is saved. Writers take turns, each reads what the last one
 * wrote, and a reader sees either the old file or the new one, whole.
 */
export async function updateConfig(
  runtime: StoreRuntime,
  change: (config: Config) => Config,
): Promise<void> {
  const folder = await privateFolder(configFolder(runtime), runtime);
  const unlock = await lock(path.join(folder, 'config.lock'), runtime);
  try {
    const next = change(await readConfig(runtime));
    await write(next, configPath(runtime));
  } finally {
    await unlock();
  }
}

/** conf's part is the atomic, synced replacement of the file; reading needs none of it. */
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
  store.store = config;
}

/** Loads the schema, and zod with it, which without a config file nobody needs. */
async function parser(file: string): Promise<(text: string) => Config> {
  const { configMembers, configSchema } = await import('./schema.js');
  return (text) => {
    const parsed = configSchema.safeParse(parseJson(text, file));
    if (parsed.success) return parsed.data;
    throw notUsable(file, schemaFaults(parsed.error, configMembers));
  };
}

function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own message quotes the file, and the quote may be the passcode.
    throw notUsable(file, text.trim() === '' ? 'it is empty' : 'it is not valid JSON');
  }
}

/**
 * Makes the folder, or tightens the one there is. One that everybody may write to is refused
 * and left alone: it may be /tmp.
 */
export async function privateFolder(
  folder: string,
  { platform }: Pick<Runtime, 'platform'>,
): Promise<string> {
  try {
    makeFolder(folder);
    const { mode } = await stat(folder);
    if (platform === 'win32' || (mode & 0o077) === 0) return folder;
    if ((mode & 0o002) !== 0) throw new Error('everybody may write to it');
    await chmod(folder, 0o700);
    return folder;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const tighten = code === undefined ? `chmod 700 ${shellWord(folder)}, or ` : '';
    throw new EngagectlError('E-CONFIG-FILE', `${folder}: cannot be used as a private folder`, {
      why: code === 'ENOENT' ? 'it cannot be made' : whyOf(error),
      fix: `${tighten}choose another folder: by ENGAGECTL_CONFIG_DIR or ENGAGECTL_STATE_DIR, of serve by --data`,
      file: folder,
      cause: error,
    });
  }
}

/**
 * A lock left behind by a killed process is never broken by itself: two that break it at once
 * would both go on. The error says what to remove.
 */
async function lock(file: string, { monotonic, random, sleep, signal }: StoreRuntime) {
  const deadline = monotonic() + lockPatienceMs;
  for (;;) {
    try {
      const handle = await open(file, 'wx', 0o600);
      await handle.close();
      return () => unlink(file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw notUsable(file, whyOf(error));
    }
    if (monotonic() > deadline)
      throw new EngagectlError('E-CONFIG-FILE', 'another engagectl is changing the configuration', {
        why: `its lock has been there for ${lockPatienceMs / 1000} s: ${file}`,
        fix: `when no other engagectl runs: rm ${shellWord(file)}`,
        file,
      });
    await sleep(10 + random() * 20, signal);
  }
}

/**
 * Reads a file of secrets: a regular file, readable by its owner only, in a folder of the same
 * kind. Undefined when there is none; anything looser is E-CONFIG-FILE with the chmod to type.
 */
export async function readPrivate(
  file: string,
  { platform }: Pick<Runtime, 'platform'>,
): Promise<string | undefined> {
  try {
    const folder = path.dirname(file);
    refuseLoose(folder, await stat(folder), { platform, wanted: '700' });
    // A symbolic link is refused: replacing the file would cut it, writing through it would
    // put a secret where nobody looks for one.
    const handle = await open(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    try {
      refuseLoose(file, await handle.stat(), { platform, wanted: '600' });
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof EngagectlError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw notUsable(file, whyOf(error));
  }
}

/** Windows has no such modes: there the folder's own access list protects the file. */
function refuseLoose(
  file: string,
  { mode }: { readonly mode: number },
  { platform, wanted }: Pick<Runtime, 'platform'> & { readonly wanted: '600' | '700' },
): void {
  if (platform === 'win32' || (mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, '0');
  throw new EngagectlError('E-CONFIG-FILE', `${file}: others may read it (mode ${octal})`, {
    why: 'it holds, or leads to, a passcode',
    fix: `chmod ${wanted} ${shellWord(file)}`,
    file,
  });
}

/** E-CONFIG-FILE that never shows what the file holds. */
function notUsable(file: string, why: string): EngagectlError {
  return new EngagectlError('E-CONFIG-FILE', `${file}: cannot be used`, {
    why,
    fix: `correct it, or remove it (rm ${shellWord(file)}) and set it up again`,
    file,
  });
}

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { configFolder, stateFolder } from '../../config/standard-folders.js';
import type { Runtime } from '../../runtime.js';

/** Saved profiles and regions, and unfinished runs: those that a shell takes as they are. */
export async function completedNames(
  kind: 'profiles' | 'regions' | 'runs',
  runtime: Runtime,
): Promise<string[]> {
  if (kind === 'runs') return plain(await readdir(path.join(stateFolder(runtime), 'runs')));
  // Read without the schema: checking it would cost more than the answer is worth.
  const text = await readFile(path.join(configFolder(runtime), 'config.json'), 'utf8').catch(
    () => '{}',
  );
  const { profiles = {} } = JSON.parse(text) as SavedNames;
  if (kind === 'profiles') return plain(Object.keys(profiles));
  const regions = Object.values(profiles).flatMap((profile) => Object.keys(profile.regions ?? {}));
  return plain([...new Set([...regions, 'local'])]);
}

/** Of the config file, the part that holds names. */
interface SavedNames {
  readonly profiles?: Readonly<Record<string, { readonly regions?: object }>>;
}

/** What else a damaged file may hold is nothing for a shell. */
const plain = (names: readonly string[]): string[] =>
  names.filter((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)).toSorted();

import path from 'node:path';
import { configFolder, stateFolder } from '../config/standard-folders.js';
import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';

/** `__complete profiles|regions|runs`: what completion scripts ask; quick, and silent if it cannot. */
export const command: CommandSpec = {
  hidden: true,
  operands: [['<kind>', '']],
  run: async ({ operands: [kind], runtime }) => {
    const names = await namesOf(kind, runtime).catch((): string[] => []);
    runtime.stdout.write(names.map((name) => `${name}\n`).join(''));
  },
};

async function namesOf(kind: string | undefined, runtime: Runtime): Promise<string[]> {
  const { readdir, readFile } = await import('node:fs/promises'); // no other command's help needs it
  if (kind === 'runs') return named(await readdir(path.join(stateFolder(runtime), 'runs')));
  // Read without the schema: checking it would cost more than the answer is worth.
  const text = await readFile(path.join(configFolder(runtime), 'config.json'), 'utf8').catch(
    () => '{}',
  );
  const { profiles = {} } = JSON.parse(text) as SavedNames;
  if (kind === 'profiles') return named(Object.keys(profiles));
  const regions = Object.values(profiles).flatMap((profile) => Object.keys(profile.regions ?? {}));
  return kind === 'regions' ? named([...new Set([...regions, 'local'])]) : [];
}

/** Of the config file, the part that holds names. */
interface SavedNames {
  readonly profiles?: Readonly<Record<string, { readonly regions?: object }>>;
}

/** What else a damaged file may hold is nothing for a shell. */
const named = (names: readonly string[]): string[] =>
  names.filter((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)).toSorted();

import path from 'node:path';
import { readdir, readFile } from 'node:fs/promises';
import { configFolder, stateFolder } from '../../config/directories.js';
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

/** Files that a command writes, or that are no input for another reason. */
const otherFiles =
  /^(?:-o|--(?:output|rejects|report|gone|mapping|write-mapping|key-file|record|play))$/;

/**
 * Columns of the input file that a command line names, for the last of its words; each with what stands
 * before the last comma of that word.
 */
export async function completedColumns(
  line: readonly string[],
  runtime: Runtime,
): Promise<string[]> {
  const words = [...line];
  const current = (words.pop() ?? '').replace(/^--[a-z-]+=/, '');
  const file = words.find((word, at) => isTable(word) && !otherFiles.test(flagBefore(words, at)));
  if (file === undefined) return [];
  const { readColumns } = await import('../../jobs/input-files.js');
  const delimiter = valueOf('--delimiter', words)?.replace(/^\\t$/, '\t');
  const encoding = valueOf('--encoding', words);
  const options = { ...(delimiter && { delimiter }), ...(encoding && { encoding }) };
  const columns = await readColumns(file, options, runtime);
  const before = current.slice(0, current.lastIndexOf(',') + 1);
  const taken = new Set(before.split(','));
  return columns
    .filter((name) => isPlain(name) && !taken.has(name))
    .map((name) => `${before}${name}`);
}

const isTable = (word: string): boolean => /\.[ct]sv(?:\.gz)?$/i.test(word);

/** bash takes `--output=x.csv` for three words. */
const flagBefore = (words: readonly string[], at: number): string =>
  (words[at - 1] === '=' ? words[at - 2] : words[at - 1]) ?? '';

const valueOf = (flag: string, words: readonly string[]): string | undefined => {
  const at = words.indexOf(flag);
  return at < 0 ? undefined : words[words[at + 1] === '=' ? at + 2 : at + 1];
};

/** Others could be more than a name to a shell. */
const isPlain = (name: string): boolean => /^[\p{L}\p{N}_.$-][\p{L}\p{N}_. $-]{0,63}$/u.test(name);

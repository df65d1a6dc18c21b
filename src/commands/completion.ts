import { isTableName } from '../contract/file-formats.js';
import path from 'node:path';
import { readdir } from 'node:fs/promises';
import type { Runtime } from '../runtime.js';
import type { Invocation, CommandSpec } from './shared/command-spec.js';

const scripts = {
  bash: async () => (await import('../help/completion/bash.js')).bashCompletion,
  zsh: async () => (await import('../help/completion/zsh.js')).zshCompletion,
  fish: async () => (await import('../help/completion/fish.js')).fishCompletion,
  powershell: async () => (await import('../help/completion/powershell.js')).powershellCompletion,
};

/** Prints a completion script built from the command tree. */
export const command: CommandSpec = {
  needs: 'nothing',
  summary: 'print a shell completion script',
  description:
    'Prints a script that completes commands, flags, values, file names, profiles, regions, run ids, ' +
    'error ids, and columns of the input. Load it in ~/.bashrc, or save it where your shell looks ' +
    'for completions.',
  operands: [['<shell>', 'bash, zsh, fish or powershell', { choices: Object.keys(scripts) }]],
  examples: `
    # in ~/.bashrc
    source <(engagectl completion bash)
    # once, in a directory of $fpath
    engagectl completion zsh > _engagectl
    # once
    engagectl completion fish > ~/.config/fish/completions/engagectl.fish
  `,
  run: async ({ operands: [shell], program, runtime }) => {
    const { completionTree } = await import('../help/completion/command-words.js');
    const script = await scripts[shell as keyof typeof scripts]();
    runtime.stdout.write(script(completionTree(await program.tree(runtime))));
  },
};

/**
 * Answers completion scripts, quickly, and silently if there is no answer: `__complete profiles`,
 * `regions` or `runs`; `__complete columns -- <words>` for the last word of a command line as typed;
 * `__complete line -- <n> =<word> <words>` for a word after the first n of the others, in the form
 * PowerShell passes: words without their quotes. The answer to `line` is ASCII, with \u0418 for other
 * letters: an empty line if nothing matches, and no output if a file name is expected.
 */
export const completeCommand: CommandSpec = {
  hidden: true,
  operands: [
    ['<kind>', ''],
    ['[word...]', ''],
  ],
  run: async (call) => {
    const [kind = '', ...words] = call.operands;
    const answer = Object.hasOwn(answers, kind) ? answers[kind as keyof typeof answers] : undefined;
    const names = await answer?.(call, words).catch(() => []);
    call.runtime.stdout.write((names ?? []).map((name) => `${name}\n`).join(''));
  },
};

type Ask = (call: Invocation, words: readonly string[]) => Promise<string[]>;

const named =
  (kind: 'profiles' | 'regions' | 'runs'): Ask =>
  async ({ runtime }) =>
    savedNames(kind, runtime);

const columns: Ask = async ({ runtime }, words) => inputColumns(words, runtime);

const names = {
  profiles: named('profiles'),
  regions: named('regions'),
  runs: named('runs'),
  columns,
  types: columns,
};

const line: Ask = async (call, [behind = '0', current = '=', ...words]) => {
  const { completionTree, completeWord } = await import('../help/completion/command-words.js');
  const word = current.slice(1);
  const { before, values } = completeWord(
    completionTree(await call.program.tree(call.runtime)),
    words.slice(0, Number(behind)),
    word,
  );
  if (values === 'files') return [];
  const complete = typeof values === 'string' ? names[values as keyof typeof names] : () => values;
  const all = (await complete?.(call, [...words, word])) ?? [];
  const fitting = all.map((value) => `${before}${value}`).filter((value) => value.startsWith(word));
  return fitting.length > 0 ? fitting.map(escapeNonAscii) : [''];
};

const answers = {
  ...names,
  columns: (call: Invocation, typed: readonly string[]) => columns(call, typed.map(unquoted)),
  line,
};

const unquoted = (word: string): string =>
  word.replaceAll(/^(["'])(.*)\1$/g, '$2').replaceAll(/\\(.)/g, '$1');

const escapeNonAscii = (name: string): string =>
  name.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Saved profiles and regions, or unfinished runs, limited to names that need no quoting. */
async function savedNames(
  kind: 'profiles' | 'regions' | 'runs',
  runtime: Runtime,
): Promise<string[]> {
  if (kind === 'runs') {
    const { stateDirectory } = await import('../config/directories.js');
    return plain(await readdir(path.join(stateDirectory(runtime), 'runs')));
  }
  const { configPath, readPrivateFile } = await import('../config/config-file.js');
  // Read without the schema: validating it would take longer than the answer is worth.
  const text = await readPrivateFile(configPath(runtime), runtime).catch(() => undefined);
  const { profiles = {} } = JSON.parse(text ?? '{}') as SavedNames;
  if (kind === 'profiles') return plain(Object.keys(profiles));
  const regions = Object.values(profiles).flatMap((profile) => Object.keys(profile.regions ?? {}));
  return plain([...new Set([...regions, 'local'])]);
}

/** The part of the config file that contains names. */
interface SavedNames {
  readonly profiles?: Readonly<Record<string, { readonly regions?: object }>>;
}

/** Keeps names that are safe for a shell; a damaged file may contain anything. */
const plain = (names: readonly string[]): string[] =>
  names.filter((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)).toSorted();

/** Flags whose file is written, or is not an input. */
const otherFiles =
  /^(?:-o|--(?:output|rejects|report|gone|mapping|write-mapping|key-file|record|play))$/;

/**
 * Returns columns of the input file named on a command line, for its last word; each is prefixed with
 * the part of the word up to its last comma.
 */
async function inputColumns(line: readonly string[], runtime: Runtime): Promise<string[]> {
  const words = [...line];
  const current = (words.pop() ?? '').replace(/^--[a-z-]+=/, '');
  const before = current.slice(0, current.lastIndexOf(',') + 1);
  const column = /^.*:/s.exec(current.slice(before.length))?.[0];
  if (column !== undefined && isTypes(line)) {
    const { typeNames } = await import('../help/completion/command-words.js');
    return typeNames.map((name) => `${before}${column}${name}`);
  }
  const file = words.find(
    (word, at) => isTableName(word) && !otherFiles.test(flagBefore(words, at)),
  );
  if (file === undefined) return [];
  const { readColumns } = await import('../jobs/input-files.js');
  const delimiter = valueOf('--delimiter', words)?.replace(/^\\t$/, '\t');
  const encoding = valueOf('--encoding', words);
  const options = { ...(delimiter && { delimiter }), ...(encoding && { encoding }) };
  const columns = await readColumns(file, options, runtime);
  const taken = new Set(before.split(','));
  return columns
    .filter((name) => isPlain(name) && !taken.has(name))
    .map((name) => `${before}${name}`);
}

/** Whether the last word is a value of --types. */
const isTypes = (words: readonly string[]): boolean =>
  words.at(-1)!.startsWith('--types=') || flagBefore(words, words.length - 1) === '--types';

/** bash splits `--output=x.csv` into three words. */
const flagBefore = (words: readonly string[], at: number): string =>
  (words[at - 1] === '=' ? words[at - 2] : words[at - 1]) ?? '';

const valueOf = (flag: string, words: readonly string[]): string | undefined => {
  const at = words.indexOf(flag);
  return at < 0 ? undefined : words[words[at + 1] === '=' ? at + 2 : at + 1];
};

/** Other names could have a meaning for a shell. */
const isPlain = (name: string): boolean => /^[\p{L}\p{N}_.$-][\p{L}\p{N}_. $-]{0,63}$/u.test(name);

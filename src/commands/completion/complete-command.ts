import type { Call, CommandSpec } from '../shared/command-spec.js';

/**
 * What completion scripts ask, quick, and silent if there is no answer: `__complete profiles`, `regions`
 * or `runs`; `__complete columns -- <words>` for the last word of a command line, its words as they were
 * typed; `__complete line -- <n> =<word> <words>` for a word behind the first n of the others, as PowerShell
 * asks: its words without their quotes. That answers in ASCII, with \u0418 for other letters; with an empty
 * line where nothing fits; and with nothing at all where a file is meant.
 */
export const command: CommandSpec = {
  hidden: true,
  operands: [
    ['<kind>', ''],
    ['[word...]', ''],
  ],
  run: async (call) => {
    const [kind = '', ...words] = call.operands;
    const names = await answers[kind as keyof typeof answers]?.(call, words).catch(() => []);
    call.runtime.stdout.write((names ?? []).map((name) => `${name}\n`).join(''));
  },
};

type Ask = (call: Call, words: readonly string[]) => Promise<string[]>;

const named =
  (kind: 'profiles' | 'regions' | 'runs'): Ask =>
  async ({ runtime }) =>
    (await import('./completed-names.js')).completedNames(kind, runtime);

const columns: Ask = async ({ runtime }, words) =>
  (await import('./completed-names.js')).completedColumns(words, runtime);

const names = {
  profiles: named('profiles'),
  regions: named('regions'),
  runs: named('runs'),
  columns,
};

const line: Ask = async (call, [behind = '0', current = '=', ...words]) => {
  const [{ commandWords }, { valuesAt }] = await Promise.all([
    import('../../help/completion/command-words.js'),
    import('../../help/completion/command-words.js'),
  ]);
  const word = current.slice(1);
  const { before, values } = valuesAt(
    commandWords(await call.program.tree(call.runtime)),
    words.slice(0, Number(behind)),
    word,
  );
  if (values === 'files') return [];
  const asked = typeof values === 'string' ? names[values as keyof typeof names] : () => values;
  const all = (await asked?.(call, [...words, word])) ?? [];
  const fitting = all.map((value) => `${before}${value}`).filter((value) => value.startsWith(word));
  return fitting.length > 0 ? fitting.map(inAscii) : [''];
};

const answers = {
  ...names,
  columns: (call: Call, typed: readonly string[]) => columns(call, typed.map(unquoted)),
  line,
};

const unquoted = (word: string): string =>
  word.replaceAll(/^(["'])(.*)\1$/g, '$2').replaceAll(/\\(.)/g, '$1');

const inAscii = (name: string): string =>
  name.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

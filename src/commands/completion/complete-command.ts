import type { Call, CommandSpec } from '../command-spec.js';

/**
 * What completion scripts ask, quick, and silent if there is no answer: `__complete profiles`, `regions`
 * or `runs`; `__complete columns -- <words>` for the last word of a command line; `__complete line -- =<word>
 * <words>` for any word of it, as shells ask that have no script of their own words.
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
  (await import('./completed-columns.js')).completedColumns(words, runtime);

const line: Ask = async (call, [current = '=', ...words]) => {
  const [{ commandWords }, { valuesAt }] = await Promise.all([
    import('../../help/command-words.js'),
    import('../../help/values-at.js'),
  ]);
  const word = current.slice(1);
  const { before, values } = valuesAt(
    commandWords(await call.program.tree(call.runtime)),
    words,
    word,
  );
  const ask = typeof values === 'string' ? answers[values as keyof typeof answers] : undefined;
  const all = ask ? await ask(call, [...words, word]) : typeof values === 'string' ? [] : values;
  return all.map((value) => `${before}${value}`).filter((value) => value.startsWith(word));
};

const answers = {
  profiles: named('profiles'),
  regions: named('regions'),
  runs: named('runs'),
  columns,
  line,
};

import type { CommandWords, Values } from './completion/command-words.js';

/** What may stand at the end of a command line, behind what of the last word stands already. */
export interface OfferedValues {
  /** `--format=`, or nothing. */
  readonly before: string;
  readonly values: Values;
}

/** `words` are those before the last one, without the program. */
export function valuesAt(
  commands: readonly CommandWords[],
  words: readonly string[],
  last: string,
): OfferedValues {
  const byPath = new Map(commands.map((command) => [command.path, command]));
  let at = byPath.get('')!;
  let expected: Values | undefined;
  let isGiven = false;
  for (const word of words) {
    const isOperand = expected === undefined && !word.startsWith('-');
    expected = expected === undefined ? valuesOf(at, word) : undefined;
    const command = byPath.get(`${at.path} ${word}`.trim());
    if (isOperand && command === undefined) isGiven = true;
    if (isOperand && command !== undefined) at = command;
  }
  if (expected !== undefined) return { before: '', values: expected };
  const [before = '', flag = ''] = /^(--[a-z-]+)=/.exec(last) ?? [];
  if (flag !== '') return { before, values: valuesOf(at, flag) ?? 'text' };
  if (last.startsWith('-')) return { before: '', values: at.options.flatMap(({ names }) => names) };
  if (isGiven && at.operands !== 'files') return { before: '', values: 'text' };
  const names = at.commands.map(({ name }) => name);
  return { before: '', values: names.length > 0 ? names : (at.operands ?? 'text') };
}

/** Of a flag with a value. */
const valuesOf = ({ options }: CommandWords, flag: string): Values | undefined =>
  options.find(({ names }) => names.includes(flag))?.values;

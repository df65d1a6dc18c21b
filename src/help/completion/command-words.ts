import { errorIds } from '../../errors.js';
import { topics } from '../topics.js';
import type { Command, Option } from 'commander';

/**
 * Candidates of a position: words, names from the configuration, columns of the input, columns followed by a colon
 * and a type, files, or free text.
 */
export type CompletionValues =
  readonly string[] | 'profiles' | 'regions' | 'runs' | 'columns' | 'types' | 'files' | 'text';

/** Types of columns that need no quotes in a shell. */
export const typeNames = ['string', 'integer', 'number', 'boolean', 'date', 'json'] as const;

export interface CompletionOption {
  /** `-o` and `--output`, or one of them. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined for a flag without a value. */
  readonly values: CompletionValues | undefined;
}

/** A command as completion scripts see it. */
export interface CompletionCommand {
  /** The words that lead to it, without the program; empty for the program itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly ownOptions: readonly CompletionOption[];
  /** Includes options of the program, which are valid with every command. */
  readonly options: readonly CompletionOption[];
  /** Undefined if the command has no operands. Only files can be repeated. */
  readonly operands: CompletionValues | undefined;
}

/** Returns the program and all commands that are not hidden, each before its subcommands. */
export function completionTree(program: Command): CompletionCommand[] {
  const help = program.createHelp();
  const ownOptionsOf = (command: Command) =>
    help
      .visibleOptions(command)
      .filter((option) => command.options.includes(option) || option.long === '--help')
      .map(optionWords);
  const global = ownOptionsOf(program);
  const walk = (command: Command, path: string): CompletionCommand[] => {
    const children = help.visibleCommands(command);
    const commands = children.map((child) => ({
      name: child.name(),
      description: help.subcommandDescription(child),
    }));
    const ownOptions = ownOptionsOf(command);
    const own = new Set(ownOptions.map(({ names }) => names.at(-1)));
    const options = [...ownOptions, ...global.filter(({ names }) => !own.has(names.at(-1)))];
    return [
      { path, commands, ownOptions, options, operands: operandsOf(command) },
      ...children.flatMap((child) => walk(child, `${path} ${child.name()}`.trim())),
    ];
  };
  const [first, ...others] = walk(program, '');
  return [first!, ...others.filter(({ path }) => !isHelp(path)), ...helpWords(others, first!)];
}

const isHelp = (path: string): boolean => /(?:^| )help$/.test(path);

/** `help` accepts the words of a command, a topic, and after errors an id. */
function helpWords(
  all: readonly CompletionCommand[],
  program: CompletionCommand,
): CompletionCommand[] {
  const { options, commands } = program;
  const help = { ownOptions: [], options, operands: undefined };
  const about = Object.entries(topics).map(([name, description]) => ({ name, description }));
  const nouns = all.filter((command) => command.commands.length > 0);
  return [
    { ...help, path: 'help', commands: [...commands, ...about] },
    ...nouns.map((noun) => ({ ...help, path: `help ${noun.path}`, commands: noun.commands })),
    { ...help, path: 'help errors', commands: [], operands: Object.keys(errorIds) },
  ];
}

const optionWords = (option: Option): CompletionOption => ({
  names: [option.short, option.long].filter((name) => name !== undefined),
  description: option.description,
  values: option.required ? optionValues(option) : undefined,
});

function optionValues({ flags, long, parseArg }: Option): CompletionValues {
  const words = (parseArg as { readonly words?: readonly string[] } | undefined)?.words;
  if (words !== undefined) return words;
  if (long === '--profile') return 'profiles';
  if (long === '--region') return 'regions';
  if (flags.includes('<column:type')) return 'types';
  if (/<(?:column\b|a,b>)/.test(flags)) return 'columns';
  return /<(?:file|dir)\b/.test(flags) ? 'files' : 'text';
}

function operandsOf(command: Command): CompletionValues | undefined {
  const [operand] = command.registeredArguments;
  return operand && (operand.argChoices ?? valuesByName[operand.name()] ?? 'text');
}

const valuesByName: Readonly<Record<string, CompletionValues>> = {
  file: 'files',
  'file.json': 'files',
  profile: 'profiles',
  id: 'runs',
};

/** Candidates for the last word of a command line. */
interface Candidates {
  /** `--format=`, or empty. */
  readonly before: string;
  readonly values: CompletionValues;
}

/** Returns candidates; `words` are those before the last one, without the program. */
export function completeWord(
  commands: readonly CompletionCommand[],
  words: readonly string[],
  last: string,
): Candidates {
  const byPath = new Map(commands.map((command) => [command.path, command]));
  let at = byPath.get('')!;
  let expected: CompletionValues | undefined;
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

/** Returns the candidates for the value of a flag. */
const valuesOf = ({ options }: CompletionCommand, flag: string): CompletionValues | undefined =>
  options.find(({ names }) => names.includes(flag))?.values;

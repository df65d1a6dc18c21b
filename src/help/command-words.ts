import type { Argument, Command, Option } from 'commander';
import { topics } from './topics.js';

/** What may stand in a place: words, names from the configuration, files, or any text. */
export type Values = readonly string[] | 'profiles' | 'regions' | 'runs' | 'files' | 'text';

export interface OptionWords {
  /** `-o` and `--output`, or one of them. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined for a flag without a value. */
  readonly values: Values | undefined;
}

/** A command as completion scripts know it. */
export interface CommandWords {
  readonly name: string;
  /** The words that lead to it, without the program: empty for the program itself. */
  readonly path: string;
  readonly description: string;
  readonly commands: readonly CommandWords[];
  /** Its own ones; those of the program may stand with every command. */
  readonly options: readonly OptionWords[];
  /** Undefined where no operand may stand. */
  readonly operands: Values | undefined;
}

/** The command tree without what is hidden. */
export function commandWords(command: Command, path = ''): CommandWords {
  const help = command.createHelp();
  const own = help.visibleOptions(command).filter((option) => isOwn(option, command));
  return {
    name: command.name(),
    path,
    description: help.subcommandDescription(command),
    commands: help
      .visibleCommands(command)
      .map((child) => commandWords(child, `${path} ${child.name()}`.trim())),
    options: own.map(optionWords),
    operands: operandsOf(command),
  };
}

/** A command's options, and those of the program, which may stand with every command; each once. */
export function optionsAt(command: CommandWords, program: CommandWords): readonly OptionWords[] {
  if (command === program) return program.options;
  const own = new Set(command.options.map(({ names }) => names.at(-1)));
  return [...command.options, ...program.options.filter(({ names }) => !own.has(names.at(-1)))];
}

/** The command and all below it. */
export const withSubcommands = (command: CommandWords): CommandWords[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

const isOwn = (option: Option, command: Command): boolean =>
  command.options.includes(option) || option.long === '--help';

const optionWords = (option: Option): OptionWords => ({
  names: [option.short, option.long].filter((name) => name !== undefined),
  description: option.description,
  values: option.required ? optionValues(option) : undefined,
});

function optionValues({ flags, long, parseArg }: Option): Values {
  const words = (parseArg as { readonly words?: readonly string[] } | undefined)?.words;
  if (words !== undefined) return words;
  if (long === '--profile') return 'profiles';
  if (long === '--region') return 'regions';
  return /<(?:file|dir)\b/.test(flags) ? 'files' : 'text';
}

function operandsOf(command: Command): Values | undefined {
  if (command.name() === 'help') {
    const commands = command.parent?.commands ?? [];
    return [...commands.map((each) => each.name()), ...Object.keys(topics)];
  }
  const [operand] = command.registeredArguments;
  return operand && operandValues(operand);
}

function operandValues(operand: Argument): Values {
  if (operand.argChoices) return operand.argChoices;
  const byName: Readonly<Record<string, Values>> = {
    file: 'files',
    profile: 'profiles',
    id: 'runs',
  };
  return byName[operand.name()] ?? 'text';
}

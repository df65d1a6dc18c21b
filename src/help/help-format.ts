import { Help, type Argument, type Command, type Option } from 'commander';
import { commandPath, renderTables, wrap, type Table } from './layout.js';
import { topics } from './topics.js';

/**
 * Overrides of commander's help: subcommands come before the options, and the global options, in groups,
 * after those of the command itself.
 */
export const helpFormat = (helpWidth: number): Partial<Help> => ({
  helpWidth,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(argumentText)].join(' '),
  visibleOptions: optionsOf,
  optionDescription: ({ description, defaultValue, defaultValueDescription }) =>
    defaultValue === undefined || typeof defaultValue === 'boolean'
      ? description
      : `${description} (default: ${defaultValueDescription ?? String(defaultValue)})`,
  formatHelp: sectionsOf,
});

/** Needs of a command besides its own flags, if not all global ones. */
export type AccountNeeds = 'account' | 'nothing';

/** Omits flags about requests or accounts for commands that have none. */
const needs = new WeakMap<Command, AccountNeeds>();
export const setAccountNeeds = (command: Command, what: AccountNeeds): void =>
  void needs.set(command, what);

const unneeded: Readonly<Record<AccountNeeds | 'all', readonly string[]>> = {
  all: [],
  account: ['Requests:'],
  nothing: ['Requests:', 'Account:'],
};

function optionsOf(this: Help, command: Command): Option[] {
  const own = Help.prototype.visibleOptions.call(this, command);
  const inherited = commandPath(command)
    .slice(0, -1)
    .flatMap(({ options }) => options)
    .filter(({ hidden, long }) => !hidden && long !== '--version')
    .filter((option) => !unneeded[needs.get(command) ?? 'all'].includes(groupOfOption(option)));
  return [...own.filter((option) => !isLast(option)), ...inherited, ...own.filter(isLast)];
}

const isLast = ({ long }: Option): boolean => long === '--help' || long === '--version';

function sectionsOf(this: Help, command: Command, help: Help): string {
  const { helpWidth: width = 80 } = help;
  const commands = help.groupItems([], help.visibleCommands(command), groupOfCommand);
  const hasTopics = command.parent === null || command.name() === 'help';
  const tables: Table[] = [
    ...[...commands].map(([heading, group]) => ({ heading, rows: commandRows(group, help) })),
    {
      heading: 'Help topics, such as help exit-codes:',
      rows: hasTopics ? Object.entries(topics) : [],
    },
    {
      heading: 'Arguments:',
      rows: help
        .visibleArguments(command)
        .map((each) => [help.argumentTerm(each), each.description]),
    },
    ...(isNoun(command) ? [helpTable(command, help)] : optionTables(command, help)),
  ];
  const description = wrap(descriptionOf(command), width).join('\n');
  const opening = [`Usage: ${help.commandUsage(command)}`, description].filter(Boolean);
  return [...opening.map((part) => `${part}\n`), ...renderTables(tables, width)].join('\n');
}

/** A command with only subcommands; each has its own help with flags. */
const isNoun = (command: Command): boolean =>
  command.parent !== null && command.commands.length > 0;

const helpTable = (command: Command, help: Help): Table => ({
  heading: 'Options:',
  rows: optionRows(help.visibleOptions(command).filter(isLast), help),
});

/** Returns the description, or the summary as a sentence. */
export function descriptionOf(command: Command): string {
  const summary = command.summary();
  return command.description() || (summary && `${summary[0]!.toUpperCase()}${summary.slice(1)}.`);
}

const groupOfCommand = (command: Command): string => command.helpGroup() || 'Commands:';
/** Version and help come last. */
const groupOfOption = (option: Option): string =>
  isLast(option) ? 'Messages:' : (option.helpGroupHeading ?? 'Options:');

export const commandRows = (commands: readonly Command[], help: Help): Table['rows'] =>
  commands.map((each) => [help.subcommandTerm(each), help.subcommandDescription(each)]);

export const optionRows = (options: readonly Option[], help: Help): Table['rows'] =>
  options.map((each) => [help.optionTerm(each), help.optionDescription(each)]);

/** Returns the options of a command in groups. */
export function optionTables(command: Command, help: Help): Table[] {
  const groups = help.groupItems([], help.visibleOptions(command), groupOfOption);
  return [...groups].map(([heading, options]) => ({ heading, rows: optionRows(options, help) }));
}

const argumentText = (argument: Argument): string => {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
};

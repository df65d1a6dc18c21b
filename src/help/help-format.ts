import { Help, type Argument, type Command, type Option } from 'commander';
import { topics, type TopicTable } from './topics.js';

/**
 * How help looks, as overrides of commander's: subcommands stand above the options, and the global
 * options, in their groups, behind those of the command itself.
 */
export const helpFormat = (helpWidth: number): Partial<Help> => ({
  helpWidth,
  minWidthToWrap: 20,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(argumentText)].join(' '),
  visibleOptions: optionsOf,
  optionDescription: ({ description, defaultValue, defaultValueDescription }) =>
    defaultValue === undefined || typeof defaultValue === 'boolean'
      ? description
      : `${description} (default: ${defaultValueDescription ?? String(defaultValue)})`,
  formatHelp: sectionsOf,
});

/** Commands that make no requests: flags about them would only be in the way. */
const offline = new WeakSet<Command>();
export const markOffline = (command: Command): void => void offline.add(command);

/** The program, and so on down to the command. */
export const lineage = (command: Command): Command[] =>
  command.parent === null ? [command] : [...lineage(command.parent), command];

function optionsOf(this: Help, command: Command): Option[] {
  const own = Help.prototype.visibleOptions.call(this, command);
  const inherited = lineage(command)
    .slice(0, -1)
    .flatMap(({ options }) => options)
    .filter(({ hidden, long }) => !hidden && long !== '--version')
    .filter((option) => !offline.has(command) || groupOfOption(option) !== 'Requests:');
  return [...own.filter((option) => !isHelp(option)), ...inherited, ...own.filter(isHelp)];
}

const isHelp = ({ long }: Option): boolean => long === '--help';

function sectionsOf(this: Help, command: Command, help: Help): string {
  const width = help.padWidth(command, help);
  const commands = help.groupItems([], help.visibleCommands(command), groupOfCommand);
  const hasTopics = command.parent === null || command.name() === 'help';
  const tables: TopicTable[] = [
    ...[...commands].map(([heading, group]) => ({ heading, rows: commandRows(group, help) })),
    { heading: 'Topics, as in help exit-codes:', rows: hasTopics ? Object.entries(topics) : [] },
    {
      heading: 'Arguments:',
      rows: help
        .visibleArguments(command)
        .map((each) => [help.argumentTerm(each), help.argumentDescription(each)]),
    },
    ...optionTables(command, help),
  ];
  const description = help.boxWrap(help.commandDescription(command), help.helpWidth ?? 80);
  const lists = tables.flatMap(({ heading, rows }) => {
    const items = rows.map(([term, text]) => help.formatItem(term, width, text, help));
    return help.formatItemList(heading, items, help);
  });
  const opening = [`Usage: ${help.commandUsage(command)}`, description].filter(Boolean);
  return [...opening.flatMap((part) => [part, '']), ...lists].join('\n');
}

const groupOfCommand = (command: Command): string => command.helpGroup() || 'Commands:';
/** Help stands last of all. */
const groupOfOption = (option: Option): string =>
  isHelp(option) ? 'Messages:' : (option.helpGroupHeading ?? 'Options:');

export const commandRows = (commands: readonly Command[], help: Help): TopicTable['rows'] =>
  commands.map((each) => [help.subcommandTerm(each), help.subcommandDescription(each)]);

export const optionRows = (options: readonly Option[], help: Help): TopicTable['rows'] =>
  options.map((each) => [help.optionTerm(each), help.optionDescription(each)]);

/** The options that may stand with a command, in their groups. */
export function optionTables(command: Command, help: Help): TopicTable[] {
  const groups = help.groupItems([], help.visibleOptions(command), groupOfOption);
  return [...groups].map(([heading, options]) => ({ heading, rows: optionRows(options, help) }));
}

const argumentText = (argument: Argument): string => {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
};

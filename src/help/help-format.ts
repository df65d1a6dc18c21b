import { Help, type Argument, type Command, type Option } from 'commander';
import { topics } from './topics.js';

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

function optionsOf(this: Help, command: Command): Option[] {
  const own = Help.prototype.visibleOptions.call(this, command);
  const inherited = ancestors(command)
    .flatMap(({ options }) => options)
    .filter(({ hidden, long }) => !hidden && long !== '--version');
  return [...own.filter((option) => !isHelp(option)), ...inherited, ...own.filter(isHelp)];
}

const isHelp = ({ long }: Option): boolean => long === '--help';

const ancestors = ({ parent }: Command): Command[] =>
  parent === null ? [] : [parent, ...ancestors(parent)];

function sectionsOf(this: Help, command: Command, help: Help): string {
  const width = help.padWidth(command, help);
  const item = (term: string, text: string) => help.formatItem(term, width, text, help);
  const list = (title: string, items: string[]) => this.formatItemList(title, items, help);
  const description = help.boxWrap(help.commandDescription(command), help.helpWidth ?? 80);
  const commands = this.groupItems([], help.visibleCommands(command), groupOfCommand);
  const options = this.groupItems([], help.visibleOptions(command), groupOfOption);
  return [
    `Usage: ${help.commandUsage(command)}`,
    '',
    ...(description === '' ? [] : [description, '']),
    ...[...commands].flatMap(([title, group]) =>
      list(
        title,
        group.map((each) => item(help.subcommandTerm(each), help.subcommandDescription(each))),
      ),
    ),
    ...list(
      'Topics, as in help exit-codes:',
      topicsOf(command).map(([name, text]) => item(name, text)),
    ),
    ...list(
      'Arguments:',
      help
        .visibleArguments(command)
        .map((each) => item(help.argumentTerm(each), help.argumentDescription(each))),
    ),
    ...[...options].flatMap(([title, group]) =>
      list(
        title,
        group.map((each) => item(help.optionTerm(each), help.optionDescription(each))),
      ),
    ),
  ].join('\n');
}

/** They stand in the help of the program and of `help`. */
const topicsOf = (command: Command): [name: string, text: string][] =>
  command.parent === null || command.name() === 'help' ? Object.entries(topics) : [];

const argumentText = (argument: Argument): string => {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  return argument.required ? `<${name}>` : `[${name}]`;
};

const groupOfCommand = (command: Command): string => command.helpGroup() || 'Commands:';
const groupOfOption = (option: Option): string => option.helpGroupHeading ?? 'Options:';

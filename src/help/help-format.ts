import { Help, type Argument, type Command, type Option } from 'commander';
import {
  commandPath,
  examplesOf,
  renderExamples,
  renderTables,
  wrap,
  type Table,
} from './layout.js';
import { withProgramName } from '../wording.js';
import { topics } from './topics.js';

/** `short` is the help of `-h`, which fits a screen; `full` lists all flags. */
export type HelpLength = 'short' | 'full';

/**
 * Overrides of commander's help: subcommands come before the options, and the global options, in groups,
 * after those of the command itself.
 */
export const helpFormat = (helpWidth: number, length: HelpLength = 'full'): Partial<Help> => ({
  helpWidth,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(argumentText)].join(' '),
  visibleOptions: length === 'short' ? commonOptionsOf : optionsOf,
  optionDescription: ({ description, defaultValue, defaultValueDescription }) => {
    const text = length === 'short' ? description.replace(/ \[\$\w+\]$/, '') : description;
    return defaultValue === undefined || typeof defaultValue === 'boolean'
      ? text
      : `${text} (default: ${defaultValueDescription ?? String(defaultValue)})`;
  },
  formatHelp: length === 'short' ? shortHelpOf : sectionsOf,
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

/** Flags that most people need. */
const common = new WeakSet<Option>();
export const markCommon = (option: Option): void => void common.add(option);

function commonOptionsOf(this: Help, command: Command): Option[] {
  const all = optionsOf.call(this, command);
  const own = all.filter((option) => command.options.includes(option));
  // Required flags are common, but do not make the others rare.
  const choosesSome = own.some((option) => common.has(option) && !option.mandatory);
  return all.filter((option) =>
    choosesSome || !own.includes(option) ? common.has(option) || isLast(option) : true,
  );
}

/** Examples, usage, the common flags without headings, and where to find the rest. */
function shortHelpOf(this: Help, command: Command, help: Help): string {
  if (isNoun(command)) return sectionsOf.call(this, command, help);
  const { helpWidth: width = 80 } = help;
  const isProgram = command.parent === null;
  const tables: Table[] = [
    {
      heading: 'Commands:',
      rows: isProgram ? commandRows(help.visibleCommands(command), help) : [],
    },
    { heading: 'Arguments:', rows: argumentRows(command, help) },
    { heading: 'Options:', rows: isProgram ? [] : optionRows(help.visibleOptions(command), help) },
  ];
  const name = commandPath(command)
    .map((each) => each.name())
    .join(' ');
  const more = isProgram
    ? [
        `Flags: ${name} <command> -h; all of them: ${name} <command> --help`,
        `Topics of ${name} help: ${Object.keys(topics).join(', ')}`,
      ]
    : [`All flags: ${name} --help`];
  const footer = more.flatMap((line) => wrap(line, width));
  return [openingOf(command, help), ...renderTables(tables, width), footer.join('\n'), ''].join(
    '\n',
  );
}

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
    { heading: 'Arguments:', rows: argumentRows(command, help) },
    ...(isNoun(command) ? [helpTable(command, help)] : optionTables(command, help)),
  ];
  return [openingOf(command, help), ...renderTables(tables, width)].join('\n');
}

function openingOf(command: Command, help: Help): string {
  const { helpWidth: width = 80 } = help;
  const [program] = commandPath(command);
  const examples = examplesOf(command).map(
    ([what, line]) => [what, withProgramName(line, program!.name())] as const,
  );
  const opening = [
    examples.length > 0 ? renderExamples(examples, width).trimEnd() : '',
    // The program's name can be a long path.
    `Usage: ${wrap(help.commandUsage(command), width - 7).join('\n    ')}`,
    wrap(descriptionOf(command), width).join('\n'),
  ].filter(Boolean);
  return opening.map((part) => `${part}\n`).join('\n');
}

const argumentRows = (command: Command, help: Help): Table['rows'] =>
  help.visibleArguments(command).map((each) => [help.argumentTerm(each), each.description]);

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

import { examplesOf, commandPath, type Table } from './layout.js';
import { commandRows, descriptionOf, optionRows, optionTables } from './help-format.js';
import { topicNames, type TopicName } from './topics.js';
import type { Topic } from './topic-pages.js';
import type { Command, Help } from 'commander';

/** A manual page in the man(7) language. */
interface ManPage {
  /** File name, like `engagectl-upload.1`. */
  readonly file: string;
  readonly text: string;
}

interface ManualParts {
  readonly topics: Readonly<Record<TopicName, Topic>>;
  /** YYYY-MM-DD. */
  readonly date: string;
}

/** Builds a page for the program, with the topics, and one for each command. */
export function manPages(program: Command, { topics, date }: ManualParts): ManPage[] {
  const help = program.createHelp();
  const commands = help.visibleCommands(program);
  const names = [program, ...commands].map(pageName).toSorted();
  return [program, ...commands].map((command) => {
    const name = pageName(command);
    const isProgram = command === program;
    const others = names.filter((other) => other !== name);
    const lines = [
      `.TH ${name.toUpperCase()} 1 "${date}" "engagectl ${program.version() ?? ''}" "engagectl"`,
      '.SH NAME',
      `${hyphens(name)} \\-`,
      ...filled((command.summary() || command.description()).replace(/\.$/, '')),
      ...opening(isProgram ? [program] : [command, ...command.commands], help),
      ...(isProgram ? ['.SH COMMANDS', ...tagged(commandRows(commands, help))] : []),
      '.SH OPTIONS',
      ...optionTables(command, help).flatMap(part),
      ...(isProgram ? [] : command.commands.flatMap((child) => subcommand(child, help))),
      ...(isProgram ? topicNames.flatMap((topic) => topicSection(topic, topics[topic])) : []),
      '.SH SEE ALSO',
      others.map((other) => `.BR ${hyphens(other)} (1)`).join(' ,\n'),
    ];
    return { file: `${name}.1`, text: `${lines.join('\n')}\n` };
  });
}

const pageName = (command: Command): string =>
  commandPath(command)
    .map((each) => each.name())
    .join('-');

/** The opening sections of a command and its subcommands. */
function opening(commands: readonly [Command, ...Command[]], help: Help): string[] {
  const [command] = commands;
  const usages = commands.map((each) => `.B ${escaped(help.commandUsage(each))}`);
  const examples = commands.flatMap(examplesOf);
  return [
    '.SH SYNOPSIS',
    usages.join('\n.br\n'),
    '.SH DESCRIPTION',
    ...filled(descriptionOf(command)),
    '.SH EXAMPLES',
    // A command and its subcommand can share an example.
    ...examples
      .filter(([, line], at) => examples.findIndex((other) => other[1] === line) === at)
      .flatMap(([what, line]) => ['.TP'].concat(filled(`${what}:`), `.B ${escaped(line)}`)),
  ];
}

/** Options of the subcommand itself; those of its parents are listed before. */
const subcommand = (command: Command, help: Help): string[] => [
  `.SH ${escaped(command.name().toUpperCase())}`,
  ...filled(help.subcommandDescription(command)),
  ...tagged(
    optionRows(
      command.options.filter(({ hidden }) => !hidden),
      help,
    ),
  ),
];

/** Topics with the heading that manual pages conventionally use. */
const headings: Partial<Record<TopicName, string>> = {
  'exit-codes': 'EXIT STATUS',
  errors: 'DIAGNOSTICS',
};

const topicSection = (name: TopicName, { parts }: Topic): string[] => [
  `.SH ${headings[name] ?? name.toUpperCase()}`,
  ...parts.flatMap(part).slice(typeof parts[0] === 'string' ? 1 : 0), // no .PP after .SH
];

const part = (content: string | Table): string[] =>
  typeof content === 'string'
    ? ['.PP', ...filled(content)]
    : [`.SS ${escaped(content.heading.replace(/:$/, ''))}`, ...tagged(content.rows)];

const tagged = (rows: Table['rows']): string[] =>
  rows.flatMap(([term, text]) => ['.TP', `.B ${escaped(term.trimEnd())}`, ...filled(text)]);

/** Wraps text into source lines of at most 60 characters; roff fills them again. */
const filled = (text: string): string[] =>
  (text.match(/\S(?:.{0,58}\S)?(?=\s|$)|\S+/g) ?? []).map(escaped);

/** Escapes text for roff: no escapes, no requests, ASCII only. */
const escaped = (text: string): string =>
  hyphens(text.replaceAll('\\', String.raw`\e`))
    .replaceAll(
      /[^\u0020-\u007E]/g,
      (c) => `\\[u${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^(?=[.'])/, String.raw`\&`)
    .replaceAll('"', String.raw`\(dq`);

const hyphens = (text: string): string => text.replaceAll('-', String.raw`\-`);

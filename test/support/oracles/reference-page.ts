import type { Argument, Command, Help } from 'commander';
import { examplesOf } from '../../../src/help/layout.js';
import {
  commandRows,
  descriptionOf,
  optionRows,
  optionTables,
} from '../../../src/help/help-format.js';
import { commandPath } from '../../../src/help/layout.js';
import type { Table } from '../../../src/help/layout.js';

/** All commands with their flags and examples as one page of Markdown: docs/reference.md. */
export function referencePage(program: Command): string {
  const help = program.createHelp();
  const commands = allOf(program, help);
  const contents = commands.map(
    (command) => `- ${link(command)}: ${help.subcommandDescription(command)}`,
  );
  return [
    '# Reference',
    'Every command with its flags, as `engagectl help <command>` prints them. This page is written from the program, by `npx vitest run test/docs/command-reference.test.ts -u`.',
    contents.join('\n'),
    ...section('Flags of every command', optionTables(program, help)),
    ...commands.flatMap((command) => commandPart(command, help)),
  ]
    .join('\n\n')
    .concat('\n');
}

/** Without the help of each noun, which commander adds to its commands by itself. */
const allOf = (command: Command, help: Help): Command[] =>
  help
    .visibleCommands(command)
    .flatMap((child) => (command.commands.includes(child) ? [child, ...allOf(child, help)] : []));

const nameOf = (command: Command): string =>
  commandPath(command)
    .map((each) => each.name())
    .join(' ');

const link = (command: Command): string =>
  `[${nameOf(command)}](#${nameOf(command).replaceAll(' ', '-')})`;

function commandPart(command: Command, help: Help): string[] {
  const examples = examplesOf(command).map(([what, line]) => `# ${what}\n${line}`);
  const own = help.groupItems(
    [],
    command.options.filter(({ hidden }) => !hidden),
    ({ helpGroupHeading: heading = 'Options:' }) => heading,
  );
  const tables: Table[] = [
    { heading: 'Commands:', rows: commandRows(command.commands, help) },
    { heading: 'Arguments:', rows: command.registeredArguments.map(argumentRow) },
    ...[...own].map(([heading, options]) => ({ heading, rows: optionRows(options, help) })),
  ];
  return [
    `## ${nameOf(command)}`,
    escaped(descriptionOf(command)),
    `\`\`\`text\n${help.commandUsage(command)}\n\`\`\``,
    ...(examples.length > 0 ? [`\`\`\`text\n${examples.join('\n')}\n\`\`\``] : []),
    ...tables.filter(({ rows }) => rows.length > 0).map(tableText),
  ];
}

const argumentRow = (argument: Argument) => [argument.name(), argument.description] as const;

const section = (heading: string, tables: readonly Table[]): string[] => [
  `## ${heading}`,
  ...tables.map(tableText),
];

const tableText = ({ heading, rows }: Table): string =>
  [
    `| ${heading.replace(/:$/, '')} | |`,
    '| --- | --- |',
    ...rows.map(([term, text]) => `| \`${inCell(term)}\` | ${inCell(escaped(text))} |`),
  ].join('\n');

const inCell = (text: string): string => text.replaceAll('|', String.raw`\|`);

/** Characters that Markdown would read as HTML or emphasis. */
const escaped = (text: string): string => text.replaceAll(/[<*_]/g, String.raw`\$&`);

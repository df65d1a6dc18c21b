import type { Command, Help, Option } from 'commander';
import { examplesOf, type Example } from './examples.js';
import { topicNames, type Topic, type TopicName, type TopicPart } from './topics.js';

/** A manual page in the man(7) language. */
export interface ManualPage {
  /** Like `engagectl-upload.1`. */
  readonly file: string;
  readonly text: string;
}

interface ManualParts {
  readonly topics: Readonly<Record<TopicName, Topic>>;
  /** YYYY-MM-DD. */
  readonly date: string;
}

/** A page for the program, with the topics, and one for each command. */
export function manualPages(program: Command, { topics, date }: ManualParts): ManualPage[] {
  const help = program.createHelp();
  const commands = help.visibleCommands(program);
  const others = [program, ...commands].map(pageName).toSorted();
  return [program, ...commands].map((command) => {
    const seeAlso = others.filter((name) => name !== pageName(command));
    const lines = [
      ...opening(command, { program, date }),
      ...body(command, help),
      ...(command === program
        ? topicNames.flatMap((name) => topicSection(name, topics[name]))
        : []),
      '.SH SEE ALSO',
      seeAlso.map((name) => `.BR ${hyphens(name)} (1)`).join(' ,\n'),
    ];
    return { file: `${pageName(command)}.1`, text: `${lines.join('\n')}\n` };
  });
}

const pageName = (command: Command): string =>
  command.parent === null ? command.name() : `${pageName(command.parent)}-${command.name()}`;

function opening(
  command: Command,
  { program, date }: { readonly program: Command; readonly date: string },
): string[] {
  const name = pageName(command);
  const what = command.summary() || command.description();
  return [
    `.TH ${name.toUpperCase()} 1 "${date}" "engagectl ${program.version() ?? ''}" "engagectl"`,
    '.SH NAME',
    `${hyphens(name)} \\-`,
    ...filled(what.replace(/\.$/, '')),
  ];
}

/** What help says of a command, and of its subcommands in sections of their own. */
function body(command: Command, help: Help): string[] {
  const isProgram = command.parent === null;
  const children = isProgram ? [] : command.commands;
  const lines = ['.SH SYNOPSIS'];
  for (const each of [command, ...children]) {
    if (each !== command) lines.push('.br');
    lines.push(`.B ${escaped(help.commandUsage(each))}`);
  }
  lines.push(
    '.SH DESCRIPTION',
    ...filled(command.description() || command.summary()),
    '.SH EXAMPLES',
  );
  for (const [what, line] of [command, ...children].flatMap(examplesOf).filter(isFirst)) {
    lines.push('.TP', ...filled(`${what}:`), `.B ${escaped(line)}`);
  }
  if (isProgram) lines.push(...commandList(command, help));
  lines.push(...options(command, help));
  for (const child of children) lines.push(...subcommand(child, help));
  return lines;
}

const commandList = (program: Command, help: Help): string[] => [
  '.SH COMMANDS',
  ...help
    .visibleCommands(program)
    .flatMap((each) => tagged(help.subcommandTerm(each), help.subcommandDescription(each))),
];

function options(command: Command, help: Help): string[] {
  const groups = new Map<string, string[]>();
  for (const option of help.visibleOptions(command)) {
    const group = option.helpGroupHeading ?? 'Options:';
    const items = groups.get(group) ?? [heading(group)];
    groups.set(group, items.concat(optionItem(option, help)));
  }
  return ['.SH OPTIONS', ...[...groups.values()].flat()];
}

/** Its own options only: the others stand above. */
const subcommand = (command: Command, help: Help): string[] => [
  `.SH ${escaped(command.name().toUpperCase())}`,
  ...filled(help.subcommandDescription(command)),
  ...command.options.filter(({ hidden }) => !hidden).flatMap((option) => optionItem(option, help)),
];

const optionItem = (option: Option, help: Help): string[] =>
  tagged(help.optionTerm(option), help.optionDescription(option));

/** Topics have the headings that manual pages are known by. */
const headings: Partial<Record<TopicName, string>> = {
  'exit-codes': 'EXIT STATUS',
  errors: 'DIAGNOSTICS',
};

const topicSection = (name: TopicName, { parts }: Topic): string[] => [
  `.SH ${headings[name] ?? name.toUpperCase()}`,
  ...parts.flatMap(topicPart).slice(typeof parts[0] === 'string' ? 1 : 0), // no .PP behind .SH
];

function topicPart(part: TopicPart): string[] {
  if (typeof part === 'string') return ['.PP', ...filled(part)];
  const rows = part.rows.flatMap(([term, meaning]) => tagged(term.trimEnd(), meaning));
  return [heading(part.heading), ...rows];
}

const heading = (text: string): string => `.SS ${escaped(text.replace(/:$/, ''))}`;

const tagged = (term: string, text: string): string[] => [
  '.TP',
  `.B ${escaped(term)}`,
  ...filled(text),
];

/** An example may stand in the help of a command and of its subcommand. */
const isFirst = (example: Example, at: number, all: readonly Example[]): boolean =>
  all.findIndex(([, line]) => line === example[1]) === at;

/** Text in source lines of at most 60 characters, before roff's escapes; roff fills them again. */
const filled = (text: string): string[] =>
  (text.match(/\S(?:.{0,58}\S)?(?=\s|$)|\S+/g) ?? []).map(escaped);

/** Text that roff takes as it stands: no escapes, no requests, nothing beyond ASCII. */
const escaped = (text: string): string =>
  hyphens(text.replaceAll('\\', String.raw`\e`))
    .replaceAll(
      /[^\u0020-\u007E]/g,
      (c) => `\\[u${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replace(/^(?=[.'])/, String.raw`\&`)
    .replaceAll('"', String.raw`\(dq`);

const hyphens = (text: string): string => text.replaceAll('-', String.raw`\-`);

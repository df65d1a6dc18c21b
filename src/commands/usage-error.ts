import { CommanderError, InvalidArgumentError, type Command } from 'commander';
import { EngagectlError } from '../errors.js';
import { topics } from '../help/topics.js';

/**
 * commander's own errors as E-USAGE, with the names that were perhaps meant: those that begin with
 * what was typed, else the nearest ones, which commander finds. Anything else as it is.
 */
export function usageError(thrown: unknown, program: Command, argv: readonly string[]): unknown {
  if (!(thrown instanceof CommanderError || thrown instanceof InvalidArgumentError)) return thrown;
  const command = commandOf(program, argv);
  const help = argv.find((word) => !word.startsWith('-')) === 'help';
  const [first = '', nearest = ''] = thrown.message.replace(/^error: /, '').split('\n');
  const message =
    thrown.code === 'commander.help' ? 'a subcommand is missing' : withoutValue(first);
  const typed = /^unknown (?:command|option) '([^']+)'/.exec(message)?.[1];
  const meant = typed === undefined ? [] : namesFrom(typed, command, help);
  const names = meant.length > 0 ? meant : (nearest.match(/(?<=[ ,])[\w-]+(?=[,?])/g) ?? []);
  const path = pathOf(command, help);
  const fixes = names.map((name) => (name.startsWith('-') ? name : `${path} ${name}`));
  return new EngagectlError('E-USAGE', message, {
    fix: fixes.length > 0 ? `did you mean: ${fixes.join(', ')}` : `${path} --help`,
    cause: thrown,
  });
}

/** `--passcode=…` is no flag, but a passcode may stand in it. */
const withoutValue = (message: string): string =>
  message.replace(/^(unknown option '-[^=']*)=[^]*'$/, "$1'");

/** The command whose words `argv` begins with; option values in between do no harm but to a hint. */
function commandOf(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv.filter((each) => each !== 'help')) {
    command = command.commands.find((child) => child.name() === word) ?? command;
  }
  return command;
}

function namesFrom(typed: string, command: Command, help: boolean): string[] {
  if (!typed.startsWith('-')) {
    const names = command.commands.map((child) => child.name());
    if (help && command.parent === null) names.push(...Object.keys(topics));
    return names.filter((name) => name.startsWith(typed));
  }
  const flags = lineage(command).flatMap(({ options }) => options.map(({ long }) => long ?? ''));
  return typed.length > 2 ? flags.filter((flag) => flag.startsWith(typed)) : [];
}

/** The words that name the command, or that ask for its help. */
function pathOf(command: Command, help: boolean): string {
  const [program = '', ...names] = lineage(command).map((each) => each.name());
  return [program, ...(help ? ['help'] : []), ...names].join(' ');
}

/** The program, and so on down to the command. */
function lineage(command: Command): Command[] {
  return [...(command.parent ? lineage(command.parent) : []), command];
}

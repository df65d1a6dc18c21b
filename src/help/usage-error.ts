import { CommanderError, InvalidArgumentError, type Command } from 'commander';
import { EngagectlError, errorIds } from '../errors.js';
import { closestName as nearestName } from '../did-you-mean.js';
import { commandPath } from './layout.js';
import { topics } from './topics.js';

/**
 * Converts commander's errors to E-USAGE with suggestions: names that start with the typed text,
 * otherwise the nearest ones, which commander finds. Other errors are returned unchanged.
 */
export function usageError(thrown: unknown, program: Command, argv: readonly string[]): unknown {
  if (!(thrown instanceof CommanderError || thrown instanceof InvalidArgumentError)) return thrown;
  const command = commandOf(program, argv);
  const help = argv.find((word) => !word.startsWith('-')) === 'help';
  const [first = '', nearest = ''] = thrown.message.replace(/^error: /, '').split('\n');
  const messages = messageOf(thrown, command, { first, argv });
  const typed = /^unknown (?:command|option) '([^']+)'/.exec(messages)?.[1];
  const known = typed?.startsWith('-') ? flagsOf(command) : commandsOf(command, help);
  const names: string[] =
    typed === undefined ? misspelt(thrown, command, argv) : [...namesLike(typed, known, nearest)];
  const path = pathOf(command, help);
  const id = typed?.toUpperCase() ?? '';
  if (id in errorIds) names.push(`errors ${id}`);
  const isCommand = messages.startsWith('unknown command');
  const isTopicToo = isCommand && help && command.parent === null;
  const message = isTopicToo ? messages.replace('command', 'command or topic') : messages;
  const fixes = names.map((name) => (name.startsWith('-') ? name : `${path} ${name}`));
  const isReported = (problem: string) => message.includes(problem.replace(/\.$/, ''));
  const others = problemsOf(program).filter((problem) => !isReported(problem));
  const all = joinProblems([message, ...others]);
  const listed = `known are ${known.filter(isForPeople).join(', ')}`;
  const isVariable = all.startsWith('environment variable');
  const advice = isVariable ? 'correct it, or unset it' : help ? path : `${path} --help`;
  return new EngagectlError('E-USAGE', all, {
    why: isCommand
      ? listed
      : isVariable
        ? 'it counts where its flag is not given'
        : reasonOf(all, typed, command, path),
    fix: fixes.length > 0 ? `did you mean: ${fixes.join(', ')}` : advice,
    cause: thrown,
  });
}

/** Returns the purpose of a flag that the message names. */
function reasonOf(
  message: string,
  typed: string | undefined,
  command: Command,
  path: string,
): string {
  if (typed === '--passcode') return 'others on this machine could read it off the command line';
  if (typed !== undefined) return `${path} has no such flag`;
  const options = commandPath(command).flatMap((each) => each.options);
  const named = options.filter(({ flags }) => message.includes(flags));
  if (named.length === 0) return `it is used like this: ${path} ${command.usage()}`;
  return named.map(({ flags, description }) => `${flags}: ${description}`).join('. ');
}

function messageOf(
  { code }: { code: string },
  command: Command,
  { first, argv }: { readonly first: string; readonly argv: readonly string[] },
): string {
  if (code === 'commander.invalidArgument')
    return first.replace(notAmong, "'$1' is no <$2>. Use one of: ");
  if (code !== 'commander.missingMandatoryOptionValue')
    return withoutValue(first, flagsOf(command));
  const missing = command.options.filter(
    (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
  );
  const unknown = unknownFlags(command, argv).map((flag) => `unknown option '${flag}'`);
  return [`missing: ${missing.map(({ flags }) => flags).join(', ')}`, ...unknown].join('; ');
}

const notAmong =
  /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are /;

/** Suggests a misspelled flag if a required one is missing. */
function misspelt({ code }: Error & { code: string }, command: Command, argv: readonly string[]) {
  if (code !== 'commander.missingMandatoryOptionValue') return [];
  const flags = flagsOf(command);
  return unknownFlags(command, argv).flatMap((flag) => nearestName(flag, flags) ?? []);
}

/**
 * Returns words that look like flags but are unknown; commander reports them only if no required flag is
 * missing.
 */
function unknownFlags(command: Command, argv: readonly string[]): string[] {
  const flags = flagsOf(command);
  const words = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : undefined);
  const typed = words.map((word) => word.replace(/=.*/, '')).filter((word) => /^--./.test(word));
  return typed.filter((flag) => !flags.includes(flag) && flag !== '--help');
}

/** Removes the value: a passcode may be in `--passcode=…`, although it is not a flag. */
function withoutValue(message: string, known: readonly string[]): string {
  const flag = /^unknown option '(-[^=']*)=[^]*'$/.exec(message)?.[1];
  if (flag === undefined) return message;
  return flag === '--help' || known.includes(flag)
    ? `option '${flag}' takes no value`
    : `unknown option '${flag}'`;
}

/** Finds the command that `argv` starts with; option values in between can only affect a hint. */
function commandOf(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv.filter((each) => each !== 'help')) {
    command = command.commands.find((child) => child.name() === word) ?? command;
  }
  return command;
}

/** Returns names to suggest; `nearest` is commander's own hint. */
function namesLike(typed: string, known: readonly string[], nearest: string): readonly string[] {
  const withPrefix = typed === '--' ? [] : known.filter((name) => name.startsWith(typed));
  if (withPrefix.length > 0) return withPrefix;
  const hinted = nearest.match(/(?<=[ ,])[\w-]+(?=[,?])/g);
  if (hinted) return hinted;
  const slips = known.filter((name) => startsWithOneTypo(typed, name));
  return slips.length > 0 ? slips : known.filter((name) => containsWords(name, typed));
}

/** Whether the words of a flag start or end with the typed text: `--input-format`, `--format`. */
const containsWords = (name: string, typed: string): boolean =>
  /^--../.test(typed) &&
  (name.endsWith(typed.slice(1)) || (name.length > 2 && typed.startsWith(`${name}-`)));

/** The command's own flags come first. */
const flagsOf = (command: Command): string[] =>
  commandPath(command)
    .toReversed()
    .flatMap(({ options }) => options.map(({ long }) => long ?? ''));

const commandsOf = (command: Command, help: boolean): string[] => [
  ...command.commands.map((child) => child.name()),
  ...(help && command.parent === null ? Object.keys(topics) : []),
];

/** `__complete` is for scripts. */
const isForPeople = (name: string): boolean => !name.startsWith('_');

/**
 * Whether a name starts with the typed text, except for one typo: two letters swapped, one wrong,
 * missing or added.
 */
function startsWithOneTypo(typed: string, name: string): boolean {
  let i = 0;
  while (i < typed.length && typed[i] === name[i]) i += 1;
  const swapped = typed[i + 1] === name[i] && typed[i] === name[i + 1];
  return (
    typed.length > 3 &&
    ((swapped && name.startsWith(typed.slice(i + 2), i + 2)) ||
      name.startsWith(typed.slice(i + 1), i + 1) ||
      name.startsWith(typed.slice(i), i + 1) ||
      name.startsWith(typed.slice(i + 1), i))
  );
}

/** Returns the words that lead to the command, or to its help. */
function pathOf(command: Command, help: boolean): string {
  const [program = '', ...names] = commandPath(command).map((each) => each.name());
  return [program, ...(help ? ['help'] : []), ...names].join(' ');
}

/** Problems of a command line, by its program. */
const problems = new WeakMap<Command, string[]>();

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command);

/** Stores a problem until the whole command line is parsed. */
export function addProblem(command: Command, problem: string): void {
  const root = rootOf(command);
  problems.set(root, [...(problems.get(root) ?? []), problem]);
}

const problemsOf = (command: Command): readonly string[] => problems.get(rootOf(command)) ?? [];

/** Joins several problems into one sentence. */
export const joinProblems = (all: readonly string[]): string =>
  all.length === 1 ? all[0]! : all.map((problem) => problem.replace(/\.$/, '')).join('; ');

/** Throws all stored problems together. */
export function throwProblems(command: Command): void {
  const noted = problemsOf(command);
  if (noted.length > 0) throw new CommanderError(2, 'engagectl.problems', joinProblems(noted));
}

import { Argument, type Command } from 'commander';
import { addExamples, parseExamples, commandPath } from '../../help/layout.js';
import { setAccountNeeds, type AccountNeeds } from '../../help/help-format.js';
import { throwProblems } from '../../help/usage-error.js';
import { addOptions, type OptionTable } from '../flags/option-table.js';
import { resolveGlobalOptions, type GlobalOptions } from './global-options.js';
import type { Runtime } from '../../runtime.js';

/** A command as data: what a person types, what help says of it, and what it does. */
export interface CommandSpec<Flags = object> {
  readonly summary?: string;
  readonly description?: string;
  readonly operands?: readonly Operand[];
  readonly options?: OptionTable;
  /** Two to four, each a line that says what and the command line; a test runs them. */
  readonly examples?: string;
  /** Flags that are not its own are operands: they belong to a command line among these. */
  readonly takesAnyFlag?: true;
  /** Not in the help. */
  readonly hidden?: true;
  /** It makes no requests, or has nothing to do with an account either: help leaves those flags out. */
  readonly needs?: AccountNeeds;
  /** Each is loaded when it is typed, or when the whole tree is wanted. */
  readonly subcommands?: Readonly<Record<string, () => CommandSpec | Promise<CommandSpec>>>;
  /** Undefined for a command that only has subcommands. Loads by `import()` what it needs. */
  run?(call: Invocation<Flags>): Promise<void> | void;
}

type Operand = readonly [
  name: string,
  help: string,
  details?: { readonly parse?: (text: string) => string; readonly choices?: readonly string[] },
];

/** A command line that was typed. */
export interface Invocation<Flags = object> {
  readonly operands: readonly string[];
  readonly flags: Flags;
  readonly runtime: Runtime;
  readonly command: Command;
  readonly program: CommandTree;
  /** The global options. Throws when a variable that stands in for one is wrong. */
  readonly settings: () => GlobalOptions;
}

/** For commands about commands. */
export interface CommandTree {
  /** The whole command tree. */
  tree(runtime: Runtime): Promise<Command>;
}

/** What was typed, read and right: to be done when commander, which copies all words, is through. */
export type Defer = (work: () => Promise<void> | void) => void;

/**
 * Registers a command with commander. `words` are those typed behind its name: the subcommand that they
 * begin with is loaded alone, or else all of them; undefined: none is needed.
 */
export async function addCommand(
  parent: Command,
  name: string,
  {
    spec,
    begin,
    words,
    ...world
  }: {
    spec: CommandSpec;
    begin: Defer;
    words: readonly string[] | undefined;
    program: CommandTree;
    runtime: Runtime;
  },
): Promise<void> {
  // Not `addCommand` of commander: such a command would end the process at a wrong flag.
  const command = parent.command(name, { hidden: spec.hidden ?? false });
  if (spec.hidden) command.helpOption(false);
  if (spec.needs) setAccountNeeds(command, spec.needs);
  if (spec.subcommands) {
    command
      .usage('<command> [options]')
      .helpCommand('help [command]', 'help of one of them, with its flags');
    showHelpWithoutSubcommand(command);
  }
  command.summary(spec.summary ?? '').description(spec.description ?? '');
  for (const [operand, help, { parse, choices } = {}] of spec.operands ?? []) {
    const argument = new Argument(operand, help);
    if (choices) argument.choices(choices);
    command.addArgument(parse ? argument.argParser(parse) : argument);
  }
  if (spec.takesAnyFlag) command.allowUnknownOption();
  addOptions(command, spec.options ?? []);
  if (spec.examples) addExamples(command, parseExamples(spec.examples));
  for (const [child, of] of await subcommandsOf(spec, words))
    await addCommand(command, child, { spec: of, begin, words: words?.slice(1), ...world });
  if (!spec.run) return;
  // commander hands over the operands one by one, the flags, and the command itself.
  command.action((...given: unknown[]) => {
    throwProblems(command);
    const typed = given.slice(0, -2).flat() as (string | undefined)[];
    const operands = typed.filter((word) => word !== undefined);
    for (const each of commandPath(command)) Object.assign(each, { args: [], processedArgs: [] });
    const settings = () => resolveGlobalOptions(command, world.runtime);
    const runtime =
      command.optsWithGlobals()['input'] === false ? withoutInput(world.runtime) : world.runtime;
    begin(() =>
      spec.run?.({ operands, flags: command.opts(), command, settings, ...world, runtime }),
    );
  });
}

async function subcommandsOf(
  { subcommands = {} }: CommandSpec,
  words: readonly string[] | undefined,
): Promise<[name: string, spec: CommandSpec][]> {
  if (words === undefined) return [];
  const all = Object.entries(subcommands);
  const named = all.filter(([name]) => name === words[0]);
  const wanted = named.length > 0 ? named : all;
  return Promise.all(wanted.map(async ([name, load]) => [name, await load()]));
}

/** Where no subcommand is named, help is what was asked for, as with `gh config`: exit 0, on stdout. */
export function showHelpWithoutSubcommand(command: Command): void {
  const help = command.help.bind(command);
  command.help = () => {
    const [, unknown] = command.args; // behind `help`
    if (unknown === undefined) return help();
    return command.error(`unknown command '${unknown}'`, { code: 'commander.unknownCommand' });
  };
}

/** The same world, with the variable that stands for --no-input. Streams are opened when they are used. */
function withoutInput(runtime: Runtime): Runtime {
  const env = { value: { ...runtime.env, ENGAGECTL_NO_INPUT: '1' }, enumerable: true };
  return Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(runtime), env },
  ) as Runtime;
}

/** Thrown by a command that stands for another command line: that one is run, as if it had been typed. */
export class CommandRedirect extends Error {
  readonly argv: readonly string[];
  readonly runtime: Runtime;

  constructor(argv: readonly string[], runtime: Runtime) {
    super(argv.join(' '));
    this.argv = argv;
    this.runtime = runtime;
  }
}

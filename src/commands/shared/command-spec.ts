import { Argument, type Command } from 'commander';
import { setExamples, parseExamples, commandPath } from '../../help/layout.js';
import { setAccountNeeds, type AccountNeeds } from '../../help/help-format.js';
import { rejectsFileOf } from '../../contract/file-formats.js';
import { secretFilesIn } from '../../redact.js';
import { throwProblems } from '../../help/usage-error.js';
import { addOptions, filesOf, type OptionTable } from '../flags/option-table.js';
import { globalOptionTable, resolveGlobalOptions, type GlobalOptions } from './global-options.js';
import type { Runtime } from '../../runtime.js';

/** A command as data: its flags and operands, its help, and its action. */
export interface CommandSpec<Flags = object> {
  readonly summary?: string;
  readonly description?: string;
  readonly operands?: readonly Operand[];
  readonly options?: OptionTable;
  /** Two to four examples, each a line with a description and the command line below it; a test runs them. */
  readonly examples?: string;
  /**
   * Treats flags that are not its own as operands, because they are part of a command line among the
   * operands.
   */
  readonly takesAnyFlag?: true;
  /** Hides the command from help. */
  readonly hidden?: true;
  /** For commands without requests or without an account: help omits the flags they do not need. */
  readonly needs?: AccountNeeds;
  /** Loaded when the subcommand is typed, or when the whole tree is needed. */
  readonly subcommands?: Readonly<Record<string, () => CommandSpec | Promise<CommandSpec>>>;
  /** Undefined for a command that only has subcommands. Loads heavy modules by `import()`. */
  run?(call: Invocation<Flags>): Promise<void> | void;
}

type Operand = readonly [
  name: string,
  help: string,
  details?: { readonly parse?: (text: string) => string; readonly choices?: readonly string[] },
];

/** A parsed command line. */
export interface Invocation<Flags = object> {
  readonly operands: readonly string[];
  readonly flags: Flags;
  readonly runtime: Runtime;
  readonly command: Command;
  readonly program: CommandTree;
  /** Returns the global options. Throws if an environment variable is invalid. */
  readonly settings: () => GlobalOptions;
  /**
   * Refuses output files that the command line also names by another option. For names that are known late, because
   * --output is a pattern. Throws E-USAGE.
   */
  readonly refuseOutputs: RefuseOutputs;
}

export type RefuseOutputs = (files: readonly string[]) => Promise<void>;

/** Access to all commands, for commands such as `help` and `completion`. */
export interface CommandTree {
  /** Builds the whole command tree. */
  tree(runtime: Runtime): Promise<Command>;
}

/** Defers an action until commander, which copies all words, has returned. */
export type Defer = (work: () => Promise<void> | void) => void;

/**
 * Registers a command with commander. `words` are the words typed after its name: only the subcommand
 * that they name is loaded, or all of them if they name none; undefined: no subcommand is needed.
 */
export async function addCommand(
  parent: Command,
  name: string,
  {
    spec,
    begin,
    words,
    ...context
  }: {
    spec: CommandSpec;
    begin: Defer;
    words: readonly string[] | undefined;
    program: CommandTree;
    runtime: Runtime;
  },
): Promise<void> {
  // Not `addCommand` of commander: such a command would end the process on a wrong flag.
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
  if (spec.examples) setExamples(command, parseExamples(spec.examples));
  for (const [child, of] of await subcommandsOf(spec, words))
    await addCommand(command, child, { spec: of, begin, words: words?.slice(1), ...context });
  if (!spec.run) return;
  // commander passes the operands one by one, then the flags, then the command itself.
  command.action((...given: unknown[]) => {
    throwProblems(command);
    const typed = given.slice(0, -2).flat() as (string | undefined)[];
    const operands = typed.filter((word) => word !== undefined);
    for (const each of commandPath(command)) Object.assign(each, { args: [], processedArgs: [] });
    const settings = () => resolveGlobalOptions(command, context.runtime);
    const runtime =
      command.optsWithGlobals()['input'] === false
        ? withoutInput(context.runtime)
        : context.runtime;
    const flags = command.opts();
    const options = [...(spec.options ?? []), ...globalOptionTable];
    begin(async () => {
      const given = { ...command.optsWithGlobals(), ...flags };
      const named = namedFiles(given, { ...spec, options }, { operands, runtime });
      await refuseSharedFiles(named, runtime);
      const refuseOutputs = outputCheck(named, runtime);
      await spec.run?.({ operands, flags, command, settings, ...context, runtime, refuseOutputs });
    });
  });
}

type NamedFiles = ReturnType<typeof filesOf>;

/** Returns the files that a command line and its environment name for reading and writing. */
function namedFiles(
  flags: Readonly<Record<string, unknown>>,
  { options = [], operands: declared = [] }: Pick<CommandSpec, 'options' | 'operands'>,
  { operands, runtime }: Pick<Invocation, 'operands' | 'runtime'>,
): NamedFiles {
  const { written, read } = filesOf(options, flags);
  const inputs = declared.some(([name]) => name.startsWith('[file')) ? operands : [];
  const rejects = written.length > 0 ? defaultRejects(options, flags, inputs) : [];
  return {
    written: [...rejects, ...written],
    read: [...read, ...inputs, ...secretFilesIn(runtime.env)],
  };
}

/** Refuses files that a command would write twice, or read and write. Throws E-USAGE. */
async function refuseSharedFiles({ written, read }: NamedFiles, { cwd }: Runtime): Promise<void> {
  if (written.length === 0) return;
  const { refuseReplacedFiles } = await import('../../files/path-checks.js');
  refuseReplacedFiles(written, read, cwd);
}

function outputCheck({ written, read }: NamedFiles, { cwd }: Runtime): RefuseOutputs {
  const others = written.filter(([option]) => option !== '--output');
  return async (files) => {
    if (others.length === 0 && read.length === 0) return;
    const { refuseReplacedFiles } = await import('../../files/path-checks.js');
    // One by one: of daily files, one may be a link to another.
    for (const file of files) refuseReplacedFiles([...others, ['--output', file]], read, cwd);
  };
}

/** Returns the rejects file that a command writes if its flags name none; see openRejects. */
function defaultRejects(
  options: OptionTable,
  { rejects, input }: { readonly rejects?: unknown; readonly input?: unknown },
  [first = input]: readonly unknown[],
): (readonly [option: string, file: string])[] {
  const hasRejects = options.some(([name]) => name === '--rejects <file>');
  if (!hasRejects || rejects !== undefined || typeof first !== 'string') return [];
  return [['--rejects', rejectsFileOf(first)]];
}

async function subcommandsOf(
  { subcommands = {} }: CommandSpec,
  words: readonly string[] | undefined,
): Promise<[name: string, spec: CommandSpec][]> {
  if (words === undefined) return [];
  const all = Object.entries(subcommands);
  const named = all.filter(([name]) => name === words[0]);
  const selected = named.length > 0 ? named : all;
  return Promise.all(selected.map(async ([name, load]) => [name, await load()]));
}

/** Shows help if no subcommand is given, as `gh config` does: exit 0, on stdout. */
export function showHelpWithoutSubcommand(command: Command): void {
  const help = command.help.bind(command);
  command.help = () => {
    const [, unknown] = command.args; // after `help`
    if (unknown === undefined) return help();
    return command.error(`unknown command '${unknown}'`, { code: 'commander.unknownCommand' });
  };
}

/** Returns a runtime with the variable that `--no-input` sets. Streams are opened lazily. */
function withoutInput(runtime: Runtime): Runtime {
  const env = { value: { ...runtime.env, ENGAGECTL_NO_INPUT: '1' }, enumerable: true };
  return Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(runtime), env },
  ) as Runtime;
}

/** Thrown by a command that stands for another command line, which is then run as if it had been typed in `cwd`. */
export class CommandRedirect extends Error {
  readonly argv: readonly string[];
  readonly cwd: string;

  constructor(argv: readonly string[], cwd: string) {
    super(argv.join(' '));
    this.argv = argv;
    this.cwd = cwd;
  }
}

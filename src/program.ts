import { Command, CommanderError } from 'commander';
import {
  addCommand,
  showHelpWithoutSubcommand,
  CommandRedirect,
  type Defer,
  type CommandSpec,
  type CommandTree,
} from './commands/shared/command-spec.js';
import { globalOptionTable, invalidVariables } from './commands/shared/global-options.js';
import { addOptions } from './commands/flags/option-table.js';
import { usageError, addProblem } from './help/usage-error.js';
import { setExamples, parseExamples } from './help/layout.js';
import { helpFormat, type HelpLength } from './help/help-format.js';
import { version } from './version.js';
import type { Runtime } from './runtime.js';

/** The commands by their heading in the help. Each file is loaded when it is needed. */
const commands: Readonly<Record<string, Readonly<Record<string, Load>>>> = {
  'Write:': {
    upload: () => import('./commands/upload.js'),
    subscribe: () => import('./commands/subscribe.js'),
    demerge: () => import('./commands/demerge.js'),
  },
  'Read:': {
    'export-profiles': () => import('./commands/export-profiles.js'),
    'export-events': () => import('./commands/export-events.js'),
    verify: () => import('./commands/verify.js'),
    'get-profile': () => import('./commands/get-profile.js'),
  },
  'Calling:': {
    call: () => import('./commands/call/command.js'),
    cuid: () => import('./commands/cuid.js'),
  },
  'Setup and tools:': {
    config: () => import('./commands/config/command.js'),
    doctor: () => import('./commands/doctor/command.js'),
    serve: () => import('./commands/serve/command.js'),
    runs: () => import('./commands/runs/command.js'),
    fleet: () => import('./commands/fleet/command.js'),
    completion: () => import('./commands/completion.js'),
    __complete: async () => ({
      command: (await import('./commands/completion.js')).completeCommand,
    }),
    version: async () => ({ command: (await import('./commands/help.js')).versionCommand }),
    help: () => import('./commands/help.js'),
  },
};
type Load = () => Promise<{ readonly command: CommandSpec }>;

/**
 * Runs one command line; returns the command line that it stands for, if any. Throws EngagectlError,
 * with E-USAGE for commander's errors; anything else thrown is a defect.
 */
export async function runProgram(
  argv: readonly string[],
  runtime: Runtime,
): Promise<CommandRedirect | undefined> {
  let typed: (() => Promise<void> | void) | undefined;
  const program = await buildProgram(runtime, argv, (work) => (typed = work));
  try {
    if (argv.length === 0) program.outputHelp();
    else program.parse(expandShortValues(argv, program), { from: 'user' });
    await typed?.();
    return undefined;
  } catch (thrown) {
    if (thrown instanceof CommandRedirect) return thrown;
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return undefined;
    for (const problem of invalidVariables(program, runtime)) addProblem(program, problem);
    throw usageError(thrown, program, argv);
  }
}

const examples = `
  # try it without an account
  engagectl upload users.csv --region local
  # one user
  engagectl get-profile CUSTOMER-1 --region local
  # the events of the last seven days
  engagectl export-events --event Charged --from 7d --to yesterday --output charged.csv
  # the account to work with
  engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1
`;

/**
 * Builds the command tree: only the command that the arguments start with, which loads faster; all
 * commands without their subcommands for the help of the program; otherwise the whole tree.
 */
export async function buildProgram(
  runtime: Runtime,
  argv?: readonly string[],
  begin: Defer = () => undefined,
): Promise<Command> {
  const program = new Command(runtime.program)
    .description('Bulk data operations on a customer-engagement service.')
    .version(version, '-V, --version', 'the version')
    .helpOption('-h, --help', '-h: the most common flags; --help: all flags')
    .usage('<command> [options]')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp(helpFormat(helpWidth(runtime), helpLength(argv)))
    .configureOutput({
      writeOut: (text) => void runtime.stdout.write(text),
      outputError: () => undefined, // usage errors are thrown and printed by main
    });
  setExamples(program, parseExamples(examples));
  addOptions(program, globalOptionTable);
  program.helpCommand(false); // the program has its own
  showHelpWithoutSubcommand(program);
  await addCommands(program, { runtime, begin }, argv);
  return program;
}

async function addCommands(
  program: Command,
  context: { readonly runtime: Runtime; readonly begin: Defer },
  argv: readonly string[] | undefined,
): Promise<void> {
  const [first = '--help', ...words] = argv ?? [''];
  const all = Object.entries(commands).flatMap(([group, loads]) =>
    Object.entries(loads).map(([name, load]) => ({ group, name, load })),
  );
  const meant = all.filter(({ name }) => name === first || name === 'help');
  const selected = meant.length > 1 ? meant : all;
  const loaded = await Promise.all(selected.map(({ load }) => load()));
  for (const [n, { command }] of loaded.entries()) {
    const { group, name } = selected[n]!;
    program.commandsGroup(group);
    await addCommand(program, name, {
      spec: command,
      program: commandTree,
      words: /^(?:-h|--help)$/.test(first) ? undefined : name === first ? words : [],
      ...context,
    });
  }
}

/** Access to all commands. */
const commandTree: CommandTree = {
  tree: (runtime) => buildProgram(runtime),
};

/** Completion, manual pages and the reference, which have no command line, need all flags. */
const helpLength = (argv: readonly string[] | undefined): HelpLength =>
  argv === undefined || argv.some((word) => word === '--help' || word === 'help')
    ? 'full'
    : 'short';

function helpWidth({ stdout, env }: Runtime): number {
  const columns = Number(env['COLUMNS']) || stdout.columns || 80;
  return Math.min(Math.max(columns, 60), 120);
}

/** Rewrites `-o=file` as `-ofile`, as most programs read it: commander would take `=file` as the value. */
function expandShortValues(argv: readonly string[], program: Command): string[] {
  const letters = new Set(valued(program));
  const end = argv.indexOf('--');
  return argv.map((word, at) => {
    const isValue = letters.has(word.slice(0, 2)) && word[2] === '=';
    return isValue && (end < 0 || at < end) ? word.slice(0, 2) + word.slice(3) : word;
  });
}

/** Short flags with a value, of all commands. */
const valued = (command: Command): string[] => [
  ...command.options.flatMap(({ short, required }) => (short && required ? [short] : [])),
  ...command.commands.flatMap(valued),
];

import { Command, CommanderError } from 'commander';
import { registerHelp } from './commands/help.js';
import { addGlobalOptions } from './commands/options.js';
import { refuseRepeatedFlags } from './commands/repeated-flags.js';
import { usageError } from './commands/usage-error.js';
import { addExamples, type Example } from './help/examples.js';
import { helpFormat } from './help/help-format.js';
import type { Runtime } from './runtime.js';
import { version } from './version.js';

interface CommandEntry {
  readonly name: string;
  /** Heading in the help; the commands stand there in this order. */
  readonly group: string;
  readonly load: () => Promise<(program: Command, runtime: Runtime) => void>;
}

const commands: readonly CommandEntry[] = [
  {
    name: 'upload',
    group: 'Write:',
    load: async () => (await import('./commands/upload.js')).registerUpload,
  },
  {
    name: 'subscribe',
    group: 'Write:',
    load: async () => (await import('./commands/subscribe.js')).registerSubscribe,
  },
  {
    name: 'demerge',
    group: 'Write:',
    load: async () => (await import('./commands/demerge.js')).registerDemerge,
  },
  {
    name: 'export-profiles',
    group: 'Read:',
    load: async () => (await import('./commands/export-profiles.js')).registerExportProfiles,
  },
  {
    name: 'export-events',
    group: 'Read:',
    load: async () => (await import('./commands/export-events.js')).registerExportEvents,
  },
  {
    name: 'get-profile',
    group: 'Read:',
    load: async () => (await import('./commands/get-profile.js')).registerGetProfile,
  },
  {
    name: 'config',
    group: 'Around them:',
    load: async () => (await import('./commands/config.js')).registerConfig,
  },
  {
    name: 'doctor',
    group: 'Around them:',
    load: async () => (await import('./commands/doctor.js')).registerDoctor,
  },
  {
    name: 'serve',
    group: 'Around them:',
    load: async () => (await import('./commands/serve.js')).registerServe,
  },
  {
    name: 'runs',
    group: 'Around them:',
    load: async () => {
      const { registerRuns } = await import('./commands/runs.js');
      return (program, runtime) => registerRuns(program, runtime, parse);
    },
  },
  {
    name: 'completion',
    group: 'Around them:',
    load: async () => {
      const { registerCompletion } = await import('./commands/completion.js');
      return (program, runtime) => registerCompletion(program, runtime, buildProgram);
    },
  },
  {
    name: '__complete',
    group: 'Around them:',
    load: async () => (await import('./commands/complete.js')).registerComplete,
  },
];

/**
 * Runs one command line. Throws EngagectlError, E-USAGE for what commander refuses; anything else
 * that is thrown is a defect.
 */
export async function runProgram(argv: readonly string[], runtime: Runtime): Promise<void> {
  const program = await buildProgram(runtime, argv);
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return;
    throw usageError(thrown, program, argv);
  }
}

async function parse(argv: readonly string[], runtime: Runtime): Promise<void> {
  const program = await buildProgram(runtime, argv);
  await program.parseAsync([...argv], { from: 'user' });
}

const examples: readonly Example[] = [
  ['try it without an account', 'engagectl upload users.csv --region local'],
  ['one user', 'engagectl get-profile CUSTOMER-1 --region local'],
  [
    'the events of the last seven days',
    'engagectl export-events --event Charged --from 7d --to yesterday --output charged.csv',
  ],
  [
    'the account to work with',
    'engagectl config set --region eu1 --base-url https://eu1.api.example.com --account-id ACC-1',
  ],
];

/**
 * The command tree: with the one command alone that the arguments begin with, which is quicker to
 * load, else with all of them. Building it loads no heavy module.
 */
export async function buildProgram(
  runtime: Runtime,
  [first]: readonly string[] = [],
): Promise<Command> {
  const program = new Command('engagectl')
    .description('Bulk data operations on a customer-engagement service.')
    .version(version, '-V, --version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp(helpFormat(helpWidth(runtime)))
    .configureOutput({
      writeOut: (text) => void runtime.stdout.write(text),
      // Help beside an error; where stderr carries JSON lines only, there is none.
      writeErr: (text) => {
        const { json, logFormat } = program.opts<{ json?: true; logFormat?: string }>();
        if (json !== true && logFormat !== 'json') runtime.stderr.write(text);
      },
      outputError: () => undefined, // usage errors are thrown, and shown by main
    });
  addExamples(program, examples);
  addGlobalOptions(program);
  await addCommands(program, runtime, first);
  registerHelp(program, runtime);
  refuseRepeatedFlags(program);
  return program;
}

async function addCommands(program: Command, runtime: Runtime, first?: string): Promise<void> {
  const meant = commands.filter(({ name }) => name === first);
  const wanted = meant.length > 0 ? meant : commands;
  const registers = await Promise.all(wanted.map(async ({ load }) => load()));
  for (const [n, register] of registers.entries()) {
    program.commandsGroup(wanted[n]!.group);
    register(program, runtime);
  }
}

function helpWidth({ stdout, env }: Runtime): number {
  const columns = Number(env['COLUMNS']) || stdout.columns || 80;
  return Math.min(Math.max(columns, 60), 120);
}

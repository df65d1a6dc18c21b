import { Command, CommanderError } from 'commander';
import { refuseRepeatedFlags } from './commands/repeated-flags.js';
import { addGlobalOptions } from './commands/options.js';
import { registerConfig } from './commands/config.js';
import { registerDemerge } from './commands/demerge.js';
import { registerExportEvents } from './commands/export-events.js';
import { registerExportProfiles } from './commands/export-profiles.js';
import { registerGetProfile } from './commands/get-profile.js';
import { registerHelp } from './commands/help.js';
import { registerRuns } from './commands/runs.js';
import { registerServe } from './commands/serve.js';
import { registerSubscribe } from './commands/subscribe.js';
import { registerUpload } from './commands/upload.js';
import { usageError } from './commands/usage-error.js';
import { exitCodeOf, exitCodes, type ExitCode } from './errors.js';
import { addExamples, type Example } from './help/examples.js';
import { helpFormat } from './help/help-format.js';
import type { Runtime } from './runtime.js';
import { version } from './version.js';

/** Runs one command line (without node and script) and returns the exit code. Never throws. */
export async function main(argv: readonly string[], runtime: Runtime): Promise<ExitCode> {
  const program = buildProgram(runtime);
  try {
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync([...argv], { from: 'user' });
    return exitCodes.ok;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return exitCodes.ok;
    const error = usageError(thrown, program, argv);
    const { showError } = await import('./ui/show-error.js');
    showError(error, runtime, errorSettings(argv, runtime));
    return exitCodeOf(error);
  }
}

/** Read from the words themselves: the error may be that they cannot be parsed. */
const errorSettings = (argv: readonly string[], { env }: Pick<Runtime, 'env'>) => ({
  json: argv.includes('--json'),
  verbose: argv.includes('--verbose') || argv.includes('-v'),
  color: !argv.includes('--no-color') && env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb',
});

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

/** The whole command tree; building it loads no heavy module. */
export function buildProgram(runtime: Runtime): Command {
  const program = new Command('engagectl')
    .description('Bulk data operations on a customer-engagement service.')
    .version(version, '-V, --version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp(helpFormat(helpWidth(runtime)))
    .configureOutput({
      writeOut: (text) => void runtime.stdout.write(text),
      // Help beside an error; under --json stderr carries JSON lines only.
      writeErr: (text) => void (program.opts()['json'] === true || runtime.stderr.write(text)),
      outputError: () => undefined, // usage errors are thrown, and shown above
    });
  addExamples(program, examples);
  addGlobalOptions(program);
  program.commandsGroup('Write:');
  registerUpload(program, runtime);
  registerSubscribe(program, runtime);
  registerDemerge(program, runtime);
  program.commandsGroup('Read:');
  registerExportProfiles(program, runtime);
  registerExportEvents(program, runtime);
  registerGetProfile(program, runtime);
  program.commandsGroup('Around them:');
  registerConfig(program, runtime);
  registerServe(program, runtime);
  registerRuns(program, runtime, async (argv, world) => {
    await buildProgram(world).parseAsync([...argv], { from: 'user' });
  });
  registerHelp(program, runtime);
  refuseRepeatedFlags(program);
  return program;
}

function helpWidth({ stdout, env }: Runtime): number {
  const columns = Number(env['COLUMNS']) || stdout.columns || 80;
  return Math.min(Math.max(columns, 60), 120);
}

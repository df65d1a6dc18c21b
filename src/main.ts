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
import type { Runtime } from './runtime.js';
import { showError } from './ui/show-error.js';
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
    showError(error, runtime, {
      json: argv.includes('--json'),
      verbose: argv.includes('--verbose') || argv.includes('-v'),
    });
    return exitCodeOf(error);
  }
}

const examples = `Examples:
  engagectl serve
  engagectl upload users.csv --region local
  engagectl get-profile CUSTOMER-1 --region local
  engagectl export-events --event Charged --from 7d --to yesterday --output charged.csv
`;

/** The whole command tree; building it loads no heavy module. */
export function buildProgram(runtime: Runtime): Command {
  const program = new Command('engagectl')
    .description('Bulk data operations on a customer-engagement service.')
    .addHelpText('before', examples)
    .version(version, '-V, --version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ showGlobalOptions: true, helpWidth: helpWidth(runtime) })
    .configureOutput({
      writeOut: (text) => void runtime.stdout.write(text),
      // Help beside an error; under --json stderr carries JSON lines only.
      writeErr: (text) => void (program.opts()['json'] === true || runtime.stderr.write(text)),
      outputError: () => undefined, // usage errors are thrown, and shown above
    });
  addGlobalOptions(program);
  registerUpload(program, runtime);
  registerSubscribe(program, runtime);
  registerDemerge(program, runtime);
  registerExportProfiles(program, runtime);
  registerExportEvents(program, runtime);
  registerGetProfile(program, runtime);
  registerConfig(program, runtime);
  registerServe(program, runtime);
  registerRuns(program, runtime, async (argv, world) => {
    await buildProgram(world).parseAsync([...argv], { from: 'user' });
  });
  registerHelp(program);
  refuseRepeatedFlags(program);
  return program;
}

function helpWidth({ stdout, env }: Runtime): number {
  const columns = Number(env['COLUMNS']) || stdout.columns || 80;
  return Math.min(Math.max(columns, 60), 120);
}

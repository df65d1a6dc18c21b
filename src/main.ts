import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { refuseRepeatedFlags } from './commands/repeated-flags.js';
import { addGlobalOptions } from './commands/options.js';
import { registerConfig } from './commands/config.js';
import { registerDemerge } from './commands/demerge.js';
import { registerExportEvents } from './commands/export-events.js';
import { registerExportProfiles } from './commands/export-profiles.js';
import { registerGetProfile } from './commands/get-profile.js';
import { registerServe } from './commands/serve.js';
import { registerSubscribe } from './commands/subscribe.js';
import { registerUpload } from './commands/upload.js';
import { EngagectlError, exitCodeOf, exitCodes, type ExitCode } from './errors.js';
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
    const error = usageError(thrown, program);
    showError(error, runtime, {
      json: argv.includes('--json'),
      verbose: argv.includes('--verbose') || argv.includes('-v'),
    });
    return exitCodeOf(error);
  }
}

/** The whole command tree; building it loads no heavy module. */
export function buildProgram(runtime: Runtime): Command {
  const program = new Command('engagectl')
    .description('Bulk data operations on a customer-engagement service.')
    .version(version, '-V, --version')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ showGlobalOptions: true, helpWidth: helpWidth(runtime) })
    .configureOutput({
      writeOut: (text) => void runtime.stdout.write(text),
      writeErr: (text) => void runtime.stderr.write(text),
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
  refuseRepeatedFlags(program);
  return program;
}

function helpWidth({ stdout, env }: Runtime): number {
  const columns = Number(env['COLUMNS']) || stdout.columns || 80;
  return Math.min(Math.max(columns, 60), 120);
}

/** commander's own errors in our shape; everything else as it is. */
function usageError(thrown: unknown, program: Command): unknown {
  if (!(thrown instanceof CommanderError || thrown instanceof InvalidArgumentError)) return thrown;
  const message =
    thrown.code === 'commander.help'
      ? 'a subcommand is missing'
      : thrown.message.replace(/^error: /, '');
  const typed = /^unknown command '([^']+)'/.exec(message)?.[1];
  const names = program.commands.map((command) => command.name());
  const matches = typed === undefined ? [] : names.filter((name) => name.startsWith(typed));
  return new EngagectlError('E-USAGE', message.split('\n')[0] ?? message, {
    why: message.split('\n').slice(1).join(' ') || undefined,
    fix:
      matches.length > 0
        ? `did you mean: engagectl ${matches.join(', engagectl ')}`
        : 'engagectl --help, or engagectl help <command>',
    cause: thrown,
  });
}

import { exitCodeOf, exitCodes, interruption, type ExitCode } from './errors.js';
import { version } from './version.js';
import type { Runtime } from './runtime.js';

/** Runs one command line (without node and script) and returns the exit code. Never throws. */
export async function main(argv: readonly string[], outside: Runtime): Promise<ExitCode> {
  let runtime = outside;
  const end = (code: ExitCode): ExitCode => {
    runtime.log?.({ type: 'end', text: `exit code ${code}`, about: { exitCode: code } });
    return code;
  };
  try {
    if (isVersion(argv)) runtime.stdout.write(`${version}\n`);
    else {
      if (argv.some((word) => word.startsWith('--log-file'))) {
        runtime = (await import('./ui/log-file.js')).withLogFile(argv, outside);
      }
      const { runProgram } = await import('./program.js');
      const forMore = /^(?:--version|-V) --json$/.test(argv.join(' ')); // there is a command for that
      const instead = await runProgram(forMore ? ['version', '--json'] : argv, runtime);
      if (instead) return await main(instead.argv, instead.runtime);
    }
    return end(exitCodes.ok);
  } catch (thrown) {
    const error = thrown === runtime.signal.reason ? interruption(thrown) : thrown;
    const [{ errorSettings }, { showError }, { annotateError }] = await Promise.all([
      import('./ui/display-settings.js'),
      import('./ui/error-message.js'),
      import('./ui/github-actions.js'),
    ]);
    const settings = errorSettings(argv, runtime);
    showError(error, runtime, settings);
    annotateError(error, { settings, runtime });
    return end(exitCodeOf(error));
  }
}

/** Answered without the command tree, which takes longer to load than the rest of the answer. */
const isVersion = ([first = '', ...more]: readonly string[]): boolean =>
  /^(?:--version|-V|version)$/.test(first) && more.length === 0;

import { exitCodeOf, exitCodes, interruptionError, type ExitCode } from './errors.js';
import { version } from './version.js';
import { wordsInOneLine } from './wording.js';
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
      runtime = await withSafeMessages(argv, outside);
      if (argv.some((word) => word.startsWith('--log-file'))) {
        runtime = (await import('./ui/log-file.js')).withLogFile(argv, runtime);
      }
      const { runProgram } = await import('./program.js');
      const forMore = /^(?:--version|-V) --json$/.test(argv.join(' ')); // there is a command for that
      const instead = await runProgram(forMore ? ['version', '--json'] : argv, runtime);
      if (instead) {
        const { inDirectory } = await import('./runtime.js');
        return await main(instead.argv, inDirectory(runtime, instead.cwd));
      }
    }
    return end(exitCodes.ok);
  } catch (thrown) {
    const error = thrown === runtime.signal.reason ? interruptionError(thrown) : thrown;
    const [{ rawDisplaySettings }, { printError }, { annotateError }] = await Promise.all([
      import('./ui/display-settings.js'),
      import('./ui/error-message.js'),
      import('./ui/github-actions.js'),
    ]);
    const settings = rawDisplaySettings(argv, runtime);
    printError(error, runtime, settings);
    annotateError(error, { settings, runtime });
    return end(exitCodeOf(error));
  }
}

/**
 * Adds redaction of secrets that were typed as a flag, as a variable or in a URL, and keeps typed line ends
 * out of messages.
 */
async function withSafeMessages(argv: readonly string[], outside: Runtime): Promise<Runtime> {
  if (outside.redact) return outside; // `runs resume` runs another command in the same runtime
  const { redactedStream, typedSecretsRemover } = await import('./redact.js');
  const steps = [typedSecretsRemover(argv, outside.env), wordsInOneLine(argv)];
  if (steps.every((step) => step === undefined)) return outside;
  const redact = (text: string) => steps.reduce((result, step) => step?.(result) ?? result, text);
  let stderr: Runtime['stderr'] | undefined;
  return Object.defineProperties(
    {},
    {
      ...Object.getOwnPropertyDescriptors(outside),
      stderr: {
        get: () => (stderr ??= redactedStream(outside.stderr, redact)),
        enumerable: true,
      },
      redact: { value: redact, enumerable: true },
      unredactedStderr: { get: () => outside.stderr, enumerable: true },
    },
  ) as Runtime;
}

/** Answered without the command tree, which takes longer to load than the rest. */
const isVersion = ([first = '', ...more]: readonly string[]): boolean =>
  /^(?:--version|-V|version)$/.test(first) && more.length === 0;

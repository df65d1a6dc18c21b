import { EngagectlError, exitCodes } from './errors.js';
import { main } from './main.js';
import { nodeRuntime } from './runtime.js';

/** Milliseconds that requests in flight get to finish after the first Ctrl-C. */
const graceMilliseconds = 10_000;

/** Runs this process's command line: owns its signal handlers and its exit code, nothing else. */
export async function runProcess(): Promise<void> {
  const stop = new AbortController();
  const onSignal = (signal: 'SIGINT' | 'SIGTERM', id: 'E-INTERRUPTED' | 'E-TERMINATED') => {
    const exitCode = signal === 'SIGINT' ? exitCodes.interrupted : exitCodes.terminated;
    if (stop.signal.aborted) process.exit(exitCode);
    stop.abort(new EngagectlError(id, `stopped by ${signal}`));
    setTimeout(() => process.exit(exitCode), graceMilliseconds + 1000).unref();
  };
  process.on('SIGINT', () => onSignal('SIGINT', 'E-INTERRUPTED'));
  process.on('SIGTERM', () => onSignal('SIGTERM', 'E-TERMINATED'));

  process.exitCode = await main(process.argv.slice(2), nodeRuntime(stop.signal));
}

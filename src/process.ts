import { setMaxListeners } from 'node:events';
import { closeSync, fstatSync, statSync } from 'node:fs';
import { EngagectlError, exitCodes, graceMilliseconds, mostSerious } from './errors.js';
import { main } from './main.js';
import { nodeRuntime, type Runtime } from './runtime.js';

/** Runs this process's command line; owns its signal handlers and its exit code, nothing else. */
export async function runProcess(): Promise<void> {
  setMaxListeners(0); // each request in flight and each wait listens to it
  const stop = new AbortController();
  for (const [signal, id] of Object.entries(stopSignals)) {
    process.on(signal, () => {
      const error = new EngagectlError(id, `stopped by ${signal}`);
      if (stop.signal.aborted) return resetTerminal(error.exitCode);
      stop.abort(error);
      setTimeout(() => process.exit(error.exitCode), graceMilliseconds + 1000).unref();
    });
  }
  process.on('exit', closeLostStreams);
  await actAsTerminals(process.env['ENGAGECTL_FORCE_TTY']);
  const onStatusRequest = listenForStatusRequests();
  let unwritten: EngagectlError | undefined;
  process.stdout.on('error', (error) => (unwritten ??= stdoutFailure(error)));

  const argv = process.argv.slice(2);
  process.argv = process.argv.slice(0, 2); // kept once, because it may name many thousands of files
  const runtime = nodeRuntime(stop.signal, onStatusRequest);
  Object.defineProperty(runtime, 'stderr', { get: lazyStderr });
  const print = async (error: EngagectlError) => {
    const { rawDisplaySettings } = await import('./ui/display-settings.js');
    const { printError } = await import('./ui/error-message.js');
    printError(error, runtime, rawDisplaySettings(argv, runtime));
    return error.exitCode;
  };
  const ended = await Promise.race([main(argv, runtime), nothingLeft()]);
  const code = typeof ended === 'number' ? ended : await print(ended);
  await new Promise(setImmediate); // an error of the last write is reported on the next turn
  if (unwritten && code === exitCodes.ok) await print(unwritten);
  process.exitCode = mostSerious(unwritten ? [code, unwritten.exitCode] : [code]);
}

/** Resolves when nothing can happen any more: if the command still waits then, Node would end with exit code 0. */
async function nothingLeft(): Promise<EngagectlError> {
  await new Promise((resolve) => process.once('beforeExit', resolve));
  return new EngagectlError('E-DEFECT', 'the command ended before its work did');
}

const stopSignals = {
  SIGINT: 'E-INTERRUPTED',
  SIGTERM: 'E-TERMINATED',
  SIGHUP: 'E-HUNG-UP',
} as const;

/**
 * Formats output as for a terminal, wherever it goes, with 80 or a given number of columns. Never
 * prompts for that: standard input stays as it is.
 */
async function actAsTerminals(forced = ''): Promise<void> {
  if (/^(?:|0|false)$/i.test(forced)) return;
  const { clearLine, cursorTo, moveCursor } = await import('node:readline');
  const columns = /^\d{2,4}$/.test(forced) ? Number(forced) : 80;
  for (const stream of [process.stdout, process.stderr]) {
    Object.assign(stream, {
      isTTY: true,
      columns,
      cursorTo: (x: number) => cursorTo(stream, x),
      moveCursor: (x: number, y: number) => moveCursor(stream, x, y),
      clearLine: (direction: -1 | 0 | 1) => clearLine(stream, direction),
    });
  }
}

/** Opened on first use, like the other streams. */
function lazyStderr(): NodeJS.WriteStream {
  const { stderr } = process;
  if (stderr.listenerCount('error') === 0) stderr.on('error', () => undefined); // there is nowhere left to report it
  return stderr;
}

/**
 * Closes lost terminals. Node resets the modes of its terminals at exit and aborts (SIGABRT) if one of
 * them is gone, but skips closed ones.
 */
function closeLostStreams(): void {
  for (const stream of [0, 1, 2]) {
    try {
      if (isTerminal(stream) && !process.getBuiltinModule('node:tty').isatty(stream))
        closeSync(stream);
    } catch {
      // already closed
    }
  }
}

/** True for a lost terminal, too. Node's own tty module takes 2 ms to load, which most runs do not need. */
function isTerminal(stream: number): boolean {
  const about = fstatSync(stream);
  return about.isCharacterDevice() && about.rdev !== statSync('/dev/null').rdev;
}

/** Clears the last line of a terminal. */
function resetTerminal(exitCode: number): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001B[K');
  process.exit(exitCode);
}

/**
 * Handles SIGUSR1, and SIGINFO (Ctrl-T) if supported, as status requests. Registered from the start:
 * Node would answer SIGUSR1 by opening its debugger.
 */
function listenForStatusRequests(): Runtime['onStatusRequest'] {
  const shows = new Set<() => void>();
  for (const signal of ['SIGUSR1', 'SIGINFO'] as const) {
    process.on(signal, () => {
      for (const show of shows) show();
    });
  }
  return (show) => {
    shows.add(show);
    return () => void shows.delete(show);
  };
}

/** Error for help, a list or a summary that stdout does not accept. */
function stdoutFailure(error: NodeJS.ErrnoException): EngagectlError {
  if (error.code === 'EPIPE') return new EngagectlError('E-STDOUT-CLOSED', 'stdout was closed');
  return new EngagectlError('E-FILE-WRITE', 'stdout could not be written', {
    why: error.message,
    fix: 'make room, or write elsewhere',
    cause: error,
  });
}

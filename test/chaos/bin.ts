import {
  spawn,
  spawnSync,
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
} from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { World } from '../support/test-environment.js';
import { passcode } from './invariants.js';
import { accountAt } from '../support/account-environment.js';
import { binPath } from '../support/processes/bin-process.js';

export const hasStrace = process.platform === 'linux' && spawnSync('strace', ['-V']).status === 0;

/** The environment of a child process: nothing of ours but the path to node's helpers. */
const environment = (world: World, url: string): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  ENGAGECTL_CONFIG_DIR: world.configDir,
  ENGAGECTL_STATE_DIR: world.stateDir,
  ...accountAt(url, passcode),
  ENGAGECTL_RETRY_BASE: '1ms',
  // One thread makes all asynchronous calls for files, so that they can be counted.
  UV_THREADPOOL_SIZE: '1',
});

interface CommandLine {
  readonly url: string;
  readonly argv: readonly string[];
}

interface TracedLine extends CommandLine {
  readonly tracer?: readonly string[];
  readonly stdin?: Buffer | undefined;
}

/** Starts the built program, under a tracer where one is given. */
export function start(
  world: World,
  { url, argv, tracer = [], stdin }: TracedLine,
): ChildProcessWithoutNullStreams {
  const [command = '', ...words] = [...tracer, process.execPath, binPath, ...argv];
  const child = spawn(command, words, { cwd: world.cwd, env: environment(world, url) });
  child.stdin.on('error', () => {}); // it may be killed before it has read all
  if (stdin) child.stdin.end(stdin);
  return child;
}

/** Starts it with its data going to a file. */
export function startInto(
  world: World,
  { url, argv, stdout }: CommandLine & { readonly stdout: number },
): ChildProcess {
  return spawn(process.execPath, [binPath, ...argv], {
    cwd: world.cwd,
    env: environment(world, url),
    stdio: ['ignore', stdout, 'ignore'],
  });
}

/** How a process ended; `code` is null when a signal ended it. */
export async function outcomeOf(child: ReturnType<typeof start>) {
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}

import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { World } from '../test-environment.js';
import { until } from '../until.js';

/** The built program, for tests that start it by a shell, a tracer or another program. */
export const binPath = fileURLToPath(new URL('../../../bin/engagectl.js', import.meta.url));

interface User {
  readonly uid: number;
  readonly gid: number;
}

/** Whether tests can start the program as another user: as root, in a checkout that others may read. Says so on stderr if not. */
export function canRunAs(user: User): boolean {
  if (process.getuid?.() !== 0) return false;
  const { status } = spawnSync(process.execPath, [binPath, '--version'], { ...user, env: {} });
  if (status !== 0)
    process.stderr.write('SKIPPED: other users cannot read this folder; no tests as one of them\n');
  return status === 0;
}

interface BinOptions {
  /** Text on standard input, which ends behind it; null leaves it to the test. Nothing by default. */
  readonly stdin?: string | null;
  /** A descriptor for standard output, whose text is kept by default. */
  readonly stdout?: number | 'pipe';
  /** Flags of Node, like `--import`. */
  readonly node?: readonly string[];
  /** Words of a program that starts Node, like `strace -f`. */
  readonly tracer?: readonly string[];
  /** Whose process it is. */
  readonly user?: User;
}

/**
 * The built program in a process of its own, with the folders of a world and of the environment only
 * what is given. It is killed when the test ends, and gone then.
 */
export class BinProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly #closed: Promise<unknown[]>;

  constructor(
    world: Pick<World, 'cwd' | 'configDir' | 'stateDir' | 'test'>,
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
    { stdin, stdout = 'pipe', node = [], tracer = [], user }: BinOptions = {},
  ) {
    const [command = '', ...words] = [...tracer, process.execPath, ...node, binPath, ...argv];
    this.child = spawn(command, words, {
      cwd: world.cwd,
      env: {
        PATH: process.env['PATH'],
        ENGAGECTL_CONFIG_DIR: world.configDir,
        ENGAGECTL_STATE_DIR: world.stateDir,
        ...env,
      },
      stdio: [stdin === undefined ? 'ignore' : 'pipe', stdout, 'pipe'],
      ...user,
    });
    const { stdin: input, stdout: output, stderr } = this.child;
    input?.on('error', () => undefined); // it may be killed before it has read all
    if (stdin !== null) input?.end(stdin);
    output?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#closed = once(this.child, 'close');
    world.test.onTestFinished(async () => {
      this.signal('SIGKILL');
      await this.#closed;
    });
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** The first line of stdout. Throws when it ends without one. */
  async firstLine(): Promise<string> {
    const isEnded = () => this.child.exitCode !== null || this.child.signalCode !== null;
    await until(() => this.stdout.includes('\n') || isEnded(), {
      message: () => `a first line of stdout; on stderr: ${this.stderr}`,
    });
    if (isEnded()) await this.#closed;
    if (!this.stdout.includes('\n')) throw new Error(`it ended early: ${this.stderr}`);
    return this.stdout.split('\n', 1)[0]!;
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals> {
    const [code, signal] = (await this.#closed) as [number | null, NodeJS.Signals];
    return code ?? signal;
  }

  /** Returns the result in the form of `World.run`; throws if a signal ended the process. */
  async outcome(): Promise<{ code: number; stdout: string; stderr: string }> {
    const code = await this.ended();
    if (typeof code === 'string') throw new Error(`ended by ${code}: ${this.stderr}`);
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}

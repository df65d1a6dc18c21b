import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { World } from '../test-environment.js';

const bin = fileURLToPath(new URL('../../../bin/engagectl.js', import.meta.url));

/**
 * The built program in a process of its own, with the folders of a world and of the environment only
 * what is given. It is killed when the test ends, and gone then.
 */
export class BinProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  stdout = '';
  stderr = '';
  readonly #closed: Promise<unknown[]>;

  constructor(
    world: Pick<World, 'cwd' | 'configDir' | 'stateDir' | 'test'>,
    argv: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.child = spawn(process.execPath, [bin, ...argv], {
      cwd: world.cwd,
      env: {
        PATH: process.env['PATH'],
        ENGAGECTL_CONFIG_DIR: world.configDir,
        ENGAGECTL_STATE_DIR: world.stateDir,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
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
    while (!this.stdout.includes('\n')) {
      const said = once(this.child.stdout, 'data').then(() => true);
      const isAlive = await Promise.race([said, this.#closed.then(() => false)]);
      if (!isAlive) throw new Error(`it ended early: ${this.stderr}`);
    }
    return this.stdout.split('\n', 1)[0]!;
  }

  /** The exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals> {
    const [code, signal] = (await this.#closed) as [number | null, NodeJS.Signals];
    return code ?? signal;
  }
}

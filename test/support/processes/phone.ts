import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const script = fileURLToPath(new URL('phone-process.mjs', import.meta.url));

/** A user with a phone of their own: a process, and where it was killed the next one, with the same device. */
export class Phone {
  /** Events received so far by all processes, without the phone's own messages. */
  readonly events: string[] = [];
  readonly #args: readonly string[];
  #child!: ChildProcess;
  #lines!: AsyncIterator<string>;
  /** Last event of the last process. If it was killed before the acknowledgment, the next process receives it again. */
  #before: string | undefined;

  private constructor(args: readonly string[]) {
    this.#args = args;
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  static async of(url: string, cuid: string, ...more: readonly string[]): Promise<Phone> {
    const phone = new Phone([url, cuid, ...more]);
    await phone.start();
    return phone;
  }

  async start(): Promise<void> {
    const stdio = ['pipe', 'pipe', 'inherit'] as const;
    this.#child = spawn(process.execPath, [script, ...this.#args], { stdio: [...stdio] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#before = this.events.at(-1);
    await this.hears('ready');
  }

  does(line: string): void {
    this.#child.stdin!.write(`${line}\n`);
  }

  /** Reads until the event was received, with or without its id. */
  async hears(wanted: string): Promise<void> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error(`"${wanted}" was not heard, but ${this.events.join(', ')}`);
      this.#note(value);
      if (value === wanted || value.startsWith(`${wanted} `)) return;
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }

  /** All events. */
  async leave(): Promise<readonly string[]> {
    this.does('leave');
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) return this.events;
      this.#note(value);
    }
  }

  #note(line: string): void {
    if (['ready', 'initialized', 'logged out'].includes(line)) return;
    const wasHeard = line === this.#before;
    this.#before = undefined;
    if (!wasHeard) this.events.push(line);
  }
}

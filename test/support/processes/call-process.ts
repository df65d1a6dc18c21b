import { onTestFinished } from 'vitest';
import type { CallTimers } from '../../../src/calling/protocol.js';
import { startService } from '../../../src/testing.js';
import { BinProcess } from './bin-process.js';
import { makeWorld, type World } from '../test-environment.js';
import { until } from '../until.js';

/** A line of stdout. */
export interface Line {
  readonly event?: string;
  readonly errorName?: string;
  readonly callId?: string;
  readonly [key: string]: unknown;
}

/** `engagectl call …` in a process of its own. */
export class CallProcess extends BinProcess {
  constructor(world: World, env: Readonly<Record<string, string>>, argv: readonly string[]) {
    super(world, ['call', ...argv], env);
  }

  get lines(): Line[] {
    const whole = this.stdout.split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as Line);
  }

  get events(): (string | undefined)[] {
    return this.lines.map(({ event }) => event);
  }

  /** Resolves when the text was printed on either stream. */
  async says(text: string): Promise<this> {
    const isPrinted = () => this.stderr.includes(text) || this.events.includes(text);
    await until(() => isPrinted() || this.child.exitCode !== null, {
      message: () => `"${text}" was printed, but only: ${this.stderr}`,
    });
    if (!isPrinted()) throw new Error(`"${text}" was not printed: ${this.stderr}`);
    return this;
  }
}

/** A service with calling, of these times where they are not the usual ones, and who talks to it. */
export async function callingWorld(timers: Partial<CallTimers> = {}) {
  const calls = { accountId: 'CALLS-1', apiKey: 'k3y-of-the-calls', timers };
  const service = await startService({ calls });
  onTestFinished(() => service.close());
  const world = makeWorld();
  const { env } = service;
  const run = (argv: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    new CallProcess(world, { ...env, ...more }, argv);
  return {
    world,
    env,
    run,
    /** Waits for calls by now. */
    listen: async (cuid: string, ...flags: string[]) =>
      run(['listen', '--cuid', cuid, ...flags]).says('is waiting for calls'),
    place: (cuid: string, to: string, ...flags: string[]) =>
      run(['place', '--cuid', cuid, '--to', to, '--context', 'Order 25', ...flags]),
  };
}

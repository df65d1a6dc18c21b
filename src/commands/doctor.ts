import type { Command } from 'commander';
import { addExamples, type Example } from '../help/examples.js';
import type { Runtime } from '../runtime.js';
import { resolveSettings } from './options.js';

const examples: readonly Example[] = [
  ['before the first run, or when one fails', 'engagectl doctor'],
  ['from cron: what is wrong and nothing else', 'engagectl doctor --quiet'],
  ['in CI: one JSON object', 'engagectl doctor --json'],
];

/** Looks at everything a run depends on (contract §7). */
export function registerDoctor(program: Command, runtime: Runtime): void {
  const command = program
    .command('doctor')
    .summary('check configuration, folders, clock and network')
    .description(
      'Looks at Node, configuration, state folder, credentials, proxy, name lookup, certificate and\n' +
        'clock, and makes one harmless authenticated request. What is wrong comes with its fix.',
    );
  addExamples(command, examples);
  command.action(async () => {
    const settings = resolveSettings(command, runtime);
    const { runDoctor } = await import('./doctor/run-doctor.js');
    await runDoctor(settings, runtime);
  });
}

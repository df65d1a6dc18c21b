import type { Command } from 'commander';
import type { Runtime } from '../runtime.js';
import { resolveSettings } from './options.js';

const examples = `Examples:
  engagectl doctor
  engagectl doctor --profile staging --region us1
  engagectl doctor --json --quiet
`;

/** Looks at everything a run depends on (contract §7). */
export function registerDoctor(program: Command, runtime: Runtime): void {
  const command = program
    .command('doctor')
    .summary('whether configuration, folders, clock and network are as a run needs them')
    .description(
      'Looks at Node, configuration, state folder, credentials, proxy, name lookup, certificate and\n' +
        'clock, and makes one harmless authenticated request. What is wrong comes with its fix.',
    )
    .addHelpText('beforeAll', examples);
  command.action(async () => {
    const settings = resolveSettings(command, runtime);
    const { runDoctor } = await import('./doctor/run-doctor.js');
    await runDoctor(settings, runtime);
  });
}

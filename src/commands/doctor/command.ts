import type { CommandSpec } from '../shared/command-spec.js';

/** Looks at everything a run depends on (contract §7). */
export const command: CommandSpec = {
  summary: 'check configuration, folders, clock and network',
  description:
    'Looks at Node, configuration, state folder, credentials, proxy, name lookup, certificate and ' +
    'clock, and makes one harmless authenticated request. What is wrong comes with its fix.',
  examples: `
    # before the first run, or when one fails
    engagectl doctor
    # from cron: what is wrong and nothing else
    engagectl doctor --quiet
    # in CI: one JSON object
    engagectl doctor --json
  `,
  run: async (call) => {
    const settings = call.settings();
    const { runDoctor } = await import('./checks.js');
    await runDoctor(settings, call.runtime);
  },
};

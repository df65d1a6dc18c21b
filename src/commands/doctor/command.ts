import type { CommandSpec } from '../shared/command-spec.js';

/** Looks at everything a run depends on (contract §7). */
export const command: CommandSpec = {
  summary: 'check configuration, directories, clock and network',
  description:
    'Checks Node, configuration, state directory, credentials, proxy, DNS, certificate and clock, ' +
    'and makes one authenticated read-only request. Prints a fix for each problem.',
  examples: `
    # before the first run, or when one fails
    engagectl doctor
    # from cron: print problems only
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

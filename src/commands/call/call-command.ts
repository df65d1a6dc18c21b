import type { CommandSpec } from '../command-spec.js';
import { choice } from '../option-values.js';
import type { LintFlags } from './lint-init.js';

const lint: CommandSpec<LintFlags> = {
  summary: 'what is wrong with the configuration of an app that calls',
  description:
    'Checks a JSON file with the initProperties of an app, and sends nothing. Every finding is a line on stdout: JSON\n' +
    'pointer, rule, severity, and what initialize would answer; exit code 3 when there are errors.',
  operands: [['<file.json>', 'the object that the app gives to initialize']],
  examples: `
    # on both platforms
    engagectl call lint init.json
    # in CI, for one of them
    engagectl call lint init.json --platform android --json
  `,
  options: [
    'Options:',
    [
      '--platform <platform>',
      'android, ios or both',
      { parse: choice('android', 'ios', 'both'), default: 'both' },
    ],
  ],
  run: async (call) => (await import('./lint-init.js')).runLint(call),
};

/** What people need who run calling for many users. */
export const command: CommandSpec = {
  summary: 'place, take and rehearse calls, and check the configuration of apps',
  examples: `
    # what is wrong with an app's configuration
    engagectl call lint init.json
  `,
  subcommands: { lint },
};

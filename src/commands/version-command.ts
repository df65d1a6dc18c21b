import type { CommandSpec } from './command-spec.js';
import { version } from '../version.js';

/** What `main` answers by itself, which is quicker; here for help and completion. */
export const command: CommandSpec = {
  needs: 'nothing',
  summary: 'the version of this program',
  description: 'Prints the version; with --json also that of Node and the platform.',
  examples: `
    # the version alone
    engagectl version
    # for a report of a fault
    engagectl version --json
  `,
  run: ({ runtime }) => void runtime.stdout.write(`${version}\n`),
};

import { jsonAnswer } from '../ui/sanitize.js';
import { version } from '../version.js';
import type { CommandSpec } from './shared/command-spec.js';

/** The version alone is what `main` answers by itself, which is quicker. */
export const command: CommandSpec = {
  needs: 'nothing',
  summary: 'the version of this program',
  description:
    'Prints the version; with --json also those of Node, the platform, and the libraries that requests and files depend on.',
  examples: `
    # the version alone
    engagectl version
    # for a report of a fault
    engagectl version --json
  `,
  run: async ({ runtime, settings }) => {
    const { stdout, nodeVersion: node, platform } = runtime;
    if (!settings().json) {
      stdout.write(`${version}\n`);
      return;
    }
    const { libraryVersions } = await import('../jobs/doctor/checks.js');
    stdout.write(jsonAnswer({ version, node, platform, ...(await libraryVersions()) }));
  },
};

import { inputFormatsText } from '../contract/file-formats.js';
import { writeOptions, type WriteFlags } from './flags/write-flags.js';
import type { CommandSpec } from './shared/command-spec.js';

interface DemergeFlags extends WriteFlags {
  readonly identity: string;
}

export const command: CommandSpec<DemergeFlags> = {
  summary: 'split merged profiles, by identity',
  description:
    'Splits merged user profiles. Some event data of a merged profile may be lost. Asks for ' +
    'confirmation on a terminal; elsewhere it needs --yes.',
  operands: [['[file...]', `${inputFormatsText}, or a list; - reads stdin`]],
  examples: `
    # read and validate everything, send nothing
    engagectl demerge identities.txt --check
    # show what will happen, and ask for confirmation
    engagectl demerge identities.csv
    # in CI, where there is no terminal
    engagectl demerge identities.ndjson --yes --json
  `,
  options: [
    'Records:',
    [
      '--identity <column>',
      'column or path of the identity',
      { default: 'identity', common: true },
    ],
    ...writeOptions('demerge'),
  ],
  run: async (call) => {
    const [{ demerge }, { runWrite }] = await Promise.all([
      import('../jobs/write/demerge.js'),
      import('./shared/run-write.js'),
    ]);
    await runWrite(call, { name: 'demerge', job: demerge });
  },
};

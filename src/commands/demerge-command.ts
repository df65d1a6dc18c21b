import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { needInput } from './input-flags.js';
import type { Settings } from './settings.js';
import { writeOptions, type WriteFlags } from './write-flags.js';

interface DemergeFlags extends WriteFlags {
  readonly identity: string;
}

export const command: CommandSpec<DemergeFlags> = {
  summary: 'demerge profiles by identity',
  description:
    'Demerges user profiles: every merged profile falls apart, and event data of it may be lost.\n' +
    'Asks for confirmation on a terminal; elsewhere it needs --yes.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin']],
  examples: `
    # read and validate everything, send nothing
    engagectl demerge identities.txt --check
    # shows what will happen, and asks
    engagectl demerge identities.csv
    # in CI, where nobody can be asked
    engagectl demerge identities.ndjson --yes --json
  `,
  options: [
    'Options:',
    ['--identity <column>', 'column of the identity', { default: 'identity' }],
    ...writeOptions('demerge', {
      dryRun: 'the same as --check',
      yes: 'do not ask',
      ordered: false,
    }),
  ],
  run: async (call) => {
    needInput(call.operands, call);
    await demerge({ files: call.operands, flags: call.flags }, call.settings(), call.runtime);
  },
};

async function demerge(
  { files, flags }: { readonly files: readonly string[]; readonly flags: DemergeFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const [job, { runWriteCommand }, { confirmDemerge }] = await Promise.all([
    import('../jobs/demerge-job.js'),
    import('./run-write.js'),
    import('../ui/confirm-demerge.js'),
  ]);
  const check = flags.check === true || flags.dryRun === true;
  await runWriteCommand(
    {
      name: 'demerge',
      files,
      flags,
      job: (request, world, hooks) => job.demerge({ ...flags, ...request, check }, world, hooks),
      confirm: ({ account: { accountId, region, production } }, { piped, identities }) =>
        confirmDemerge(
          {
            accountId,
            region,
            production,
            files,
            count: identities?.count ?? 0,
            firstIdentities: identities?.first ?? [],
          },
          { yes: flags.yes === true, inputIsStdin: piped },
          runtime,
        ),
    },
    settings,
    runtime,
  );
}

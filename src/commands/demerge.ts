import { paths } from '../contract/endpoints.js';
import { limits } from '../contract/limits.js';
import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { needInput } from './input-options.js';
import type { Settings } from './settings.js';
import { inputMeaning, writeOptions, type WriteFlags } from './write-options.js';

interface DemergeFlags extends WriteFlags {
  readonly identity: string;
}

export const command: CommandSpec<DemergeFlags> = {
  summary: 'demerge profiles by identity',
  description:
    'Demerges user profiles: every merged profile falls apart, and event data of it may be lost.\n' +
    'Asks for confirmation on a terminal; elsewhere it needs --yes.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin']],
  examples: [
    ['read and validate everything, send nothing', 'engagectl demerge identities.txt --check'],
    ['shows what will happen, and asks', 'engagectl demerge identities.csv'],
    ['in CI, where nobody can be asked', 'engagectl demerge identities.ndjson --yes --json'],
  ],
  options: [
    ['Options:', [['--identity <column>', 'column of the identity', { default: 'identity' }]]],
    ...writeOptions({
      chunkSize: limits.identitiesPerDemerge,
      inFlight: 1,
      mostInFlight: limits.othersInFlight,
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
  const { runWrite } = await import('../jobs/write-run.js');
  const { demergeMapper } = await import('../mapping/demerge.js');
  const { confirmDemerge } = await import('../ui/confirm.js');
  const { surveyIdentities } = await import('../bulk/write/identities.js');
  const { firstRecords } = await import('../input/first-records.js');
  const { IdentitySet } = await import('../bulk/write/identity-set.js');
  const mapper = demergeMapper({
    identity: flags.identity,
    retryUnknown: flags.retryUnknown === true,
  });
  const seen = new IdentitySet(runtime.random);
  await runWrite(
    {
      name: 'demerge',
      files,
      flags,
      listColumn: flags.identity,
      checkOnly: flags.check === true || flags.dryRun === true,
      meaning: { ...inputMeaning(flags), identity: flags.identity },
      endpoint: `POST ${paths.demerge}`,
      frame: ['{"identities":[', ']}'],
      mapper: () => mapper,
      send: (client) => (body, signal) => client.demerge(body, signal),
      seen,
      confirm: async ({ account: { accountId, region, production } }, again) => {
        const inputIsStdin = again === undefined;
        const { count, first } = inputIsStdin
          ? { count: 0, first: [] }
          : await surveyIdentities(
              firstRecords((await again()).blocks(), flags.limit ?? Number.POSITIVE_INFINITY),
              (rows) => mapper.map(rows),
              seen,
            );
        await confirmDemerge(
          { accountId, region, production, files, count, firstIdentities: first },
          { yes: flags.yes === true, inputIsStdin },
          runtime,
        );
      },
    },
    settings,
    runtime,
  );
}

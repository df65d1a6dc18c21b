import type { Runtime } from '../runtime.js';
import type { CommandSpec } from './command-spec.js';
import { needInput } from './input-flags.js';
import type { OptionTable } from './option-table.js';
import { choiceInAnyCase } from './option-values.js';
import type { Settings } from './settings.js';
import { writeOptions, type WriteFlags } from './write-flags.js';

interface SubscribeFlags extends WriteFlags {
  readonly type?: 'phone' | 'whatsapp' | 'email';
  readonly status?: 'Unsubscribe' | 'Resubscribe';
}

const statusOptions: OptionTable = [
  [
    '--type <type>',
    'phone, whatsapp or email, where the input does not say',
    choiceInAnyCase('phone', 'whatsapp', 'email'),
  ],
  [
    '--status <status>',
    'Unsubscribe or Resubscribe, where the input does not say',
    choiceInAnyCase('Unsubscribe', 'Resubscribe'),
  ],
];

export const command: CommandSpec<SubscribeFlags> = {
  summary: 'subscription status of phones, WhatsApp, email',
  description:
    'Sets the subscription status of phone numbers, WhatsApp numbers and email addresses.\n' +
    'CSV columns or NDJSON members: type, value, status.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin']],
  examples: `
    # columns type, value and status
    engagectl subscribe opt-outs.csv
    # let the service check the records and change nothing
    engagectl subscribe opt-outs.csv --dry-run
    # from cron: a bare list, one phone number a line
    engagectl subscribe phones.txt --type phone --status Unsubscribe --quiet
    # in CI: one JSON object of figures
    zcat opt-outs.ndjson.gz | engagectl subscribe - --json
  `,
  options: [
    'Options:',
    ...statusOptions,
    ...writeOptions('subscribe', {
      dryRun: 'let the service check the records and change nothing',
    }),
  ],
  run: async (call) => {
    needInput(call.operands, call);
    await subscribe({ files: call.operands, flags: call.flags }, call.settings(), call.runtime);
  },
};

async function subscribe(
  { files, flags }: { readonly files: readonly string[]; readonly flags: SubscribeFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const [job, { runWriteCommand }, { confirmProduction }] = await Promise.all([
    import('../jobs/subscribe-job.js'),
    import('./run-write.js'),
    import('./confirm-production.js'),
  ]);
  const does = 'sets subscription statuses';
  await runWriteCommand(
    {
      name: 'subscribe',
      files,
      flags,
      job: (request, world, hooks) => job.subscribe({ ...flags, ...request }, world, hooks),
      confirm: confirmProduction({ command: 'subscribe', does, files, flags }, runtime),
    },
    settings,
    runtime,
  );
}

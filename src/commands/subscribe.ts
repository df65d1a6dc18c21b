import { choiceInAnyCase } from './flags/value-parsers.js';
import { writeOptions, type WriteFlags } from './flags/write-flags.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionTable } from './flags/option-table.js';

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
    'Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. ' +
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
    'Records:',
    ...statusOptions,
    ...writeOptions('subscribe', {
      dryRun: 'let the service check the records and change nothing',
    }),
  ],
  run: async (call) => {
    const [{ subscribe }, { runWrite }] = await Promise.all([
      import('../jobs/write/subscribe.js'),
      import('./shared/run-write.js'),
    ]);
    await runWrite(call, {
      name: 'subscribe',
      does: 'sets subscription statuses',
      nouns: 'subscription statuses',
      job: subscribe,
    });
  },
};

import { inputFormatsText } from '../contract/file-formats.js';
import { choiceInAnyCase } from './flags/value-parsers.js';
import { writeOptions, type WriteFlags } from './flags/write-flags.js';
import { textOptions } from './flags/input-flags.js';
import type { SubscribeOptions } from '../jobs/job-options.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionTable } from './flags/option-table.js';

type SubscribeFlags = WriteFlags & Omit<SubscribeOptions, keyof WriteFlags | 'rehearsal'>;

const statusOptions: OptionTable = [
  [
    '--type <type>',
    'phone, whatsapp or email, if the input has no type',
    { parse: choiceInAnyCase('phone', 'whatsapp', 'email'), common: true },
  ],
  [
    '--status <status>',
    'Unsubscribe or Resubscribe, if the input has no status',
    { parse: choiceInAnyCase('Unsubscribe', 'Resubscribe'), common: true },
  ],
  [
    '--map <column=part>',
    'column or path of type, value or status, such as phone=value (repeatable)',
    { repeatable: true, common: true },
  ],
  ...textOptions,
  ['--mapping <file>', 'JSON file with map, types, lowercase, trim and nullValues'],
];

export const command: CommandSpec<SubscribeFlags> = {
  summary: 'set the statuses of phones, WhatsApp numbers and emails',
  description:
    'Sets the subscription status of phone numbers, WhatsApp numbers and email addresses. ' +
    'CSV columns or NDJSON members: type, value, status.',
  operands: [['[file...]', `${inputFormatsText}, or a list; - reads stdin`]],
  examples: `
    # a CSV with the columns type, value and status
    engagectl subscribe opt-outs.csv
    # let the service check the records and change nothing
    engagectl subscribe opt-outs.csv --dry-run
    # from cron: a list of phone numbers, one per line
    engagectl subscribe phones.txt --type phone --status Unsubscribe --quiet
    # in CI: JSON summary
    zcat opt-outs.ndjson.gz | engagectl subscribe - --json
  `,
  options: ['Records:', ...statusOptions, ...writeOptions('subscribe')],
  run: async (call) => {
    const [{ subscribe }, { runWrite }] = await Promise.all([
      import('../jobs/write/subscribe.js'),
      import('./shared/run-write.js'),
    ]);
    await runWrite(call, { name: 'subscribe', job: subscribe });
  },
};

import { Option, type Command } from 'commander';
import { paths } from '../contract/endpoints.js';
import { limits } from '../contract/limits.js';
import { addExamples, type Example } from '../help/examples.js';
import type { Runtime } from '../runtime.js';
import { needInput } from './need-input.js';
import { choiceInAnyCase } from './option-values.js';
import { resolveSettings, type Settings } from './options.js';
import { addWriteOptions, inputMeaning, type WriteFlags } from './write-options.js';

interface SubscribeFlags extends WriteFlags {
  readonly type?: 'phone' | 'whatsapp' | 'email';
  readonly status?: 'Unsubscribe' | 'Resubscribe';
}

const examples: readonly Example[] = [
  ['columns type, value and status', 'engagectl subscribe opt-outs.csv'],
  [
    'let the service check the records and change nothing',
    'engagectl subscribe opt-outs.csv --dry-run',
  ],
  [
    'from cron: a bare list, one phone number a line',
    'engagectl subscribe phones.txt --type phone --status Unsubscribe --quiet',
  ],
  ['in CI: one JSON object of figures', 'zcat opt-outs.ndjson.gz | engagectl subscribe - --json'],
];

export function registerSubscribe(program: Command, runtime: Runtime, run = subscribe): void {
  const command = program
    .command('subscribe')
    .summary('subscription status of phones, WhatsApp, email')
    .description(
      'Sets the subscription status of phone numbers, WhatsApp numbers and email addresses.\n' +
        'CSV columns or NDJSON members: type, value, status.',
    )
    .argument('[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz, or a list; - reads stdin')
    .addOption(
      new Option(
        '--type <type>',
        'phone, whatsapp or email, where the input does not say',
      ).argParser(choiceInAnyCase('phone', 'whatsapp', 'email')),
    )
    .addOption(
      new Option(
        '--status <status>',
        'Unsubscribe or Resubscribe, where the input does not say',
      ).argParser(choiceInAnyCase('Unsubscribe', 'Resubscribe')),
    );
  addExamples(command, examples);
  addWriteOptions(command, {
    chunkSize: limits.recordsPerSubscribe,
    chunkSizeMaximum: limits.recordsPerSubscribe,
    concurrency: limits.othersInFlight,
    concurrencyMaximum: limits.uploadsInFlight,
    dryRun: 'let the service check the records and change nothing',
    yes: 'do not ask, though the config profile is marked production',
    ordered: true,
  });
  command.action(async (files: string[], flags: SubscribeFlags) => {
    needInput(files, command, runtime);
    await run({ files, flags }, resolveSettings(command, runtime), runtime);
  });
}

async function subscribe(
  { files, flags }: { readonly files: readonly string[]; readonly flags: SubscribeFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { runWrite } = await import('../jobs/write-run.js');
  const { confirmProduction } = await import('./confirm-production.js');
  const { subscribeMapper } = await import('../mapping/subscribe.js');
  const { type, status } = flags;
  await runWrite(
    {
      name: 'subscribe',
      files,
      flags,
      ...(type && status && { listColumn: 'value' }),
      checkOnly: flags.check === true,
      dryRun: flags.dryRun === true,
      meaning: { ...inputMeaning(flags), type, status },
      endpoint: `POST ${paths.subscribe}`,
      frame: ['{"d":[', ']}'],
      mapper: () =>
        subscribeMapper({
          ...(type && { type }),
          ...(status && { status }),
          retryUnknown: flags.retryUnknown === true,
        }),
      send: (client) => (body, signal) =>
        client.subscribe(body, { dryRun: flags.dryRun === true }, signal),
      confirm: confirmProduction(
        { command: 'subscribe', does: 'sets subscription statuses', files, flags },
        runtime,
      ),
    },
    settings,
    runtime,
  );
}

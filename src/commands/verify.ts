import { limits } from '../contract/limits.js';
import { subscriptionStatuses, subscriptionTypes } from '../contract/record-fields.js';
import { EngagectlError } from '../errors.js';
import { verifyDefaults, type VerifyOptions } from '../jobs/job-options.js';
import {
  concurrencyOption,
  pendingTimeoutOption,
  reportOptions,
  type ReportFlag,
} from './flags/output-flags.js';
import { inputOptions, mappingOptions, requireInput } from './flags/input-flags.js';
import { choice, choiceInAnyCase, duration, integer, nonEmpty } from './flags/value-parsers.js';
import type { CommandSpec } from './shared/command-spec.js';
import type { OptionTable } from './flags/option-table.js';

const recordTypes = ['profile', 'event'] as const;
const addressTypes = Object.values(subscriptionTypes);

interface VerifyFlags
  extends Omit<VerifyOptions, 'type' | 'subscriptions' | 'concurrency'>, ReportFlag {
  readonly type?: (typeof recordTypes)[number] | (typeof addressTypes)[number];
  readonly subscriptions?: boolean;
  readonly status?: (typeof subscriptionStatuses)[keyof typeof subscriptionStatuses];
  readonly concurrency: number;
  readonly output?: string;
  readonly overwrite?: boolean;
  readonly fresh?: boolean;
}

const verifyOptions: OptionTable = [
  'Look-ups:',
  [
    '--sample <n>',
    'number of random users to look up',
    { parse: integer({ min: 1, max: 100_000 }), default: verifyDefaults.sample, common: true },
  ],
  ['--seed <n>', 'seed of the random choice', integer({ max: 2 ** 32 - 1 })],
  ['--all', 'look up all users', { common: true }],
  [
    '--within <duration>',
    'recheck differences for this long, since reads may lag',
    { parse: duration, common: true },
  ],
  pendingTimeoutOption,
  concurrencyOption(limits.othersInFlight),
  'Unknown outcomes:',
  [
    '--settle',
    'look up the records of unknown outcome in a rejects file; write those not found',
    { common: true },
  ],
  'Output:',
  [
    '-o, --output <file>',
    'file for differences, or for records not found (default: standard output)',
    { parse: nonEmpty, common: true, writes: true },
  ],
  ['--overwrite', 'replace an existing output file'],
  ['--fresh', 'start from scratch; rename the partial file of an earlier run'],
  ...reportOptions,
];

export const command: CommandSpec<VerifyFlags> = {
  summary: 'read back what was sent and compare',
  description:
    'Reads back what an upload or subscribe of this input sent, with the same mapping flags. Looks ' +
    'up a random sample of profiles; for events, exports their days and compares all of them. Prints ' +
    'each difference as a JSON line; the summary states the confidence.',
  operands: [['[file...]', 'input of the write; - reads stdin']],
  examples: `
    # a sample of 300 users, field by field
    engagectl verify users.csv
    # all events of the file; recheck for ten minutes
    engagectl verify events.ndjson --within 10m
    # opt-outs, by the flags of the users with these addresses
    engagectl verify opt-outs.csv --subscriptions
    # with the flags of the upload: look up unknown outcomes; write missing ones
    engagectl verify events.rejects.ndjson --settle -o open.ndjson
  `,
  options: [
    'Mapping (as in upload or subscribe):',
    [
      '--type <type>',
      'profile (the default) or event; with --subscriptions: phone, whatsapp, email',
      { parse: choice(...recordTypes, ...addressTypes), common: true },
    ],
    ...mappingOptions,
    ['--subscriptions', 'the input was used with subscribe', { common: true }],
    [
      '--status <status>',
      'with --subscriptions: Unsubscribe or Resubscribe, if the input has no status',
      choiceInAnyCase(...Object.values(subscriptionStatuses)),
    ],
    ...inputOptions,
    ...verifyOptions,
  ],
  run: async (call) => {
    const { type, subscriptions, status, ...flags } = call.flags;
    const what = subscriptions
      ? { subscriptions: subscriptionsToVerify({ type, status }) }
      : recordsToVerify({ type, status });
    const { operands: files } = call;
    requireInput(files, call);
    if (flags.settle && files.length === 0) throw noRejectsFile();
    const [{ verify }, { openRecordOutput }, { runJob }] = await Promise.all([
      import('../jobs/verify/verify.js'),
      import('../jobs/record-output.js'),
      import('./shared/run-job.js'),
    ]);
    const { overwrite = false, fresh = false } = flags;
    await runJob(
      {
        name: 'verify',
        verb: 'compared',
        nouns: 'records',
        flags,
        files,
        concurrency: flags.concurrency,
        reads: true,
        job: async (context, hooks) => {
          const how = { format: 'ndjson', overwrite, fresh } as const;
          const into = async () => openRecordOutput(flags.output, how, context);
          return verify({ ...flags, ...what, files, into }, context, hooks);
        },
      },
      call.settings(),
      call.runtime,
    );
  },
};

type What = { readonly [Name in 'type' | 'status']: VerifyFlags[Name] | undefined };

/** Throws E-USAGE for a type that is not a type of subscriptions. */
function subscriptionsToVerify({
  type,
  status,
}: What): NonNullable<VerifyOptions['subscriptions']> {
  const address = addressTypes.find((one) => one === type);
  if (type !== undefined && address === undefined) {
    throw new EngagectlError('E-USAGE', `--type ${type} is not a type of subscription`, {
      why: 'with --subscriptions, it is the type of an address',
      fix: `use one of ${addressTypes.join(', ')}; or leave out --subscriptions`,
    });
  }
  return { ...(address && { type: address }), ...(status && { status }) };
}

/** Throws E-USAGE for flags that only subscriptions have. */
function recordsToVerify({ type, status }: What): Pick<VerifyOptions, 'type'> {
  const record = recordTypes.find((one) => one === type);
  if (type !== undefined && record === undefined) {
    throw new EngagectlError('E-USAGE', `--type ${type} is for subscriptions`, {
      why: `what an upload sent is of the type ${recordTypes.join(' or ')}`,
      fix: 'add --subscriptions',
    });
  }
  if (status !== undefined) {
    throw new EngagectlError('E-USAGE', '--status is for subscriptions', {
      why: 'only subscriptions have a status',
      fix: 'add --subscriptions',
    });
  }
  return { ...(record && { type: record }) };
}

const noRejectsFile = (): EngagectlError =>
  new EngagectlError('E-USAGE', '--settle needs a rejects file', {
    why: 'it settles records of an unknown outcome, and only that file names them',
    fix: 'name the file that the write left behind: <input>.rejects.ndjson',
  });

import { identifierKinds } from '../contract/endpoints.js';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import { inputOptions, needInput, refuseInputFlags } from './flags/input-flags.js';
import { concurrencyOption, outputOptions } from './flags/output-flags.js';
import { choice, notEmpty } from './flags/value-parsers.js';
import { isStdout } from '../jobs/output-options.js';
import { inertJsonText } from '../ui/sanitize.js';
import type { LookUpRequest, ProfileSink, WantedUsers } from '../jobs/get-profiles.js';
import type { OutputStream, Runtime } from '../runtime.js';
import type { CommandWorld } from './shared/job-context.js';
import type { Settings } from './shared/global-options.js';
import type { Call, CommandSpec } from './shared/command-spec.js';
import type { FlagsOf, OptionTable } from './flags/option-table.js';

const userOptions = [
  'Users:',
  ['--identity <value>', 'the user with this identity', notEmpty],
  ['--email <value>', 'the user with this email address', notEmpty],
  ['--object-id <value>', 'the user of this device', notEmpty],
  ['--input <file>', 'users of a CSV, NDJSON or list, also .gz; - reads standard input'],
  [
    '--by <kind>',
    `what the input identifies users by: ${identifierKinds.join(', ')}`,
    choice(...identifierKinds),
  ],
  concurrencyOption(limits.uploadsInFlight, limits.othersInFlight),
  ['--reachability', 'add what the subscription flags mean for SMS, WhatsApp and email'],
  [
    '--rejects <file>',
    'where identifiers without a user go (default: beside the input, else here)',
  ],
] as const satisfies OptionTable;
type UserFlags = FlagsOf<typeof userOptions>;

interface LookUpFlags extends Omit<LookUpRequest, 'users' | 'into'> {
  readonly concurrency: number;
}

export const command: CommandSpec<LookUpFlags & UserFlags> = {
  summary: 'one or many profiles by identifier',
  description:
    'Reads user profiles. One is indented on a terminal; many are written one a line, in order.',
  operands: [['[value...]', 'identities']],
  examples: `
    # one user
    engagectl get-profile crm-00003
    # by another identifier; can the user be reached
    engagectl get-profile --email someone@example.com --reachability
    # many, in the order of the input
    engagectl get-profile --input identities.csv -o profiles.ndjson
    # in a pipe
    tail -n +2 users.csv | cut -d, -f2 | engagectl get-profile --input - --by email > found.ndjson
  `,
  options: [...userOptions, ...inputOptions, ...outputOptions()],
  run: async (call) => {
    const { flags } = call;
    const users = wantedUsers(call);
    if ('input' in users) needInput(users.input === '-' ? [] : [users.input], call);
    const settings = call.settings();
    await runLookUp({ users, flags }, settings, call.runtime);
  },
};

/** The one way in which users are named. Throws E-USAGE for none, several, or an empty value. */
function wantedUsers({ operands: values, flags, command }: Call<UserFlags>): WantedUsers {
  const { input, by } = flags;
  const ways: WantedUsers[] = identifierKinds.flatMap((by) => {
    const value = flags[by];
    return value === undefined ? [] : [{ by, values: [value] }];
  });
  if (values.length > 0) ways.push({ by: 'identity', values });
  if (input !== undefined) ways.push({ by, input });
  const [way] = ways;
  if (way === undefined || ways.length > 1) {
    throw new EngagectlError(
      'E-USAGE',
      `${way ? 'more than one way' : 'nothing'} says whom to look up`,
      {
        why: 'users are looked up by one kind of identifier at a time',
        fix: 'give identities, or one of --identity, --email, --object-id and --input',
      },
    );
  }
  if (values.includes('')) {
    throw new EngagectlError('E-USAGE', 'one of the identities is empty', {
      why: 'a variable that stands there may be unset',
      fix: 'leave it out',
    });
  }
  if (input === undefined) refuseInputFlags(command);
  if (by !== undefined && input === undefined) {
    throw new EngagectlError('E-USAGE', '--by is for --input', {
      why: 'it says what the lines of the input are',
      fix: 'name a user with --identity, --email or --object-id',
    });
  }
  return way;
}

/** Runs get-profile from its flags to its summary. Throws what the command must end with. */
async function runLookUp(
  { users, flags }: { readonly users: WantedUsers; readonly flags: LookUpFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const [{ isSingle, lookUp }, { prettyJson }, { runJob }] = await Promise.all([
    import('../jobs/get-profiles.js'),
    import('../text/raw-json.js'),
    import('./shared/run-job.js'),
  ]);
  const single = isSingle(users);
  const onTerminal = isStdout(flags.output) && !flags.format && runtime.stdout.isTTY === true;
  const into = single && onTerminal ? terminalSink(runtime.stdout, prettyJson) : undefined;
  const request: LookUpRequest = { ...flags, users, into };
  await runJob(
    {
      name: 'get-profile',
      flags,
      concurrency: flags.concurrency,
      nouns: 'users',
      reads: true,
      job: async (world, hooks) => lookUp(request, world, hooks),
      judged: (error, world) => (single ? errorOfOne(users, error, world) : error),
      // One profile needs no figures for people.
      figures: !single,
    },
    settings,
    runtime,
  );
}

/** A single profile on a terminal is indented. */
function terminalSink(stdout: OutputStream, prettyJson: (json: Buffer) => string): ProfileSink {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    warnings: [],
    write: (record) => {
      if (record) {
        const text = `${inertJsonText(prettyJson(record))}\n`;
        bytes += Buffer.byteLength(text);
        stdout.write(text);
      }
      return Promise.resolve();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

function errorOfOne(
  users: WantedUsers,
  error: EngagectlError,
  { connection }: CommandWorld,
): EngagectlError {
  if (error.id !== 'E-NOT-FOUND' || !('values' in users)) return error;
  const { accountId, region } = connection!.account;
  const who = `${users.by} ${JSON.stringify(users.values[0])}`;
  return new EngagectlError('E-NOT-FOUND', `no user has ${who}`, {
    why: `account ${accountId}, region ${region}`,
    fix: 'compare the spelling: identifiers are case-sensitive; perhaps it is another --region',
  });
}

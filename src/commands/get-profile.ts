import { identifierKinds } from '../contract/endpoints.js';
import { inputFormatsText } from '../contract/file-formats.js';
import { limits } from '../contract/limits.js';
import { EngagectlError } from '../errors.js';
import { inputOptions, requireInput, refuseInputFlags, textOptions } from './flags/input-flags.js';
import { concurrencyOption, outputOptions } from './flags/output-flags.js';
import { choice, nonEmpty, rejectsFile } from './flags/value-parsers.js';
import { isStdout } from '../jobs/output-options.js';
import { sanitizeJsonText } from '../ui/sanitize.js';
import type { LookupRequest, ProfileSink, LookupTarget } from '../jobs/get-profiles.js';
import type { OutputStream } from '../runtime.js';
import type { CommandContext } from './shared/job-context.js';
import type { Invocation, CommandSpec } from './shared/command-spec.js';
import type { FlagsOf, OptionTable } from './flags/option-table.js';

const userOptions = [
  'Users:',
  [
    '--identity <value>',
    'identity of the user; with --input: its column or path',
    { parse: nonEmpty, common: true },
  ],
  [
    '--email <value>',
    'email address of the user; with --input: its column or path',
    { parse: nonEmpty, common: true },
  ],
  [
    '--object-id <value>',
    'device of the user; with --input: its column or path',
    { parse: nonEmpty, common: true },
  ],
  [
    '--input <file>',
    `look up the users of a file: ${inputFormatsText}, or a list; - reads stdin`,
    { common: true },
  ],
  [
    '--by <kind>',
    `identifier in the input: ${identifierKinds.join(', ')}`,
    { parse: choice(...identifierKinds), common: true },
  ],
  concurrencyOption(limits.uploadsInFlight, limits.othersInFlight),
  ['--reachability', 'add the reachability by SMS, WhatsApp and email', { common: true }],
  [
    '--rejects <file>',
    'file for identifiers without a user (default: next to the input; none for arguments)',
    { parse: rejectsFile, writes: true },
  ],
] as const satisfies OptionTable;
type UserFlags = FlagsOf<typeof userOptions>;

interface LookUpFlags extends Omit<LookupRequest, 'users' | 'into'> {
  readonly concurrency: number;
}

export const command: CommandSpec<LookUpFlags & UserFlags> = {
  summary: 'look up profiles by identifier',
  description:
    'Reads user profiles. One profile is indented on a terminal; several are written one per line, in order.',
  operands: [['[value...]', 'identities']],
  examples: `
    # one user
    engagectl get-profile crm-00003
    # by another identifier, with reachability
    engagectl get-profile --email someone@example.com --reachability
    # many users, in the order of the input
    engagectl get-profile --input identities.csv -o profiles.ndjson
    # by another column, from standard input
    engagectl get-profile --input - --email Email < users.csv > found.ndjson
  `,
  options: [...userOptions, ...inputOptions, ...textOptions, ...outputOptions()],
  run: async (call) => {
    const { flags } = call;
    const { column, ...users } = selectedUsers(call);
    if ('input' in users) requireInput(users.input === '-' ? [] : [users.input], call);
    const columns = column === undefined ? {} : { column };
    await runLookUp({ users, flags: { ...flags, ...columns } }, call);
  },
};

/** Users to look up; with an input, also the column that identifies them. */
type SelectedUsers = LookupTarget & { readonly column?: string };

/** Returns how users are identified. Throws E-USAGE for no, several, or empty values. */
function selectedUsers({ operands: values, flags, command }: Invocation<UserFlags>): SelectedUsers {
  const { input, by } = flags;
  const ways: SelectedUsers[] = identifierKinds.flatMap((kind): SelectedUsers[] => {
    const value = flags[kind];
    if (value === undefined) return [];
    const isColumn = input !== undefined && (by === undefined || by === kind);
    return [isColumn ? { by: kind, input, column: value } : { by: kind, values: [value] }];
  });
  if (values.length > 0) ways.push({ by: 'identity', values });
  const isInput = ways.some((way) => 'input' in way);
  if (input !== undefined && !isInput) ways.push({ by, input });
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
      why: 'a shell variable in the argument may be unset',
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

type LookUpCall = Pick<Invocation, 'settings' | 'runtime' | 'refuseOutputs'>;

/** Runs get-profile from its flags to its summary. Throws the error that the command ends with. */
async function runLookUp(
  { users, flags }: { readonly users: LookupTarget; readonly flags: LookUpFlags },
  { settings: settingsOf, runtime, refuseOutputs }: LookUpCall,
): Promise<void> {
  const settings = settingsOf();
  const [{ isSingle, getProfiles }, { prettyPrintJson }, { runJob }] = await Promise.all([
    import('../jobs/get-profiles.js'),
    import('../text/raw-json.js'),
    import('./shared/run-job.js'),
  ]);
  const single = isSingle(users);
  const onTerminal = isStdout(flags.output) && !flags.format && runtime.stdout.isTTY === true;
  const into = single && onTerminal ? terminalSink(runtime.stdout, prettyPrintJson) : undefined;
  const request: LookupRequest = { ...flags, users, into };
  await runJob(
    {
      name: 'get-profile',
      flags,
      concurrency: flags.concurrency,
      verb: 'found',
      nouns: 'users',
      reads: true,
      job: async (context, hooks) => getProfiles(request, { ...context, refuseOutputs }, hooks),
      refineError: (error, context) => (single ? notFoundError(users, error, context) : error),
      // A single profile needs no figures.
      figures: !single,
    },
    settings,
    runtime,
  );
}

/** Indents a single profile on a terminal. */
function terminalSink(stdout: OutputStream, prettyJson: (json: Buffer) => string): ProfileSink {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    warnings: [],
    write: (record) => {
      if (record) {
        const text = `${sanitizeJsonText(prettyJson(record))}\n`;
        bytes += Buffer.byteLength(text);
        stdout.write(text);
      }
      return Promise.resolve();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

function notFoundError(
  users: LookupTarget,
  error: EngagectlError,
  { connection }: CommandContext,
): EngagectlError {
  if (error.id !== 'E-NOT-FOUND' || !('values' in users)) return error;
  const { accountId, region } = connection!.account;
  const who = `${users.by} ${JSON.stringify(users.values[0])}`;
  return new EngagectlError('E-NOT-FOUND', `no user has ${who}`, {
    why: `account ${accountId}, region ${region}`,
    fix: 'compare the spelling: identifiers are case-sensitive; perhaps it is another --region',
  });
}

import { isWrite, writeEndpoints } from '../../contract/endpoints.js';
import path from 'node:path';
import { confirmIrreversible, confirmWrite } from '../../ui/prompt.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { messagePrinter } from '../../ui/messages.js';
import { closeAfter, connectAccount, type AccountConnection } from '../shared/connect.js';
import { withQueue, queueOption } from './queue.js';
import { parseNestedCommand, type NestedCommand } from './nested-command.js';
import { watchRun } from './status.js';
import { choice, integer } from '../flags/value-parsers.js';
import { formatDay } from '../../contract/dates.js';
import { EngagectlError } from '../../errors.js';
import { parseDateRange, daysOf, type DateRange } from '../../jobs/date-range.js';
import { isStdout, checkOutputFormat } from '../../jobs/output-options.js';
import { cliAdvice } from '../shared/job-context.js';
import type { FleetRun, SignedRun } from '../../fleet/fleet-run.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Runtime } from '../../runtime.js';

const submitOptions = [
  'Options:',
  [
    '--shards <n>',
    'number of shards of a write; an export is split into its slices',
    integer({ min: 1, max: 10_000 }),
  ],
  ['--work-dir <dir>', 'directory that all workers can access', { required: true }],
  [
    '--pin <how>',
    'copy: workers read a copy of the input, in the work directory; digest: they refuse a changed input (default: copy up to 64MiB)',
    choice('copy', 'digest'),
  ],
  [
    '--budget <n>',
    'maximum requests in flight of the account, from now on (default: unchanged; initially 15, for exports and demerges 3)',
    integer({ min: 1, max: 9999 }),
  ],
  ['--wait', 'wait until the run has finished, and return its exit code'],
  queueOption,
] as const satisfies OptionTable;
type SubmitFlags = FlagsOf<typeof submitOptions>;

export const submit: CommandSpec<SubmitFlags> = {
  summary: 'submit a command in shards; prints the run id',
  description:
    'Submits a command to the fleet, in shards, and prints the run id. All workers must see the ' +
    'files and the work directory under the same paths.',
  operands: [['<command...>', 'upload, subscribe, demerge or export-events, and its arguments']],
  examples: `
    # an upload in eight shards
    engagectl fleet submit upload users.csv --shards 8 --work-dir /shared/fleet
    # an export, one slice per day; wait until it has finished
    engagectl fleet submit export-events --event Charged --from 7d --to yesterday -o charged.ndjson --work-dir /shared/fleet --wait
  `,
  takesAnyFlag: true,
  options: submitOptions,
  run: submitRun,
};

/** `fleet submit`: prints the run id on stdout. */
async function submitRun(call: Invocation<SubmitFlags>): Promise<void> {
  const { operands, flags, runtime } = call;
  const within = await parseNestedCommand(operands, call);
  const settings = call.settings();
  const messages = messagePrinter(settings, runtime);
  const connection = await connectAccount(settings, runtime, { maxInFlight: 1, messages });
  const planned = { within, argv: operands, shards: flags.shards, connection, runtime };
  const plan = await closeAfter(connection, planShards(planned));
  const workDir = path.resolve(runtime.cwd, flags.workDir);
  const [fleet, { FleetKey }, { findRun }, { refuseDuplicateRun }] = await Promise.all([
    import('../../fleet/fleet-run.js'),
    import('../../fleet/signature.js'),
    import('../../fleet/run-status.js'),
    import('../../fleet/submit-run.js'),
  ]);
  const { fleetRunId, fleetVersion: version, WorkDirectory } = fleet;
  const run: FleetRun = { version, run: fleetRunId(plan, workDir), ...plan, workDir };
  const key = new FleetKey({ ...plan, passcode: connection.account.passcode });
  const folder = new WorkDirectory(workDir, run.run);
  folder.refuseUntrusted(runtime);
  const signed = new fleet.SignedRun(run, { folder, key });
  const doesHarm = within.flags.again !== true && isNotIdempotent(within, run);
  const submitTo = async (store: QueueStore) => {
    await refuseDuplicateRun(run, { doesHarm }, store);
    await confirm(within, connection, call);
    await enqueueRun(signed, store, call);
    if (!flags.wait) return;
    const known = await findRun(store, run.run, {
      workDir,
      runtime,
      keyOf: () => Promise.resolve(key),
    });
    await watchRun(call, store, { known, shows: false });
  };
  await withQueue(call, submitTo, {
    waitForStore: false,
    onWarning: (text) => messages.warn(text),
  });
}

/** Whether the submitted records are not idempotent. */
const isNotIdempotent = ({ name, flags }: NestedCommand, { files }: FleetRun): boolean =>
  isWrite(name) &&
  (!writeEndpoints[name].idempotent ||
    (flags as { readonly type?: string }).type === 'event' ||
    (writeEndpoints[name].idempotent === 'mixed' && files.some(({ once }) => once === true)));

async function enqueueRun(
  signed: SignedRun,
  store: QueueStore,
  call: Invocation<SubmitFlags>,
): Promise<void> {
  const { submitRun } = await import('../../fleet/submit-run.js');
  const { budget, isKnown } = await submitRun(signed, call.flags, store);
  const settings = call.settings();
  const { stdout } = call.runtime;
  const { run: id, shards } = signed.run;
  if (settings.json) return void stdout.write(jsonAnswer({ run: id, shards, budget, isKnown }));
  const which = isKnown ? 'known already' : 'submitted';
  const messages = messagePrinter(settings, call.runtime);
  messages.note(`run ${id} is ${which}: ${shards} shards, at most ${budget} at once`);
  stdout.write(`${id}\n`);
}

/** Asks the submitting user, since workers never prompt. */
async function confirm(
  { name, flags, files }: NestedCommand,
  { account }: AccountConnection,
  { runtime }: Invocation<SubmitFlags>,
): Promise<void> {
  if (!isWrite(name) || flags.yes) return;
  const { irreversible, does } = writeEndpoints[name];
  if (irreversible) {
    // The number of identities is unknown: the workers remove duplicates.
    const about = {
      ...account,
      command: name,
      irreversible,
      files,
      count: files.length,
      firstIdentities: [],
    };
    return confirmIrreversible(about, { yes: false, inputIsStdin: true }, runtime);
  }
  if (account.production) await confirmWrite({ ...account, command: name, does, files }, runtime);
}

interface Planned {
  readonly within: NestedCommand;
  readonly argv: readonly string[];
  readonly shards: number | undefined;
  readonly connection: AccountConnection;
  readonly runtime: Runtime;
}

/** Plans a run from a command line. Throws E-USAGE for what a fleet cannot do. */
async function planShards(
  planned: Planned,
): Promise<Omit<FleetRun, 'run' | 'version' | 'workDir'>> {
  const { within, argv, connection, runtime } = planned;
  refuse(within);
  const { account, accountId, host, zone } = connection;
  const range = within.name === 'export-events' ? rangeOf(within, connection, runtime) : undefined;
  const { inputFile } = await import('../../fleet/fleet-run.js');
  const read = async (file: string) => inputFile(path.resolve(runtime.cwd, file));
  const files = await Promise.all(within.files.map(read));
  const { mapping } = within.flags;
  return {
    command: within.name,
    argv,
    cwd: runtime.cwd,
    profile: account.profile,
    region: account.profile === undefined ? undefined : account.region,
    timezone: zone.name,
    accountId,
    host,
    shards: range ? slicesIn(within, range) : shardsOf(planned),
    files,
    mapping: mapping === undefined ? undefined : await read(mapping),
    range: range && { from: formatDay(range.from), to: formatDay(range.to) },
  };
}

function shardsOf({ shards }: Planned): number {
  if (shards !== undefined) return shards;
  throw usage('in how many parts is not said', 'add --shards <n>: as many as may be in flight');
}

const slicesIn = ({ flags: { event = [], split = true } }: NestedCommand, range: DateRange) =>
  event.length * (split ? daysOf(range).length : 1);

function rangeOf(
  { flags }: NestedCommand,
  { zone }: AccountConnection,
  { now }: Runtime,
): DateRange {
  const { from = '', to = '' } = flags;
  return parseDateRange({ from, to }, { zone, now: now() }, cliAdvice);
}

/** Refuses flags that make no sense for distributed shards, or whose output cannot be merged. */
function refuse({ name, files, flags }: NestedCommand): void {
  const wrong = (
    [
      ['shard', flags.shard],
      ['shards', flags.shards],
      ['missing', flags.missing],
      ['changed', flags.changed],
      ['check', flags.check],
      ['dryRun', flags.dryRun],
      ['fresh', flags.fresh],
    ] as const
  ).find(([, value]) => value !== undefined);
  if (wrong) throw usage(`${cliAdvice.option(wrong[0])} is not for a fleet`, 'leave it out');
  if (flags.journal === false)
    throw usage('a fleet lives by its journals', 'leave out --no-journal');
  if (name === 'export-events') return refuseExport(flags);
  if (files.length === 0 || files.includes('-')) {
    throw usage('a fleet reads files, each part all of them', 'name files that all workers see');
  }
}

function refuseExport(flags: NestedCommand['flags']): void {
  if (isStdout(flags.output)) {
    throw usage('the slices of a fleet are put together in files', 'add --output <file>');
  }
  if (flags.limit !== undefined) {
    throw usage('--limit is not for the exports of a fleet', 'leave it out: each slice is a day');
  }
  checkOutputFormat(flags.output, flags, cliAdvice);
}

const usage = (message: string, fix: string): EngagectlError =>
  new EngagectlError('E-USAGE', message, {
    why: 'its parts run on any machine, in any order, and are put together at the end',
    fix,
  });

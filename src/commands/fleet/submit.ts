import { isWrite, writeEndpoints } from '../../contract/endpoints.js';
import path from 'node:path';
import { confirmWrite } from '../../ui/prompt.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { messagePrinter } from '../../ui/messages.js';
import { closeAfter, connectAccount, type AccountConnection } from '../shared/connect.js';
import { withQueue, queueOption } from './queue.js';
import {
  noEffect,
  parseNestedCommand,
  refusedFlags,
  refuseWithoutEffect,
  type NestedCommand,
  type Refusal,
} from './nested-command.js';
import { watchRun } from './status.js';
import { choice, integer } from '../flags/value-parsers.js';
import { formatDay } from '../../contract/dates.js';
import { countOf, EngagectlError } from '../../errors.js';
import { parseDateRange, daysOf, type DateRange } from '../../jobs/date-range.js';
import { isStdout, checkOutputFormat } from '../../jobs/output-options.js';
import { cliAdvice } from '../shared/job-context.js';
import type { FleetRun, InputFile } from '../../fleet/fleet-run.js';
import type { FleetKey, SignedRun } from '../../fleet/signature.js';
import type { SubmittedEvents } from '../../fleet/submitted-events.js';
import type { UploadOptions } from '../../jobs/job-options.js';
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
    'files and the work directory under the same paths. Events that were submitted ' +
    'before are refused; upload --resume leaves them out.',
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
  refuseUnsupported(within, call);
  const settings = call.settings();
  const messages = messagePrinter(settings, runtime);
  const connection = await connectAccount(settings, runtime, { maxInFlight: 1, messages });
  const planned = { within, argv: operands, shards: flags.shards, connection, runtime };
  const plan = await closeAfter(connection, planShards(planned));
  const workDir = path.resolve(runtime.cwd, flags.workDir);
  const [fleet, signature, { findRun }] = await Promise.all([
    import('../../fleet/fleet-run.js'),
    import('../../fleet/signature.js'),
    import('../../fleet/run-status.js'),
  ]);
  const { fleetRunId, fleetVersion: version, WorkDirectory } = fleet;
  const run: FleetRun = { version, run: fleetRunId(plan, workDir), ...plan, workDir };
  const key = new signature.FleetKey({ ...plan, passcode: connection.account.passcode });
  const folder = new WorkDirectory(workDir, run.run);
  folder.refuseUntrusted(runtime);
  const signed = new signature.SignedRun(run, { folder, key });
  const events = await eventsOf(signed, key, { within, connection, runtime });
  const submitTo = async (store: QueueStore) => {
    await submitOnce({ signed, events, within, connection }, store, call);
    if (!flags.wait) return;
    const known = await findRun(store, run.run, {
      workDir,
      runtime,
      keyOf: () => Promise.resolve(key),
    });
    await watchRun(call, store, { known, shows: false });
  };
  try {
    await withQueue(call, submitTo, {
      waitForStore: false,
      onWarning: (text) => messages.warn(text),
    });
  } finally {
    events?.discard();
  }
}

/** Reads the events of an upload. Throws E-USAGE for `--resume` if it has none, and the errors of reading it. */
async function eventsOf(
  signed: SignedRun,
  key: FleetKey,
  { within, connection, runtime }: Pick<Planned, 'within' | 'connection' | 'runtime'>,
): Promise<SubmittedEvents | undefined> {
  if (within.name !== 'upload') return undefined;
  const [{ SubmittedEvents }, { uploadedEvents }] = await Promise.all([
    import('../../fleet/submitted-events.js'),
    import('../../jobs/write/upload.js'),
  ]);
  const { flags, files } = within as NestedCommand & { readonly flags: UploadOptions };
  const reading = { runtime, words: cliAdvice, zone: connection.zone };
  const events = await SubmittedEvents.read(signed, key, {
    read: (secret) => uploadedEvents({ ...flags, files }, { ...reading, secret }),
    again: flags.again === true,
    resume: within.flags.resume === true,
    runtime,
  });
  if (within.flags.resume && !events) throw noEffect('--resume', refusedFlags['--resume']!);
  return events;
}

interface SubmittedRun extends Pick<Planned, 'within' | 'connection'> {
  readonly signed: SignedRun;
  readonly events: SubmittedEvents | undefined;
}

/** Submits a run unless its records were submitted before. */
async function submitOnce(
  { signed, events, within, connection }: SubmittedRun,
  store: QueueStore,
  call: Invocation<SubmitFlags>,
): Promise<void> {
  const [{ refuseDuplicateRun, withContentClaimed }, { describeRuns }] = await Promise.all([
    import('../../fleet/submit-run.js'),
    import('../../fleet/submitted-events.js'),
  ]);
  const messages = messagePrinter(call.settings(), call.runtime);
  const { run } = signed;
  await events?.compare();
  const isNew = within.flags.again !== true && events?.isKnown !== true;
  const doesHarm = isNew && (events !== undefined || isNotIdempotent(within, run));
  const comparesEvents = events !== undefined && !events.hasOthers;
  const note = (text: string) => messages.note(text);
  await refuseDuplicateRun(events?.signed ?? signed, { doesHarm, comparesEvents, note }, store);
  await confirm(within, connection, call);
  const enqueue = () => enqueueRun(signed, events, { store, call });
  await (doesHarm ? withContentClaimed(signed, { store, comparesEvents }, enqueue) : enqueue());
  if (!events || events.matched.length === 0) return;
  const skipped = countOf(events.known, 'event');
  note(`${skipped} will not be sent again: ${describeRuns(events.matched)}`);
}

/** Whether the submitted records are not idempotent. */
function isNotIdempotent(
  { name, flags }: NestedCommand,
  { files, mapping }: Pick<FleetRun, 'files' | 'mapping'>,
): boolean {
  if (!isWrite(name)) return false;
  const { type, set = [] } = flags as Pick<UploadOptions, 'type' | 'set'>;
  const { idempotent } = writeEndpoints[name];
  const hasOnce = [...files, mapping].some((file) => file?.once === true);
  const hasOperator = hasOnce || set.some((text) => /\$(?:incr|decr|add)/.test(text));
  return !idempotent || type === 'event' || (idempotent === 'mixed' && hasOperator);
}

/** Adds the digest of its text to each input, by which another submission recognizes it. */
async function withTexts(inputs: readonly InputFile[]): Promise<readonly InputFile[]> {
  const { inputText } = await import('../../fleet/fleet-run.js');
  return Promise.all(
    inputs.map(async (input) => ({ ...input, text: await inputText(input.file) })),
  );
}

async function enqueueRun(
  signed: SignedRun,
  events: SubmittedEvents | undefined,
  { store, call }: { readonly store: QueueStore; readonly call: Invocation<SubmitFlags> },
): Promise<void> {
  const { submitRun } = await import('../../fleet/submit-run.js');
  const settings = call.settings();
  const messages = messagePrinter(settings, call.runtime);
  const note = (text: string) => messages.note(text);
  const { budget, isKnown } = await submitRun(signed, { ...call.flags, events, note }, store);
  const { stdout } = call.runtime;
  const { run: id, shards } = signed.run;
  if (settings.json) return void stdout.write(jsonAnswer({ run: id, shards, budget, isKnown }));
  const which = isKnown
    ? 'known already (the same command and content), and what it has sent is not sent again'
    : 'submitted';
  note(`run ${id} is ${which}: ${shards} shards, at most ${budget} at once`);
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
    throw new EngagectlError('E-CONFIRM', `fleet submit ${name} requires --yes`, {
      why: 'the number of distinct identities, which would be typed to confirm, is known only to the workers',
      fix: `add --yes when you are sure: ${irreversible}`,
    });
  }
  if (account.production) await confirmWrite({ ...account, command: name, does, files }, runtime);
}

interface Planned {
  readonly within: NestedCommand;
  readonly argv: readonly string[];
  /** Undefined for an export. */
  readonly shards: number | undefined;
  readonly connection: AccountConnection;
  readonly runtime: Runtime;
}

/** Plans a run from a command line. Throws E-FILE-READ, and E-USAGE for a wrong range. */
async function planShards(
  planned: Planned,
): Promise<Omit<FleetRun, 'run' | 'version' | 'workDir'>> {
  const { within, argv, connection, runtime } = planned;
  const { account, accountId, host, zone } = connection;
  const range = within.name === 'export-events' ? rangeOf(within, connection, runtime) : undefined;
  const { inputFile } = await import('../../fleet/fleet-run.js');
  const read = async (file: string) => inputFile(path.resolve(runtime.cwd, file));
  const inputs = await Promise.all(within.files.map(read));
  const mapping = within.flags.mapping === undefined ? undefined : await read(within.flags.mapping);
  const sends = { files: inputs, mapping };
  const files = isNotIdempotent(within, sends) ? await withTexts(inputs) : inputs;
  return {
    command: within.name,
    argv,
    cwd: runtime.cwd,
    profile: account.profile,
    region: account.profile === undefined ? undefined : account.region,
    timezone: zone.name,
    accountId,
    host,
    shards: range ? slicesIn(within, range) : planned.shards!,
    files,
    mapping,
    range: range && { from: formatDay(range.from), to: formatDay(range.to) },
  };
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

const ofWorkDirectory: Refusal = [
  'a fleet keeps what it sent in its work directory',
  'leave it out',
];

/** Global flags that only workers use. */
const workerFlags: Readonly<Record<string, string>> = {
  timeout: '--timeout',
  maxAttempts: '--max-attempts',
  retryFor: '--retry-for',
  retryBase: '--retry-base',
  headerPrefix: '--header-prefix',
};

/** Refuses flags without effect, and input or output that a fleet cannot handle. Throws E-USAGE. */
function refuseUnsupported(within: NestedCommand, call: Invocation<SubmitFlags>): void {
  const { name, files, flags } = within;
  refuseWithoutEffect(within);
  const { flags: typedGlobals } = call.settings();
  if (typedGlobals.has('remember')) throw noEffect('--remember', ofWorkDirectory);
  for (const given of typedGlobals) {
    const flag = workerFlags[given];
    if (flag === undefined) continue;
    throw noEffect(flag, ['the workers make the requests', `engagectl fleet work ${flag} …`]);
  }
  const { shards, pin } = call.flags;
  if (name === 'export-events') {
    const flag = shards ? '--shards' : pin && '--pin';
    if (flag) throw noEffect(flag, ['an export is split into its slices', 'leave it out']);
    return refuseExport(flags);
  }
  if (files.length === 0 || files.includes('-')) {
    throw usage('a fleet reads files', 'name files that all workers can access');
  }
  if (shards === undefined) {
    throw usage(
      'the number of shards is missing',
      'add --shards <n>: as many as requests in flight',
    );
  }
}

function refuseExport(flags: NestedCommand['flags']): void {
  if (isStdout(flags.output)) {
    throw usage('a fleet exports to files', 'add --output <file>');
  }
  checkOutputFormat(flags.output, flags, cliAdvice);
}

const usage = (message: string, fix: string): EngagectlError =>
  new EngagectlError('E-USAGE', message, {
    why: 'the shards run on any machine, in any order, and their results are merged afterwards',
    fix,
  });

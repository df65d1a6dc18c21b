import path from 'node:path';
import { confirmDemerge, confirmWrite } from '../../ui/prompt.js';
import { jsonAnswer } from '../../ui/sanitize.js';
import { messages } from '../../ui/messages.js';
import { closing, connect, type Connection } from '../shared/connect.js';
import { withQueue, queueOption } from './queue.js';
import { commandWithin, type CommandWithin } from './nested-command.js';
import { follow } from './status.js';
import { integer } from '../flags/value-parsers.js';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { formatDay } from '../../contract/dates.js';
import { EngagectlError } from '../../errors.js';
import { dateRange, daysOf, type DateRange } from '../../jobs/date-range.js';
import { isStdout, refuseFormat } from '../../jobs/output-options.js';
import { jobWords } from '../shared/job-context.js';
import type { FleetRun, InputFile } from '../../fleet/fleet-run.js';
import type { QueueStore } from '../../fleet/queue-store.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';
import type { Runtime } from '../../runtime.js';

const submitOptions = [
  'Options:',
  [
    '--shards <n>',
    'how many parts of a write; those of an export are its slices',
    integer({ min: 1, max: 10_000 }),
  ],
  ['--work-dir <dir>', 'a folder that all workers see', { required: true }],
  [
    '--budget <n>',
    "the account's requests in flight, from now on (default: as it is; at first 15, of exports and demerges 3)",
    integer({ min: 1, max: 9999 }),
  ],
  ['--wait', 'return when the run is over, with its exit code'],
  queueOption,
] as const satisfies OptionTable;
type SubmitFlags = FlagsOf<typeof submitOptions>;

export const submit: CommandSpec<SubmitFlags> = {
  summary: 'submits a command to the fleet, in shards; prints the id of the run',
  description:
    'Submits a command to the fleet, in shards, and prints the id of the run. Files and the work folder have to be the ' +
    'same paths for all workers.',
  operands: [['<command...>', 'upload, subscribe, demerge or export-events, and its arguments']],
  examples: `
    # an upload in eight parts
    engagectl fleet submit upload users.csv --shards 8 --work-dir /shared/fleet
    # an export, a slice a day; waits for its end
    engagectl fleet submit export-events --event Charged --from 7d --to yesterday -o charged.ndjson --work-dir /shared/fleet --wait
  `,
  takesAnyFlag: true,
  options: submitOptions,
  run: submitRun,
};

/** `fleet submit`: the run's id on stdout. */
async function submitRun(call: Call<SubmitFlags>): Promise<void> {
  const { operands, flags, runtime } = call;
  const within = await commandWithin(operands, call);
  const settings = call.settings();
  const said = messages(settings, runtime);
  const connection = await connect(settings, runtime, { maxInFlight: 1, messages: said });
  const planned = { within, argv: operands, shards: flags.shards, connection, runtime };
  const plan = await closing(connection, planRun(planned));
  const workDir = workDirOf(call);
  const [{ fleetRunId, fleetVersion }, { findRun }, { refuseTwiceSent }] = await Promise.all([
    import('../../fleet/fleet-run.js'),
    import('../../fleet/run-status.js'),
    import('../../fleet/submit-run.js'),
  ]);
  const run: FleetRun = { version: fleetVersion, run: fleetRunId(plan, workDir), ...plan };
  const doesHarm = within.flags.again !== true && mayDoHarm(within, run);
  const submitTo = async (store: QueueStore) => {
    await refuseTwiceSent(run, { workDir, doesHarm }, store);
    await confirm(within, connection, call);
    await put(run, store, call);
    if (!flags.wait) return;
    const known = await findRun(store, run.run, workDir);
    await follow(call, store, { known, shows: false });
  };
  await withQueue(call, submitTo, { patiently: false, doubt: (text) => said.warn(text) });
}

/** When sent twice. */
const mayDoHarm = ({ name, flags }: CommandWithin, { files }: FleetRun): boolean =>
  name === 'demerge' ||
  (flags as { readonly type?: string }).type === 'event' ||
  (name === 'upload' && files.some(({ once }) => once === true));

const workDirOf = ({ flags, runtime }: Call<SubmitFlags>): string =>
  path.resolve(runtime.cwd, flags.workDir);

async function put(run: FleetRun, store: QueueStore, call: Call<SubmitFlags>): Promise<void> {
  const { submitRun } = await import('../../fleet/submit-run.js');
  const place = { workDir: workDirOf(call), budget: call.flags.budget };
  const { budget, isKnown } = await submitRun(run, place, store);
  const settings = call.settings();
  const { stdout } = call.runtime;
  const { run: id, shards } = run;
  if (settings.json) return void stdout.write(jsonAnswer({ run: id, shards, budget, isKnown }));
  const which = isKnown ? 'known already' : 'submitted';
  const said = messages(settings, call.runtime);
  said.note(`run ${id} is ${which}: ${shards} shards, at most ${budget} at once`);
  stdout.write(`${id}\n`);
}

/** The workers ask nobody: who submits is asked. */
async function confirm(
  { name, flags, files }: CommandWithin,
  { account }: Connection,
  { runtime }: Call<SubmitFlags>,
): Promise<void> {
  if (name === 'export-events' || flags.yes) return;
  if (name === 'demerge') {
    // How many there are, nobody has counted: the workers tell duplicates.
    const about = { ...account, files, count: files.length, firstIdentities: [] };
    return confirmDemerge(about, { yes: false, inputIsStdin: true }, runtime);
  }
  const does = name === 'upload' ? 'creates or updates user profiles' : 'sets subscriptions';
  if (account.production) await confirmWrite({ ...account, command: name, does, files }, runtime);
}

interface Planned {
  readonly within: CommandWithin;
  readonly argv: readonly string[];
  readonly shards: number | undefined;
  readonly connection: Connection;
  readonly runtime: Runtime;
}

/** What a fleet is to do, from a command line. Throws E-USAGE for what it cannot do. */
async function planRun(planned: Planned): Promise<Omit<FleetRun, 'run' | 'version'>> {
  const { within, argv, connection, runtime } = planned;
  refuse(within);
  const { account, accountId, host, zone } = connection;
  const range = within.name === 'export-events' ? rangeOf(within, connection, runtime) : undefined;
  const files = await Promise.all(
    within.files.map(async (file) => inputFile(path.resolve(runtime.cwd, file))),
  );
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
    range: range && { from: formatDay(range.from), to: formatDay(range.to) },
  };
}

function shardsOf({ shards }: Planned): number {
  if (shards !== undefined) return shards;
  throw usage('in how many parts is not said', 'add --shards <n>: as many as may be in flight');
}

const slicesIn = ({ flags: { event = [], split = true } }: CommandWithin, range: DateRange) =>
  event.length * (split ? daysOf(range).length : 1);

function rangeOf({ flags }: CommandWithin, { zone }: Connection, { now }: Runtime): DateRange {
  const { from = '', to = '' } = flags;
  return dateRange({ from, to }, { zone, now: now() }, jobWords);
}

/** What has no meaning for parts that run anywhere, or cannot be put together again. */
function refuse({ name, files, flags }: CommandWithin): void {
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
  if (wrong) throw usage(`${jobWords.option(wrong[0])} is not for a fleet`, 'leave it out');
  if (flags.journal === false)
    throw usage('a fleet lives by its journals', 'leave out --no-journal');
  if (name === 'export-events') return refuseExport(flags);
  if (files.length === 0 || files.includes('-')) {
    throw usage('a fleet reads files, each part all of them', 'name files that all workers see');
  }
}

function refuseExport(flags: CommandWithin['flags']): void {
  if (isStdout(flags.output)) {
    throw usage('the slices of a fleet are put together in files', 'add --output <file>');
  }
  if (flags.limit !== undefined) {
    throw usage('--limit is not for the exports of a fleet', 'leave it out: each slice is a day');
  }
  refuseFormat(flags.output, flags, jobWords);
}

/** Throws E-FILE-READ. */
async function inputFile(file: string): Promise<InputFile> {
  const hash = createHash('sha256');
  let bytes = 0;
  let once = false;
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 })) {
      if (bytes === 0) once = ofOnce.test(beginning(chunk as Buffer));
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
  } catch (cause) {
    throw new EngagectlError('E-FILE-READ', `cannot read ${file}`, {
      why: (cause as Error).message,
      fix: 'correct the name, or its permissions',
      file,
      cause,
    });
  }
  return { file, bytes, digest: hash.digest('hex'), ...(once && { once }) };
}

/** Events, exported ones among them, and operators, as NDJSON and JSON have them. */
const ofOnce = /"type"\s*:\s*"event"|"event_props"\s*:|"\$(?:incr|decr|add)"/;

/** The text that a file begins with. */
function beginning(chunk: Buffer): string {
  const some = chunk.subarray(0, 64 * 1024);
  try {
    return gunzipSync(some, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1');
  } catch {
    return some.toString('latin1'); // it is not packed
  }
}

const usage = (message: string, fix: string): EngagectlError =>
  new EngagectlError('E-USAGE', message, {
    why: 'its parts run on any machine, in any order, and are put together at the end',
    fix,
  });

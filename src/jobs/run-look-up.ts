import { Tally } from '../bulk/tally.js';
import { Gate } from '../bulk/gate.js';
import { Intake } from '../bulk/intake.js';
import { lookUp, type LookedUp, type Wanted } from '../bulk/look-up.js';
import { withReachability } from '../mapping/reachability.js';
import { EngagectlError, exitCodes, interruption } from '../errors.js';
import type { RowBlock } from '../input/rows.js';
import { isIdentifier } from '../mapping/identifier.js';
import { sourceRecord } from '../mapping/source-record.js';
import { isStdout } from '../output/target.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { connect, type Connection } from '../commands/connect.js';
import { withDatedOutput } from '../commands/dated-output.js';
import { openProfileSink, type ProfileSink } from '../commands/profile-sink.js';
import { openUsers, type Users } from '../commands/open-users.js';
import type { Settings } from '../commands/settings.js';
import { refuseCsvFlags } from '../commands/output-options.js';
import { openRejects, showRejects } from '../commands/rejects-file.js';
import { runId } from './run-id.js';
import type { LookUpCommand } from '../commands/wanted-users.js';

/** Where a user was asked for. */
interface Place {
  readonly rows: RowBlock;
  readonly row: number;
}

interface LookUpRun {
  readonly command: LookUpCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly users: Users;
  readonly connection: Connection;
  readonly tally: Tally;
  readonly traffic: { requests: number; retries: number };
}

/** Runs get-profile from its flags to its summary. Throws what the run must end with. */
export async function runLookUp(
  command: LookUpCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  refuseCsvFlags(command.flags);
  const said = messages(settings, runtime);
  const users = await openUsers(command, runtime);
  let connection: Connection | undefined;
  try {
    const tally = openTally(command, users, runtime);
    const maxInFlight = command.flags.concurrency;
    connection = await connect(settings, runtime, { maxInFlight, messages: said });
    const traffic = { requests: 0, retries: 0 };
    const dated = withDatedOutput(command, { zone: connection.zone, now: runtime.now() });
    await runConnected({
      command: dated,
      settings,
      runtime,
      said,
      users,
      connection,
      tally,
      traffic,
    });
  } finally {
    await users.close();
    await connection?.close();
  }
}

/** A single user that is not found is told on the screen, and needs no file. */
const isSingle = ({ wanted }: LookUpCommand): boolean =>
  'values' in wanted && wanted.values.length === 1;

function openTally(command: LookUpCommand, users: Users, runtime: Runtime): Tally {
  const { wanted, flags } = command;
  const files = 'input' in wanted ? [wanted.input] : [];
  // Only an input has a place beside which the rejects can lie.
  const first = files.length === 0 ? 'stdin' : users.first;
  return new Tally({
    rejects: openRejects({ command: 'get-profile', named: flags.rejects, files, first }, runtime),
    sourceRecord,
    listNotSent: users.totalBytes === undefined,
  });
}

async function runConnected(run: LookUpRun): Promise<void> {
  const { command, runtime, said, tally } = run;
  const started = runtime.monotonic();
  const sink = await openProfileSink(command.flags, { single: isSingle(command) }, runtime);
  const progress = startProgress(() => progressOf(run), run.settings, runtime);
  let failure: EngagectlError | undefined;
  try {
    await lookUpAll(run, sink);
    await sink.finish();
  } catch (error) {
    if (!(error instanceof EngagectlError)) throw error;
    failure = error;
  } finally {
    progress.stop();
    await sink.abort();
    if (!isSingle(command)) await tally.close();
  }
  tally.assertBalanced();
  if (!isSingle(command)) showRejects(tally, said, run);
  const error = failure ?? notFound(run);
  await summarize(run, { sink, milliseconds: runtime.monotonic() - started, error });
  if (error) throw error;
}

async function lookUpAll(run: LookUpRun, sink: ProfileSink): Promise<void> {
  const { command, runtime, said, connection, traffic } = run;
  const results = lookUp(wantedOf(run), {
    client: connection.client,
    policy: connection.policy,
    runtime,
    budget: new Gate(command.flags.concurrency),
    log: (line) => said.verbose(line),
    counts: traffic,
  });
  for await (const result of results) await settle(run, result, sink);
  if (runtime.signal.aborted) throw interruption(runtime.signal.reason);
}

/** Rows that name a user. The others are turned down on the way. */
async function* wantedOf({
  command,
  runtime,
  users,
  tally,
}: LookUpRun): AsyncGenerator<Wanted<Place>> {
  const { limit = Number.POSITIVE_INFINITY } = command.flags;
  let taken = 0;
  for await (const rows of new Intake(users.blocks()).until(runtime.signal)) {
    for (const fault of rows.faults) {
      if (taken === limit) return;
      taken += 1;
      tally.counts.read += 1;
      tally.fault(rows, fault);
    }
    for (let row = 0; row < rows.count; row += 1) {
      if (taken === limit) return;
      taken += 1;
      const read = users.reader.read(rows, row);
      if (isIdentifier(read)) {
        yield { identifier: read, origin: { rows, row } };
        continue;
      }
      tally.counts.read += 1;
      tally.turnDown(rows, row, read);
    }
  }
}

async function settle(
  { command, tally }: LookUpRun,
  { answer, origin: { rows, row } }: LookedUp<Place>,
  sink: ProfileSink,
): Promise<void> {
  tally.counts.read += 1;
  if (answer?.record) {
    tally.accept(rows, row);
    await sink.write(command.flags.reachability ? withReachability(answer.record) : answer.record);
  } else if (answer) {
    tally.turnDown(rows, row, { stage: 'service', error: 'no such user' });
  } else {
    tally.turnDown(rows, row, { stage: 'notSent', error: 'the run stopped before' });
  }
  if (!isSingle(command)) await tally.log.commit();
}

function notFound({
  command: { wanted },
  tally,
  connection,
}: LookUpRun): EngagectlError | undefined {
  const { rejected, read } = tally.counts;
  if (rejected === 0) return undefined;
  if ('values' in wanted && wanted.values.length === 1) {
    const who = `${wanted.by} ${JSON.stringify(wanted.values[0])}`;
    return new EngagectlError('E-NOT-FOUND', `no user has ${who}`, {
      why: `account ${connection.account.accountId}, region ${connection.account.region}`,
      fix: 'compare the spelling: identifiers are case-sensitive; perhaps it is another --region',
    });
  }
  return new EngagectlError('E-NOT-FOUND', `${rejected} of ${read} users were not found`, {
    fix: `see ${tally.rejects.path} for which, and why`,
  });
}

const progressOf = ({ users, tally }: LookUpRun) => ({
  label: `get-profile ${users.first}`,
  records: tally.counts.read,
  rejected: tally.counts.rejected,
  bytes: users.bytesRead(),
  totalBytes: users.totalBytes === 0 ? undefined : users.totalBytes,
  inFlight: 0,
  note: undefined,
});

interface Ending {
  readonly sink: ProfileSink;
  readonly milliseconds: number;
  readonly error: EngagectlError | undefined;
}

/** One profile needs no figures for people; a reader of stdout that left wants none either. */
async function summarize(run: LookUpRun, { sink, milliseconds, error }: Ending): Promise<void> {
  const { command, settings, runtime, said, connection, tally, traffic } = run;
  for (const warning of sink.warnings) said.warn(warning);
  const exitCode = error?.exitCode ?? exitCodes.ok;
  if (exitCode === exitCodes.closedPipe || (isSingle(command) && !settings.json)) return;
  const { profile, region, accountId } = connection.account;
  const { output } = command.flags;
  const recordsOnStdout = isStdout(output);
  await showSummary(
    {
      command: 'get-profile',
      run: runId(runtime),
      profile: profile ?? null,
      region,
      accountId,
      ...tally.counts,
      ...traffic,
      bytes: sink.bytes,
      seconds: Math.round(milliseconds) / 1000,
      rejectsFile: tally.rejects.exists && !isSingle(command) ? tally.rejects.path : null,
      output: recordsOnStdout ? null : output,
      exitCode,
    },
    { settings, runtime, messages: said, recordsOnStdout },
  );
}

import { verdict } from '../bulk/write/verdict.js';
import { write } from '../bulk/write/write.js';
import { zoneOf } from '../zone.js';
import { exitCodes, type EngagectlError } from '../errors.js';
import { openInputs } from '../input/open.js';
import type { Tally } from '../bulk/tally.js';
import type { Mapper } from '../mapping/records.js';
import type { Runtime } from '../runtime.js';
import { messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary, type Summary } from '../ui/summary.js';
import { connect, type Connection } from '../commands/connect.js';
import { inputsOf } from '../commands/input-options.js';
import type { Settings } from '../commands/settings.js';
import { showRejects } from '../commands/rejects-file.js';
import { openReport } from '../commands/report.js';
import { runId } from './run-id.js';
import type { WriteCommand, WriteContext } from './write-context.js';
import { isTrial, openTally, writeJob } from './write-job.js';
import { openRun, refuseUnfinished, type OpenRun } from './write-journal.js';

/** Runs a write command from its files to its summary. Throws what the run must end with. */
export async function runWrite(
  command: WriteCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const said = messages(settings, runtime);
  const others = [...command.files, command.flags.rejects];
  const report = await openReport(command.flags.report, { others }, runtime);
  const digests = command.flags.journal;
  const inputs = await openInputs({ ...inputsOf(command), digests }, runtime);
  let connection: Connection | undefined;
  try {
    if (!command.checkOnly) {
      const maxInFlight = command.flags.concurrency;
      connection = await connect(settings, runtime, { maxInFlight, messages: said });
    }
    await runConnected({ command, settings, runtime, said, inputs, connection, report });
  } finally {
    await inputs.close();
    await connection?.close();
  }
}

async function runConnected(context: WriteContext): Promise<void> {
  const { command, settings, runtime, inputs, connection } = context;
  const mapper = command.mapper(connection?.zone ?? zoneOf(settings.timezone ?? 'UTC'));
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  const isFile = inputs.totalBytes !== undefined;
  const again = async () => openInputs(inputsOf(command), runtime);
  if (connection) await command.confirm?.(connection, isFile ? again : undefined);

  const run = await journalOf(context);
  let outcome: Outcome = { done: false, error: undefined };
  try {
    outcome = await runJournalled(context, { mapper, run });
  } finally {
    const stays = await run?.close(outcome);
    if (stays) context.said.note(`unfinished: engagectl runs resume ${run?.id} goes on with it`);
  }
  if (outcome.error) throw outcome.error;
}

/** Runs from files keep a journal; a pipe cannot be read again, so there is nothing to resume. */
async function journalOf(context: WriteContext): Promise<OpenRun | undefined> {
  const { command, settings, connection, inputs, said } = context;
  if (!connection || command.dryRun === true) return undefined;
  if (inputs.totalBytes === undefined) {
    if (command.flags.resume) said.note('input from a pipe cannot be resumed: starting afresh');
    return undefined;
  }
  const run = { ...context, ...command, command: command.name, connection, argv: settings.argv };
  if (command.flags.journal) return openRun(run);
  await refuseUnfinished(run);
  return undefined;
}

interface Parts {
  readonly mapper: Mapper;
  readonly run: OpenRun | undefined;
}

interface Outcome {
  /** The whole input was worked through. */
  readonly done: boolean;
  /** What the command must end with. */
  readonly error: EngagectlError | undefined;
}

async function runJournalled(context: WriteContext, parts: Parts): Promise<Outcome> {
  const { command, settings, runtime, said, inputs } = context;
  const started = runtime.monotonic();
  const tally = openTally(context);
  await parts.run?.attach(tally);
  const job = writeJob(context, { ...parts, tally });
  const writing = write(job);
  const sayStopping = () => said.note(stopping);
  runtime.signal.addEventListener('abort', sayStopping, { once: true });
  const progress = startProgress(
    () => ({
      label: `${command.name} ${inputs.first}`,
      records: tally.counts.read,
      rejected: tally.counts.rejected,
      bytes: inputs.bytesRead(),
      totalBytes: inputs.totalBytes,
      inFlight: job.budget.inFlight,
      note: undefined,
    }),
    settings,
    runtime,
  );
  const { done, stopped, ...traffic } = await writing.finally(() => {
    progress.stop();
    runtime.signal.removeEventListener('abort', sayStopping);
  });

  const judged = verdict(tally, { stopped, command: command.name, trial: isTrial(command) });
  showRejects(tally, said, context);
  if (stopped && judged !== stopped) said.warn(stopped.message);
  const figures = {
    command: command.name,
    run: parts.run?.id ?? runId(runtime),
    ...accountFields(context.connection),
    ...tally.counts,
    ...traffic,
    seconds: Math.round(runtime.monotonic() - started) / 1000,
    rejectsFile: tally.rejects.exists ? tally.rejects.path : null,
    exitCode: judged?.exitCode ?? exitCodes.ok,
  };
  const unreported = await writeReport(context, {
    ...parts,
    tally,
    summary: figures,
    error: judged,
    done,
  });
  const error = unreported ?? judged;
  const summary = { ...figures, exitCode: error?.exitCode ?? exitCodes.ok };
  await showSummary(summary, { settings, runtime, messages: said, recordsOnStdout: false });
  return { done: done && !unreported && (await isWritten(runtime)), error };
}

interface Ending extends Parts {
  readonly tally: Tally;
  readonly summary: Summary;
  readonly error: EngagectlError | undefined;
  readonly done: boolean;
}

/** Returns what the run must end with instead when the report could not be written. */
async function writeReport(
  { report, settings, said }: WriteContext,
  { run, tally, summary, error, done }: Ending,
): Promise<EngagectlError | undefined> {
  const isUnfinished = run !== undefined && !done && tally.hasSettled;
  return report?.write(
    {
      summary,
      error,
      next: isUnfinished ? `engagectl runs resume ${run.id}` : undefined,
      argv: settings.argv,
      resumed: run !== undefined && !run.earlier.settled.isEmpty,
      rejectKinds: tally.samples.kinds,
    },
    said,
  );
}

/**
 * False when stdout did not take the summary. Then the run is kept: who reads exit code 9 and goes
 * on with --resume must not have all of it sent once more.
 */
const isWritten = async ({ stdout }: Runtime): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write('', (error) => resolve(!error));
  });

/** Null where only a check was made, without an account. */
function accountFields(connection: Connection | undefined) {
  if (!connection) return { profile: null, region: null, accountId: null };
  const { profile, region, accountId } = connection.account;
  return { profile: profile ?? null, region, accountId };
}

/** What a person who presses Ctrl-C is told at once. */
const stopping = 'stopping: requests in flight may finish (10 s at most); again leaves at once';

import { runExport, type ExportJob } from '../bulk/export/export.js';
import { startState, type ExportContext, type ExportState } from '../bulk/export/export-context.js';
import { Gate } from '../bulk/gate.js';
import { formatDay } from '../contract/dates.js';
import { exitCodeOf, exitCodes } from '../errors.js';
import { isStdout } from '../output/target.js';
import type { Runtime } from '../runtime.js';
import { bytesText, grouped } from '../ui/figures.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { connect, type Connection } from './connect.js';
import { datedArgv, withDatedOutput } from './dated-output.js';
import { dateRange } from './date-range.js';
import { exportJob, meaningOf, type ExportCommand } from './export-job.js';
import { openExportRun, type OpenExportRun } from './export-run.js';
import type { Settings } from './options.js';
import { refuseColumnsWithoutCsv } from './output-options.js';

interface ExportRun {
  readonly command: ExportCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly connection: Connection;
}

/** Runs an export from its flags to its summary. Throws what the run must end with. */
export async function runExportCommand(
  command: ExportCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  refuseColumnsWithoutCsv(command.flags);
  const said = messages(settings, runtime);
  const connection = await connect(settings, runtime, {
    maxInFlight: command.concurrency,
    messages: said,
  });
  try {
    await runConnected({ command, settings, runtime, said, connection }, runtime.now());
  } finally {
    await connection.close();
  }
}

/** `now` is what relative dates and `{date}` refer to. */
async function runConnected(named: ExportRun, now: number): Promise<void> {
  const { settings, runtime, said, connection } = named;
  const { zone } = connection;
  const { output } = named.command.flags;
  const command = withDatedOutput(named.command, { zone, now });
  const run = { ...named, command };
  const range = dateRange(command.flags, { zone, now });
  const opened = await openExportRun({
    command: command.name,
    output: command.flags.output,
    resume: command.flags.resume === true,
    fresh: command.flags.fresh === true,
    plan: { ...range, options: meaningOf(command, zone) },
    argv: datedArgv(settings.argv, output, command.flags.output),
    connection,
    runtime,
    said,
  });
  const days = `${formatDay(opened.plan.from)} to ${formatDay(opened.plan.to)}, ${zone.name}`;
  const resumed = opened.resumed ? `, going on with run ${opened.id}` : '';
  said.note(`${command.name}: ${days}${resumed}`);

  let keep = opened.resumed;
  try {
    const job = await exportJob({ command, zone, opened, runtime });
    keep = true;
    const failure = await perform(run, { job, opened });
    keep = failure !== undefined && job.log.resumable && !job.log.isEmpty;
    sayHowToGoOn(run, { failure, keep });
    if (failure !== undefined) throw failure;
  } finally {
    await opened.close({ keep });
  }
}

/** Other failures say themselves what to do about them. */
const passing = new Set<number>([
  exitCodes.credentials,
  exitCodes.unavailable,
  exitCodes.file,
  exitCodes.interrupted,
  exitCodes.terminated,
]);

function sayHowToGoOn(
  { command, said }: ExportRun,
  { failure, keep }: { readonly failure: unknown; readonly keep: boolean },
): void {
  if (!passing.has(exitCodeOf(failure))) return;
  if (keep) said.note('the same command with --resume goes on');
  else if (isStdout(command.flags.output)) {
    said.note('what goes to standard output cannot be resumed; --output <file> can');
  }
}

interface Performance {
  readonly job: ExportJob;
  readonly opened: OpenExportRun;
}

/** Returns what the run failed with. */
async function perform(run: ExportRun, { job, opened }: Performance): Promise<unknown> {
  const { command, settings, runtime } = run;
  const state = { ...startState(), ...job.log.earlier.counts };
  const started = runtime.monotonic();
  const progress = startProgress(
    () => progressOf(command, state, runtime.monotonic() - started),
    settings,
    runtime,
  );
  const failure = await failureOf(runExport(job, exportContext(run, state)));
  progress.stop();
  const milliseconds = runtime.monotonic() - started;
  await summarize(run, { id: opened.id, state, milliseconds, failure });
  return failure;
}

function exportContext(run: ExportRun, state: ExportState): ExportContext {
  const { command, connection, runtime, said } = run;
  return {
    client: connection.client,
    policy: connection.policy,
    runtime,
    signal: runtime.signal,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
    state,
    gate: new Gate(command.concurrency),
    pollIntervalMs: command.flags.pollInterval,
    pendingTimeoutMs: command.flags.pendingTimeout,
  };
}

function progressOf({ name }: ExportCommand, state: ExportState, milliseconds: number) {
  const { records, pages, bytesReceived, slices, slicesDone, note } = state;
  const rate = `${bytesText((bytesReceived * 1000) / Math.max(milliseconds, 1))}/s`;
  const parts = [`${grouped(pages)} pages`, rate, ...(note === undefined ? [] : [note])];
  if (slices > 1) parts.unshift(`${slicesDone} of ${slices} days`);
  return {
    label: name,
    records,
    rejected: 0,
    bytes: bytesReceived,
    totalBytes: undefined,
    inFlight: 0,
    note: parts.join(', '),
  };
}

async function failureOf(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}

interface Ending {
  readonly id: string;
  readonly state: ExportState;
  readonly milliseconds: number;
  readonly failure: unknown;
}

/** A reader of stdout that left wants nothing more, not even figures. */
async function summarize(
  run: ExportRun,
  { id, state, milliseconds, failure }: Ending,
): Promise<void> {
  const { command, connection, settings, runtime, said } = run;
  const exitCode = failure === undefined ? exitCodes.ok : exitCodeOf(failure);
  if (exitCode === exitCodes.closedPipe) return;
  const { records, pages, requests, retries, pendingMs, bytes } = state;
  const { profile, region, accountId } = connection.account;
  const summary = {
    command: command.name,
    run: id,
    profile: profile ?? null,
    region,
    accountId,
    records,
    pages,
    requests,
    retries,
    pendingSeconds: inSeconds(pendingMs),
    bytes,
    seconds: inSeconds(milliseconds),
    output: isStdout(command.flags.output) ? null : command.flags.output,
    exitCode,
  };
  const recordsOnStdout = isStdout(command.flags.output);
  await showSummary(summary, { settings, runtime, messages: said, recordsOnStdout });
}

const inSeconds = (milliseconds: number): number => Math.round(milliseconds) / 1000;

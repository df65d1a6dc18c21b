import { runExport, type ExportJob } from '../bulk/export/export.js';
import { startState, type ExportContext, type ExportState } from '../bulk/export/export-context.js';
import { Gate } from '../bulk/gate.js';
import { formatDay } from '../contract/dates.js';
import { EngagectlError, exitCodeOf, exitCodes } from '../errors.js';
import { isStdout } from '../output/target.js';
import type { Runtime } from '../runtime.js';
import { bytesText, grouped } from '../ui/figures.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { connect, type Connection } from '../commands/connect.js';
import { datedArgv, withDatedOutput } from '../commands/dated-output.js';
import { dateRange } from '../commands/date-range.js';
import { documentsPlanned, exportJob, meaningOf, type ExportCommand } from './export-job.js';
import { openExportRun, type OpenExportRun } from './export-run.js';
import type { Settings } from '../commands/settings.js';
import { refuseCsvFlags } from '../commands/output-options.js';
import { openReport, type Report } from '../commands/report.js';

interface ExportRun {
  readonly command: ExportCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly connection: Connection;
  readonly report: Report | undefined;
}

/** Runs an export from its flags to its summary. Throws what the run must end with. */
export async function runExportCommand(
  command: ExportCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  refuseCsvFlags(command.flags);
  const said = messages(settings, runtime);
  const { report: name, output } = command.flags;
  const report = await openReport(name, { others: [output] }, runtime);
  const connection = await connect(settings, runtime, {
    maxInFlight: command.concurrency,
    messages: said,
  });
  try {
    await runConnected({ command, settings, runtime, said, connection, report }, runtime.now());
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
    plan: {
      ...range,
      options: meaningOf(command, zone),
      documents: documentsPlanned(command, range),
    },
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
    keep = isKept({ job, failure });
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
  return summarize(run, { job, opened, state, milliseconds, failure });
}

function exportContext(run: ExportRun, state: ExportState): ExportContext {
  const { command, connection, runtime, said, report } = run;
  return {
    client: report?.watch(connection.client, () => state.records) ?? connection.client,
    policy: connection.policy,
    runtime,
    signal: runtime.signal,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
    state,
    budget: new Gate(command.concurrency),
    scanners: [],
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

interface Ending extends Performance {
  readonly state: ExportState;
  readonly milliseconds: number;
  readonly failure: unknown;
}

/** Returns what the run failed with. A reader of stdout that left wants nothing more, not even figures. */
async function summarize(run: ExportRun, ending: Ending): Promise<unknown> {
  const { command, settings, runtime, said } = run;
  const unreported = await writeReport(run, ending);
  const failure = unreported ?? ending.failure;
  const summary = summaryOf(run, { ...ending, failure });
  if (summary.exitCode === exitCodes.closedPipe) return failure;
  const recordsOnStdout = isStdout(command.flags.output);
  await showSummary(summary, { settings, runtime, messages: said, recordsOnStdout });
  return failure;
}

/** Returns what the run fails with when the report could not be written. */
async function writeReport(run: ExportRun, ending: Ending): Promise<EngagectlError | undefined> {
  const { report, settings, said } = run;
  const { opened, failure } = ending;
  return report?.write(
    {
      summary: summaryOf(run, ending),
      error: failure instanceof EngagectlError ? failure : undefined,
      next: isKept(ending) ? `engagectl runs resume ${opened.id}` : undefined,
      argv: settings.argv,
      resumed: opened.resumed,
      rejectKinds: new Map(),
    },
    said,
  );
}

/** Whether the run can be gone on with. */
const isKept = ({ job, failure }: Pick<Ending, 'job' | 'failure'>): boolean =>
  failure !== undefined && job.log.resumable && !job.log.isEmpty;

function summaryOf(run: ExportRun, { opened, state, milliseconds, failure }: Ending) {
  const { command, connection } = run;
  const { records, pages, requests, retries, pendingMs, bytes } = state;
  const { profile, region, accountId } = connection.account;
  return {
    command: command.name,
    run: opened.id,
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
    exitCode: failure === undefined ? exitCodes.ok : exitCodeOf(failure),
  };
}

const inSeconds = (milliseconds: number): number => Math.round(milliseconds) / 1000;

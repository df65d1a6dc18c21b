import type { CursorQuery, ReadKind } from '../client/client.js';
import { startState, type ExportContext, type ExportState } from '../bulk/export-context.js';
import { runExport, type ExportDocument, type ExportJob } from '../bulk/export.js';
import { formatDay } from '../contract/dates.js';
import type { Zone } from '../contract/zones.js';
import { exitCodeOf, exitCodes } from '../errors.js';
import { openOutput, openSpill, refuseOutputsInTheWay } from '../output/open-output.js';
import { isStdout } from '../output/target.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { connect, type Connection } from './connect.js';
import { dateRange, type DateRange } from './date-range.js';
import type { ExportFlags } from './export-options.js';
import type { Settings } from './options.js';
import { outputOf, refuseColumnsWithoutCsv } from './output-options.js';
import { runId } from './run-id.js';

/** What makes one export different from the other. */
export interface ExportCommand {
  readonly name: 'export-profiles' | 'export-events';
  readonly kind: ReadKind;
  readonly flags: ExportFlags;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** The cursors to follow, with the name of the file that each goes to; undefined: stdout. */
  readonly plan: (range: DateRange) => readonly PlannedSlice[];
  readonly restarts: boolean;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (zone: Zone) => NonNullable<ExportJob['prepare']>;
}

export interface PlannedSlice extends DateRange {
  readonly eventName: string;
  readonly file: string | undefined;
}

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
    await runConnected({ command, settings, runtime, said, connection });
  } finally {
    await connection.close();
  }
}

async function runConnected(run: ExportRun): Promise<void> {
  const { command, settings, runtime, said, connection } = run;
  const { zone } = connection;
  const range = dateRange(command.flags, { zone, now: runtime.now() });
  const days = `${formatDay(range.from)} to ${formatDay(range.to)}, ${zone.name}`;
  said.note(`${command.name}: ${days}`);
  const job: ExportJob = {
    documents: await documentsOf(run, range),
    concurrency: command.concurrency,
    restarts: command.restarts,
    ...(command.prepare && { prepare: command.prepare(zone) }),
  };

  const state = startState();
  const started = runtime.monotonic();
  const progress = startProgress(() => progressOf(command, state), settings, runtime);
  const failure = await failureOf(
    runExport(job, exportContext(run, { state, lookAhead: looksAhead(job) })),
  );
  progress.stop();
  await summarize(run, { state, milliseconds: runtime.monotonic() - started, failure });
  if (failure !== undefined) throw failure;
}

/** The planned slices by the document they go to. Throws what stands in the way of any of them. */
async function documentsOf(run: ExportRun, range: DateRange): Promise<ExportDocument[]> {
  const { command, runtime } = run;
  const documents = new Map<string | undefined, CursorQuery[]>();
  for (const { file, ...slice } of command.plan(range)) {
    const slices = documents.get(file) ?? [];
    documents.set(file, [...slices, { kind: command.kind, ...slice, ...request(command.flags) }]);
  }
  const options = [...documents.keys()].map((file) => outputOf(file, command.flags));
  await refuseOutputsInTheWay(options, runtime);
  return options.map((output) => ({
    open: () => openOutput(output, runtime),
    openSpill: () => openSpill(output.path, runtime),
    slices: documents.get(output.path) ?? [],
  }));
}

const request = ({ batchSize, app, eventSummaries, profileProperties }: ExportFlags) => ({
  batchSize,
  ...(app && { app }),
  ...(!eventSummaries && { events: false as const }),
  ...(!profileProperties && { profile: false as const }),
});

/** Several slices side by side use up the requests in flight without it. */
const looksAhead = ({ documents, concurrency }: ExportJob): boolean =>
  concurrency > 1 && documents.flatMap(({ slices }) => slices).length === 1;

function exportContext(
  run: ExportRun,
  { state, lookAhead }: Pick<ExportContext, 'state' | 'lookAhead'>,
): ExportContext {
  const { command, connection, runtime, said } = run;
  return {
    client: connection.client,
    policy: connection.policy,
    runtime,
    signal: runtime.signal,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
    state,
    lookAhead,
    pollIntervalMs: command.flags.pollInterval,
    pendingTimeoutMs: command.flags.pendingTimeout,
  };
}

const progressOf = ({ name }: ExportCommand, { records, bytesReceived, note }: ExportState) => ({
  label: name,
  records,
  rejected: 0,
  bytes: bytesReceived,
  totalBytes: undefined,
  inFlight: 0,
  note,
});

async function failureOf(work: Promise<void>): Promise<unknown> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error;
  }
}

interface Ending {
  readonly state: ExportState;
  readonly milliseconds: number;
  readonly failure: unknown;
}

/** A reader of stdout that left wants nothing more, not even figures. */
async function summarize(run: ExportRun, { state, milliseconds, failure }: Ending): Promise<void> {
  const { command, connection, settings, runtime, said } = run;
  const exitCode = failure === undefined ? exitCodes.ok : exitCodeOf(failure);
  if (exitCode === exitCodes.closedPipe) return;
  const { records, pages, requests, retries, pendingMs, bytes } = state;
  const { profile, region, accountId } = connection.account;
  const summary = {
    command: command.name,
    run: runId(runtime),
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

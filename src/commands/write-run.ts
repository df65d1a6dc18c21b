import { hasRecords } from '../bulk/run/earlier-parts.js';
import type { IdentitySet } from '../bulk/write/identity-set.js';
import { Tally } from '../bulk/tally.js';
import { verdict } from '../bulk/write/verdict.js';
import { write } from '../bulk/write/write.js';
import type { WriteJob } from '../bulk/write/write-job.js';
import type { Client } from '../client/client.js';
import { zoneOf, type Zone } from '../contract/zones.js';
import { exitCodeOf, exitCodes, mostSerious, type EngagectlError } from '../errors.js';
import { openInputs, type Inputs } from '../input/open.js';
import type { Mapper } from '../mapping/records.js';
import { sourceRecord } from '../mapping/source-record.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary, type Summary } from '../ui/summary.js';
import { connect, type Connection } from './connect.js';
import { inputsOf } from './input-options.js';
import type { Settings } from './options.js';
import { openRejects, showRejects } from './rejects-file.js';
import { openReport, type Report } from './report.js';
import { runId } from './run-id.js';
import { openRun, refuseUnfinished, type OpenRun } from './write-journal.js';
import type { WriteFlags } from './write-options.js';

/** What makes one write command different from the others. */
export interface WriteCommand {
  readonly name: 'upload' | 'subscribe' | 'demerge';
  readonly files: readonly string[];
  readonly flags: WriteFlags;
  /** Column name of a bare list, where the command takes one. */
  readonly listColumn?: string;
  /** Read and validate only: no connection is made. */
  readonly checkOnly: boolean;
  /** Keep no journal: nothing is changed that would have to be done once. */
  readonly dryRun?: boolean;
  /** All options that decide what is sent, for a run that is resumed. */
  readonly meaning: unknown;
  readonly endpoint: string;
  /** What surrounds the records in a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: Zone): Mapper;
  send(client: Client): WriteJob['send'];
  readonly seen?: IdentitySet;
  /** Last chance to refuse, before the first request. */
  confirm?(connection: Connection, again: InputsAgain): Promise<void>;
}

/** Opens the inputs once more; undefined where they can be read only once. */
export type InputsAgain = (() => Promise<Inputs>) | undefined;

interface WriteContext {
  readonly command: WriteCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly inputs: Inputs;
  readonly connection: Connection | undefined;
  readonly report: Report | undefined;
}

/** Runs a write command from its files to its summary. Throws what the run must end with. */
export async function runWrite(
  command: WriteCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const said = messages(settings, runtime);
  const others = [...command.files, command.flags.rejects];
  const report = await openReport(command.flags.report, { others }, runtime);
  const inputs = await openInputs({ ...inputsOf(command), checksum: true }, runtime);
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
    const stays = await run?.close(outcome).catch((error: unknown) => {
      const codes = [exitCodeOf(error), exitCodeOf(outcome.error ?? error)];
      if (mostSerious(codes) === codes[0]) throw error;
      return true;
    });
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
  parts.run?.attach(tally);
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
      inFlight: writing.inFlight(),
      note: undefined,
    }),
    settings,
    runtime,
  );
  const { done, stopped, ...traffic } = await writing.result.finally(() => {
    progress.stop();
    runtime.signal.removeEventListener('abort', sayStopping);
  });

  const judged = verdict(tally, { stopped, command: command.name });
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
      rejectKinds: tally.rejectKinds,
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

function writeJob(
  context: WriteContext,
  { mapper, run, tally }: Parts & { tally: Tally },
): WriteJob {
  const { command, runtime, said, inputs, connection, report } = context;
  const { flags, frame, seen } = command;
  const client =
    connection &&
    (report?.watch(connection.client, () => tally.counts.accepted) ?? connection.client);
  // Of a demerge, all identities have to be seen again to tell duplicates.
  const from = seen ? undefined : run?.earlier.watermark;
  return {
    rows: inputs.blocks(from),
    map: (rows) => mapper.map(rows),
    limit: flags.limit === undefined ? undefined : Math.max(0, flags.limit - (from?.ordinal ?? 0)),
    seen,
    send: client && command.send(client),
    frame: { open: Buffer.from(frame[0]), close: Buffer.from(frame[1]) },
    batchRecords: flags.chunkSize,
    batchBytes: flags.chunkBytes,
    concurrency: flags.concurrency,
    order: flags.order ?? 'none',
    maxRejects: flags.strict ? { records: 0 } : flags.maxRejects,
    tally,
    policy: connection?.policy ?? noRetries,
    runtime,
    endpoint: command.endpoint,
    earlier: run && hasRecords(run.earlier) ? run.earlier : undefined,
    retryUnknown: flags.retryUnknown === true,
    piped: inputs.totalBytes === undefined,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
  };
}

function openTally({ command, runtime, inputs }: WriteContext): Tally {
  const { name, flags, files } = command;
  return new Tally({
    rejects: openRejects(
      { command: name, named: flags.rejects, files, first: inputs.first },
      runtime,
    ),
    sourceRecord,
    listNotSent: inputs.totalBytes === undefined && !command.checkOnly,
  });
}

/** Null where only a check was made, without an account. */
function accountFields(connection: Connection | undefined) {
  if (!connection) return { profile: null, region: null, accountId: null };
  const { profile, region, accountId } = connection.account;
  return { profile: profile ?? null, region, accountId };
}

/** What a person who presses Ctrl-C is told at once. */
const stopping = 'stopping: requests in flight may finish (10 s at most); again leaves at once';

const noRetries = { maxAttempts: 1, retryForMs: 0, retryBaseMs: 0 };

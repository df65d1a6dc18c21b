import { Account } from '../bulk/account.js';
import type { IdentitySet } from '../bulk/identity-set.js';
import { verdict } from '../bulk/verdict.js';
import { write } from '../bulk/write.js';
import type { WriteJob } from '../bulk/write-job.js';
import type { Client } from '../client/client.js';
import type { Zone } from '../contract/zones.js';
import { exitCodes } from '../errors.js';
import { openInputs, type Inputs } from '../input/open.js';
import type { Mapper } from '../mapping/records.js';
import { sourceRecord } from '../mapping/source-record.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { connect, type Connection } from './connect.js';
import { inputsOf } from './input-options.js';
import type { Settings } from './options.js';
import { openRejects, showRejects } from './rejects-file.js';
import { runId } from './run-id.js';
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
  readonly endpoint: string;
  /** What surrounds the records in a request body. */
  readonly frame: readonly [open: string, close: string];
  mapper(zone: Zone): Mapper;
  send(client: Client): WriteJob['send'];
  readonly seen?: IdentitySet;
  /** Last chance to refuse, before the first request. */
  confirm?(connection: Connection, openAgain: () => Promise<Inputs>): Promise<void>;
}

interface WriteContext {
  readonly command: WriteCommand;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly said: Messages;
  readonly inputs: Inputs;
  readonly connection: Connection | undefined;
}

/** Runs a write command from its files to its summary. Throws what the run must end with. */
export async function runWrite(
  command: WriteCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const said = messages(settings, runtime);
  const inputs = await openInputs(inputsOf(command), runtime);
  let connection: Connection | undefined;
  try {
    if (!command.checkOnly) {
      connection = await connect(settings, runtime, {
        maxInFlight: command.flags.concurrency,
        messages: said,
      });
    }
    await runConnected({ command, settings, runtime, said, inputs, connection });
  } finally {
    await inputs.close();
    await connection?.close();
  }
}

async function runConnected(context: WriteContext): Promise<void> {
  const { command, settings, runtime, said, inputs, connection } = context;
  const zone = connection?.zone ?? (await checkZone(settings));
  const mapper = command.mapper(zone);
  for (const { header, source } of inputs.headers) mapper.check(header, source);
  if (connection) {
    await command.confirm?.(connection, async () => openInputs(inputsOf(command), runtime));
  }

  const started = runtime.monotonic();
  const account = openAccount(context);
  const run = write(writeJob(context, mapper, account));
  const progress = startProgress(
    () => ({
      label: `${command.name} ${inputs.first}`,
      records: account.counts.read,
      rejected: account.counts.rejected,
      bytes: inputs.bytesRead(),
      totalBytes: inputs.totalBytes,
      inFlight: run.inFlight(),
      note: undefined,
    }),
    settings,
    runtime,
  );
  const result = await run.result.finally(() => progress.stop());

  const error = verdict(account, { stopped: result.stopped, command: command.name });
  showRejects(account, said);
  if (result.stopped && error !== result.stopped) said.warn(result.stopped.message);
  const { requests, retries, bytesSent } = result;
  await showSummary(
    {
      command: command.name,
      run: runId(runtime),
      ...(connection ? accountFields(connection) : noAccount),
      ...account.counts,
      requests,
      retries,
      bytesSent,
      seconds: seconds(runtime.monotonic() - started),
      rejectsFile: account.rejects.created ? account.rejects.path : null,
      exitCode: error?.exitCode ?? exitCodes.ok,
    },
    { settings, runtime, messages: said, recordsOnStdout: false },
  );
  if (error) throw error;
}

function writeJob(context: WriteContext, mapper: Mapper, account: Account): WriteJob {
  const { command, runtime, said, inputs, connection } = context;
  const { flags, frame, seen } = command;
  return {
    rows: inputs.blocks(),
    map: (rows) => mapper.map(rows),
    limit: flags.limit,
    seen,
    send: connection ? command.send(connection.client) : undefined,
    frame: { open: Buffer.from(frame[0]), close: Buffer.from(frame[1]) },
    batchRecords: flags.chunkSize,
    batchBytes: flags.chunkBytes,
    concurrency: flags.concurrency,
    order: flags.order ?? 'none',
    maxRejects: flags.strict ? { records: 0 } : flags.maxRejects,
    account,
    policy: connection?.policy ?? noRetries,
    runtime,
    endpoint: command.endpoint,
    countUnread: inputs.totalBytes !== undefined,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
  };
}

function openAccount({ command, runtime, inputs }: WriteContext): Account {
  const { name, flags, files } = command;
  return new Account({
    rejects: openRejects(
      { command: name, named: flags.rejects, files, first: inputs.first },
      runtime,
    ),
    sourceRecord,
    listNotSent: inputs.totalBytes === undefined && !command.checkOnly,
  });
}

const accountFields = ({ account: { profile, region, accountId } }: Connection) => ({
  profile: profile ?? null,
  region,
  accountId,
});
const noAccount = { profile: null, region: null, accountId: null };
const noRetries = { maxAttempts: 1, retryForMs: 0, retryBaseMs: 0 };

/** A check needs no account; its time zone is the flag's. */
async function checkZone({ timezone }: Settings): Promise<Zone> {
  const { zoneOf } = await import('../contract/zones.js');
  return zoneOf(timezone ?? 'UTC');
}

const seconds = (milliseconds: number): number => Math.round(milliseconds) / 1000;

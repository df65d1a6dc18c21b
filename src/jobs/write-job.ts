import { hasRecords } from '../bulk/run/earlier-parts.js';
import { Tally } from '../bulk/tally.js';
import type { WriteJob } from '../bulk/write/write-job.js';
import type { Mapper } from '../mapping/records.js';
import { sourceRecord } from '../mapping/source-record.js';
import { openRejects } from '../commands/rejects-file.js';
import type { WriteCommand, WriteContext } from './write-context.js';
import type { OpenRun } from './write-journal.js';

/** What `write` is to do; records go nowhere where only a check is made. */
export function writeJob(
  context: WriteContext,
  { mapper, run, tally }: { mapper: Mapper; run: OpenRun | undefined; tally: Tally },
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
    trial: isTrial(command),
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

export const isTrial = ({ checkOnly, dryRun }: WriteCommand): boolean =>
  checkOnly || dryRun === true;

/** Counts the outcomes; its rejects file is made with the first reject. */
export function openTally({ command, runtime, inputs }: WriteContext): Tally {
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

const noRetries = { maxAttempts: 1, retryForMs: 0, retryBaseMs: 0 };

import { hasRecords } from '../bulk/write/earlier-parts.js';
import { Gate } from '../bulk/gate.js';
import { firstRecords } from '../input/first-records.js';
import { OrdinalSet } from '../bulk/write/ranges.js';
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
  const rows = inputs.blocks(from);
  const { limit } = flags;
  return {
    rows: limit === undefined ? rows : firstRecords(rows, limit - (from?.ordinal ?? 0)),
    map: (block) => mapper.map(block),
    toldOnce: seen,
    send: client && command.send(client),
    endpoint: command.endpoint,
    request: {
      frame: { open: Buffer.from(frame[0]), close: Buffer.from(frame[1]) },
      records: flags.chunkSize,
      bytes: flags.chunkBytes,
    },
    order: flags.order ?? 'none',
    maxRejects: flags.strict ? { records: 0 } : flags.maxRejects,
    rehearsal: rehearsalOf(command),
    tally,
    budget: new Gate(flags.concurrency),
    policy: connection?.policy ?? noRetries,
    runtime,
    earlier: run && hasRecords(run.earlier) ? earlierOf(run, flags) : undefined,
    piped: inputs.totalBytes === undefined,
    log: (line) => said.verbose(line),
    warn: (text) => said.warn(text),
  };
}

/** Records whose outcome is unknown may be sent again, knowingly. */
const earlierOf = ({ earlier }: OpenRun, { retryUnknown }: WriteCommand['flags']) =>
  retryUnknown === true ? { ...earlier, intended: new OrdinalSet() } : earlier;

const rehearsalOf = ({ checkOnly, dryRun }: WriteCommand) =>
  checkOnly ? 'check' : dryRun === true ? 'dryRun' : undefined;

export const isTrial = (command: WriteCommand): boolean => rehearsalOf(command) !== undefined;

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

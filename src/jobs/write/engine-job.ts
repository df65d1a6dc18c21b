import { Gate } from '../../bulk/gate.js';
import type { Tally } from '../../bulk/tally.js';
import { OrdinalSet } from '../../bulk/write/ranges.js';
import { hasRecords, type EarlierParts } from '../../bulk/write/write-entries.js';
import type { Memory, WriteJob } from '../../bulk/write/write-job.js';
import type { Client } from '../../client/client.js';
import { paths, writes } from '../../contract/endpoints.js';
import { firstRecords } from '../../input/first-records.js';
import type { Mapper } from '../../mapping/records.js';
import { writeDefaults } from '../job-options.js';
import type { RunLedger } from '../run/run-ledger.js';
import { waitsOf } from '../world.js';
import type { WriteRequest, Writing } from './write-request.js';

interface EngineParts {
  readonly mapper: Mapper;
  readonly earlier: EarlierParts | undefined;
  readonly tally: Tally;
  readonly ledger: RunLedger | undefined;
  readonly memory: Memory | undefined;
  readonly client: Client | undefined;
}

/** What `write` is to do; records go nowhere where only a check is made. */
export function jobOf(
  { kind, request, world, hooks, rehearsal, inputs, connection, slots }: Writing,
  { mapper, earlier, tally, ledger, memory, client }: EngineParts,
): WriteJob {
  const { limit, maxRejects } = request;
  const { name } = kind;
  const defaults = writes[name];
  // Of a demerge, all identities have to be seen again to tell duplicates.
  const from = kind.seen ? undefined : earlier?.watermark;
  const rows = hooks.ready ? paced(inputs.blocks(from), hooks.ready) : inputs.blocks(from);
  return {
    rows: limit === undefined ? rows : firstRecords(rows, limit - (from?.ordinal ?? 0)),
    map: (block) => mapper.map(block),
    toldOnce: kind.seen,
    send:
      client &&
      ((body, signal, asked) =>
        client.write(name, body, signal, { dryRun: rehearsal === 'dryRun', ...asked })),
    shown: client?.shown ?? ((words) => words),
    endpoint: `POST ${paths[name]}`,
    request: {
      frame: { open: Buffer.from(kind.frame[0]), close: Buffer.from(kind.frame[1]) },
      records: request.chunkSize ?? defaults.records,
      bytes: request.chunkBytes ?? writeDefaults.chunkBytes,
    },
    order: kind.seen ? 'none' : (request.order ?? 'key'),
    maxRejects,
    rehearsal,
    tally,
    budget: world.ports?.budget?.() ?? new Gate(slots),
    policy: connection?.policy ?? noRetries,
    runtime: world.runtime,
    earlier: earlier && hasRecords(earlier) ? toldOf(earlier, request) : undefined,
    memory,
    onceRefused: ledger?.refused,
    piped: inputs.totalBytes === undefined,
    option: world.words.option,
    waits: waitsOf(connection, world),
    log: (line) => world.said.verbose(line),
    warn: (text) => world.said.warn(text),
  };
}

async function* paced<T>(items: AsyncIterable<T>, ready: () => Promise<void>): AsyncGenerator<T> {
  for await (const item of items) {
    await ready();
    yield item;
  }
}

/** Records whose outcome is unknown may be sent again, knowingly. */
const toldOf = (earlier: EarlierParts, { retryUnknown }: WriteRequest): EarlierParts =>
  retryUnknown === true ? { ...earlier, intended: new OrdinalSet() } : earlier;

const noRetries = { maxAttempts: 1, retryForMs: 0, retryBaseMs: 0 };

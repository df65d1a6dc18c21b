import { AimdLimiter } from '../../../src/bulk/adaptive-concurrency.js';
import type { Batch } from '../../../src/bulk/write/batch.js';
import type { WriteJob } from '../../../src/bulk/write/write-job.js';
import { RetryStatus } from '../../../src/client/retry.js';
import { unnamedOption } from '../../../src/errors.js';
import type { RowBlock } from '../../../src/input/row-block.js';
import type { RecordBlock } from '../../../src/mapping/record-block.js';
import { Tally } from '../../../src/bulk/outcomes/tally.js';
import { RejectsFile } from '../../../src/output/rejects-file.js';
import { jsonRows } from './row-blocks.js';

/** A record: text, key, and whether it is an event; events are not idempotent unless stated. */
export interface TestRecord {
  readonly text: string;
  readonly key?: number;
  readonly otherKeys?: readonly number[];
  readonly event?: boolean;
  readonly idempotent?: boolean;
}

/** A block of records, as a mapper makes it that passes rows through. */
export function recordBlock(records: readonly TestRecord[]): RecordBlock {
  const rows = jsonRows(records.map(({ text }) => text));
  return {
    rows,
    count: rows.count,
    row: Int32Array.from(records.keys()),
    json: rows.bytes,
    bounds: rows.bounds,
    keys: Int32Array.from(records, ({ key }, index) => key ?? index),
    otherKeys: new Map(
      records.flatMap(({ otherKeys }, index) =>
        otherKeys ? [[index, new Set(otherKeys)] as const] : [],
      ),
    ),
    idempotent: Uint8Array.from(
      records,
      ({ idempotent, event }) => +(idempotent ?? event !== true),
    ),
    kinds: Uint8Array.from(records, ({ event }) => +(event === true)),
    rejects: [],
    parseErrors: [],
  };
}

/** The texts of a batch's records. */
export const textsOf = (batch: Batch): string[] =>
  batch.positions().map((position) => {
    const { json, start, end } = batch.record(position);
    return json.toString('utf8', start, end);
  });

/** Options of a write that reaches neither disk nor service. */
export function jobOf({
  records = 3,
  most = 2,
  ...given
}: Partial<WriteJob> & {
  readonly records?: number;
  readonly most?: number;
} = {}) {
  const tally = new Tally({
    rejects: new RejectsFile('rejects', '/nowhere/rejects', { option: unnamedOption }),
    sourceRecord: (_, row) => `${row}`,
    listNotSent: () => false,
  });
  return {
    request: { frame: { open: Buffer.from('['), close: Buffer.from(']') }, records, bytes: 1000 },
    limiter: new AimdLimiter(most),
    order: 'key' as const,
    tally,
    endpoint: 'POST /test',
    piped: false,
    option: unnamedOption,
    warn: () => undefined,
    ...given,
  };
}

/** A whole write of these blocks, which accepts every record unless `send` is given. */
export function writeJobOf(
  blocks: readonly RecordBlock[],
  { signal = new AbortController().signal, ...given }: Partial<WriteJob> & WriteJobOptions = {},
) {
  const monotonic = () => 0;
  return {
    ...jobOf(given),
    rows: (async function* () {
      for (const { rows } of blocks) yield rows;
    })(),
    map: (rows: RowBlock) => blocks.find((block) => block.rows === rows)!,
    send: async () => ({ ok: true, answer: undefined }) as const,
    redact: (text: string) => text,
    policy: { maxAttempts: 3, retryForMs: 0, retryBaseMs: 0 },
    runtime: { monotonic, random: () => 0, signal, sleep: async () => undefined },
    log: () => undefined,
    waits: new RetryStatus('nobody', { monotonic, log: () => undefined }),
    ...given,
  };
}

interface WriteJobOptions {
  readonly records?: number;
  readonly most?: number;
  readonly signal?: AbortSignal;
}

/** A promise, and what resolves it. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

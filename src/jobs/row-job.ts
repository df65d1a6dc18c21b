import { PeekableIterator } from '../bulk/peekable-iterator.js';
import { Tally } from '../bulk/outcomes/tally.js';
import { EngagectlError, groupDigits } from '../errors.js';
import { limitRecords, type RowBlock } from '../input/row-block.js';
import { openInputs, type Inputs } from '../input/inputs.js';
import { missingColumnsError } from '../mapping/columns.js';
import { sourceRecord } from '../mapping/rejects-input.js';
import { catchFailure, newRunId, runEnd, type JobContext } from './job-context.js';
import { openRejects } from './rejects.js';
import { inputOptions } from './input-files.js';
import type { JobHooks, JobProgress, RunResult } from './job-results.js';
import type { ReadOptions } from './job-options.js';

export interface RowsOptions extends ReadOptions {
  readonly files: readonly string[];
  /** File for rejected rows. */
  readonly rejects?: string;
}

/** read = accepted + rejected, unless the job was stopped. */
export interface RowJobResult extends RunResult {
  readonly read: number;
  readonly accepted: number;
  readonly rejected: number;
  /** Null if no row was rejected. */
  readonly rejectsFile: string | null;
}

/** A job on the rows of an input, without an account. */
interface RowJobKind {
  readonly name: string;
  /** Required columns of a CSV, and the `fix` of the error if one is missing. */
  readonly columns: readonly string[];
  readonly fix: string;
  /** Completes the sentence "3 of 10 rows …". */
  readonly rejected: string;
}

/** Processes rows, and records the outcome of each. */
export interface RowConsumer<More> {
  take(rows: RowBlock): Promise<void>;
  /** Called after the last row. */
  finish?(): Promise<void>;
  /** Releases all resources; may follow `finish`. */
  close?(): Promise<void>;
  more(): More;
}

/**
 * Processes the rows of an input. Throws errors that occur before the first row; later errors are
 * part of the result.
 */
export async function runRowJob<More extends object>(
  kind: RowJobKind,
  { options, context, hooks }: Performing<RowJobResult & More>,
  open: (tally: Tally, inputs: Inputs) => Promise<RowConsumer<More>> | RowConsumer<More>,
): Promise<RowJobResult & More> {
  const { files, rejects: named } = options;
  const { runtime } = context;
  // A job over rows reports or keeps each of them, empty ones included.
  const columns = { keyColumns: kind.columns, listColumn: kind.columns[0] };
  const input = { ...inputOptions(files, options, columns), skipsEmptyRows: false };
  const inputs = await openInputs(input, runtime);
  try {
    for (const { header, source } of inputs.headers) checkHeader(kind, header, source);
    const place = { job: kind.name.replace(' ', '-'), named, files, first: inputs.first };
    const rejects = openRejects({ ...place, onReject: hooks.rejected }, context);
    const tally = new Tally({ rejects, sourceRecord, listNotSent: () => false });
    const taker = await open(tally, inputs);
    const started = runtime.monotonic();
    hooks.started?.(() => progressOf(inputs, tally), inputs.first);
    const failure = await catchFailure(
      takeAll({ options, context, inputs, tally, taker }),
      runtime.signal,
    );
    // Rows of the block that was being processed have no outcome yet.
    if (failure) tally.counts.notSent = tally.counts.read - settled(tally.counts);
    tally.assertBalanced();
    const error = failure ?? verdict(kind, tally);
    const { read, accepted, rejected } = tally.counts;
    const result = {
      run: newRunId(runtime),
      accountId: null,
      read,
      accepted,
      rejected,
      ...taker.more(),
      requests: 0,
      retries: 0,
      rejectsFile: rejects.exists ? rejects.path : null,
      ...runEnd(error, started, runtime),
      unfinished: false,
    };
    await hooks.ended?.({ result, rejectSummary: tally, wasResumed: false });
    return result;
  } finally {
    await inputs.close();
  }
}

interface Performing<Result> {
  readonly options: RowsOptions;
  readonly context: JobContext;
  readonly hooks: JobHooks<Result>;
}

interface Taking<More> extends Pick<Performing<never>, 'options' | 'context'> {
  readonly inputs: Inputs;
  readonly tally: Tally;
  readonly taker: RowConsumer<More>;
}

async function takeAll<More>({ options, context, inputs, tally, taker }: Taking<More>) {
  const { limit } = options;
  const blocks = inputs.blocks();
  const limited = limit === undefined ? blocks : limitRecords(blocks, limit);
  const { signal } = context.runtime;
  try {
    for await (const rows of new PeekableIterator(limited).until(signal)) {
      tally.counts.read += rows.count + rows.parseErrors.length;
      await taker.take(rows);
      await tally.log.commit();
    }
    signal.throwIfAborted();
    await taker.finish?.();
  } finally {
    await taker.close?.();
    await tally.close();
  }
}

const settled = ({ accepted, rejected }: Tally['counts']): number => accepted + rejected;

function checkHeader(
  { columns, fix }: RowJobKind,
  header: readonly string[],
  source: string,
): void {
  const missing = columns.filter((column) => !header.includes(column));
  if (missing.length > 0) throw missingColumnsError(missing, header, source, fix);
}

function verdict({ rejected: what }: RowJobKind, { counts, rejects }: Tally) {
  const { read, rejected } = counts;
  if (rejected === 0) return undefined;
  return new EngagectlError(
    'E-REJECTED',
    `${groupDigits(rejected)} of ${groupDigits(read)} rows ${what}`,
    {
      fix: `correct them in the input; ${rejects.path} lists each with its error`,
    },
  );
}

function progressOf(inputs: Inputs, { counts: { read, rejected } }: Tally): JobProgress {
  const { totalBytes } = inputs;
  const bytes = inputs.bytesRead();
  return { read, records: read, rejected, bytes, totalBytes, inFlight: 0, waiting: undefined };
}

import { isUtf8 } from 'node:buffer';
import { cutMark, cutTextBytes, rejectTextBytes } from '../../contract/file-formats.js';
import {
  assertBalanced,
  zeroCounts,
  type OutcomeCounts,
  type CommittedCounts,
} from './outcome-counts.js';
import { ordinalOfParseError, ordinalOfRow, ordinalRuns } from './ordinal-set.js';
import { locateServiceError, RejectSamples } from './reject-samples.js';
import { MemoryOutcomes, type OutcomeLog } from './outcome-log.js';
import type { RowBlock, RowParseError } from '../../input/row-block.js';
import type { Reject, RejectsFile, RejectStage } from '../../output/rejects-file.js';

interface TallyOptions {
  readonly rejects: RejectsFile;
  /** Returns the record as read, as JSON text. */
  readonly sourceRecord: (rows: RowBlock, row: number) => string;
  /** Returns the columns of a row whose rejects must name them. */
  readonly tableColumns?: (rows: RowBlock, row: number) => readonly string[] | undefined;
  /** Whether to write records that were not sent to the rejects file, because the input is a pipe or must not be sent again. */
  readonly listNotSent: () => boolean;
  /** Write an incomplete last record to the rejects file, because the run cannot be resumed. */
  readonly listHeldBack?: boolean;
  /** Write events that another run sent to the rejects file, instead of only counting them. */
  readonly listAlreadySent?: boolean;
  /** Columns that the user named as the record's key. */
  readonly keys?: readonly string[] | undefined;
}

/** A record that is incomplete because its input ends in the middle of it. */
interface IncompleteRecord {
  readonly source: string;
  readonly line: number;
  readonly error: string;
}

/** Receives the outcome of every record once: counts it, logs it, writes rejects, and frees its memory. */
export class Tally {
  readonly counts: OutcomeCounts = zeroCounts();
  readonly samples: RejectSamples;
  readonly rejects: RejectsFile;
  /** The incomplete last record of an input, which was not sent. */
  incomplete: IncompleteRecord | undefined;
  /** Replaced by the journal when the run starts sending. */
  log: OutcomeLog;
  readonly #options: TallyOptions;

  constructor(options: TallyOptions) {
    this.rejects = options.rejects;
    this.samples = new RejectSamples(options.keys);
    this.log = new MemoryOutcomes(options.rejects);
    this.#options = options;
  }

  /** Whether the rejects file lists the records that were read and not sent. */
  get listsNotSent(): boolean {
    return this.#options.listNotSent();
  }

  /** Ends neighboring rows (default: one) as accepted, or as not sent because that is not necessary. */
  accept(
    rows: RowBlock,
    row: number,
    count = 1,
    outcome: 'accepted' | 'unchanged' | 'alreadySent' = 'accepted',
  ): void {
    for (const run of ordinalRuns(rows, row, count)) this.#end(rows, run.first, outcome, run.count);
  }

  /** Ends a row that repeats an identity of a demerge. */
  duplicate(rows: RowBlock, row: number): void {
    this.#end(rows, ordinalOfRow(rows, row), 'duplicates');
  }

  /** Ends neighboring events that another run sent. */
  alreadySent(rows: RowBlock, row: number, count = 1): void {
    if (!this.#options.listAlreadySent) return this.accept(rows, row, count, 'alreadySent');
    for (let at = row; at < row + count; at += 1) {
      this.reject(rows, at, { stage: 'alreadySent', error: sentByOther });
    }
  }

  /** Ends a record that could not be parsed. */
  parseError(rows: RowBlock, failure: RowParseError): void {
    const ordinal = ordinalOfParseError(rows, failure);
    this.#listRaw(rows, failure, { stage: 'parse', ordinal });
    this.#end(rows, ordinal, 'rejected');
  }

  /** Counts the incomplete last record of an input as not sent. It has no outcome in the journal. */
  holdBack(rows: RowBlock, failure: RowParseError): void {
    const { line, error } = failure;
    this.incomplete = { source: rows.source, line, error };
    this.counts.read += 1;
    this.counts.notSent += 1;
    this.counts.heldBack = 1;
    const ordinal = Number.POSITIVE_INFINITY;
    if (this.#options.listHeldBack) this.#listRaw(rows, failure, { stage: 'notSent', ordinal });
  }

  /** Ends a row that was not accepted. */
  reject(
    rows: RowBlock,
    row: number,
    { stage, code, error }: { stage: RejectStage; code?: number | undefined; error: string },
  ): void {
    const isOutcome = stage === 'notSent' || stage === 'unknown' || stage === 'alreadySent';
    const outcome = isOutcome ? stage : 'rejected';
    const ordinal = ordinalOfRow(rows, row);
    if (outcome !== 'notSent' || this.listsNotSent) {
      const record = this.#options.sourceRecord(rows, row);
      const line = rows.lines[row] ?? 0;
      const located = stage === 'service' ? locateServiceError(error, line, record) : error;
      const columns = this.#options.tableColumns?.(rows, row);
      const reject = { source: rows.source, line, stage, code, error: located, record };
      this.#list({ ...reject, ...(columns && { columns }) }, ordinal);
    }
    this.#end(rows, ordinal, outcome);
  }

  /** Skips records of other shards. */
  otherShard(rows: RowBlock, count: number): void {
    this.counts.otherShards! += count; // begins at 0 in a run of a shard
    this.log.skipped(rows, count);
    rows.memory?.release(count);
  }

  /** Ends a row that was not sent. */
  notSent(rows: RowBlock, row: number, error: string): void {
    this.reject(rows, row, { stage: 'notSent', error });
  }

  /** Counts records that were not read because the run stopped. */
  notRead(count: number): void {
    this.counts.read += count;
    this.counts.notSent += count;
  }

  /** Starts with the counts of earlier attempts. */
  resume({ accepted: resumed, ...others }: CommittedCounts): void {
    this.counts.read = resumed + Object.values(others).reduce((sum, count) => sum + count, 0);
    Object.assign(this.counts, others, { resumed });
  }

  /** Commits the rest and closes the rejects file. */
  async close(): Promise<void> {
    try {
      await this.log.commit();
      await this.rejects.sync();
      await this.rejects.restore();
    } finally {
      await this.rejects.close();
    }
  }

  /** Whether the service accepted records, or may have. */
  get hasSent(): boolean {
    return this.counts.accepted + this.counts.resumed + this.counts.unknown > 0;
  }

  assertBalanced(): void {
    assertBalanced(this.counts);
  }

  #listRaw(
    rows: RowBlock,
    { line, column, error, raw }: RowParseError,
    { stage, ordinal }: { readonly stage: RejectStage; readonly ordinal: number },
  ): void {
    const where = column === undefined ? error : `${error} (column ${column})`;
    const { source } = rows;
    // Columns, if only none, show that the record is a text, and no string that is an identity to demerge.
    const columns = stage === 'parse' ? {} : { columns: [] };
    const cells = { ...columns, ...cellsOf(rows) };
    this.#list({ source, line, stage, error: where, ...rawText(raw), ...cells }, ordinal);
  }

  #list(reject: Reject, ordinal: number): void {
    this.rejects.add(reject, ordinal);
    this.samples.add(reject);
  }

  #end(
    rows: RowBlock,
    ordinal: number,
    outcome: keyof CommittedCounts | 'notSent',
    count = 1,
  ): void {
    this.counts[outcome] += count;
    if (outcome !== 'notSent') this.log.record(rows, ordinal, outcome, count);
    rows.memory?.release(count);
  }
}

const sentByOther = 'another run sent this event';

/** Returns header and delimiters of the CSV (none of a list), so that a corrected line can be split into cells. */
function cellsOf({ cells }: RowBlock): Partial<Reject> {
  if (!cells?.markers) return {};
  const { delimiter, quote, escape } = cells.markers;
  return {
    columns: cells.header,
    ...(delimiter.toString() !== ',' && { delimiter: delimiter.toString() }),
    ...(quote.toString() !== '"' && { quote: quote.toString() }),
    ...(!escape.equals(quote) && { escape: escape.toString() }),
  };
}

/** Returns UTF-8 as text, ignoring a character cut off at the end, and other bytes as base64. */
function rawText(raw: Buffer): Pick<Reject, 'record' | 'recordBase64'> {
  const isCut = raw.length >= rejectTextBytes;
  const text = isCut ? raw.subarray(0, cutTextBytes) : raw;
  const lengths = isCut ? [0, 1, 2, 3] : [0];
  const left = lengths.find((length) => isUtf8(text.subarray(0, text.length - length)));
  if (left === undefined) return { recordBase64: text.toString('base64') };
  const start = text.toString('utf8', 0, text.length - left);
  return { record: JSON.stringify(`${start}${isCut ? cutMark : ''}`) };
}

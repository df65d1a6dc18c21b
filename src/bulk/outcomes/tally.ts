import { isUtf8 } from 'node:buffer';
import {
  assertBalanced,
  zeroCounts,
  type OutcomeCounts,
  type CommittedCounts,
} from './outcome-counts.js';
import { ordinalOfFault, ordinalOfRow, ordinalRuns } from './ordinal-set.js';
import { locateServiceError, RejectSamples } from './reject-samples.js';
import { MemoryOutcomes, type OutcomeLog } from './outcome-log.js';
import type { RowBlock, RowParseError } from '../../input/row-block.js';
import type { Reject, RejectsFile, RejectStage } from '../../output/rejects-file.js';

/** Bytes of unparsable text kept in a reject line. */
const rawBytesMaximum = 64 * 1024;

interface TallyOptions {
  readonly rejects: RejectsFile;
  /** JSON text of what was read. */
  readonly sourceRecord: (rows: RowBlock, row: number) => string;
  /** Records that were not sent are listed only where they cannot be read again. */
  readonly listNotSent: boolean;
  /** Columns that the user named as those that say who a record is of. */
  readonly keys?: readonly string[] | undefined;
}

/** Takes every record's outcome, once: counts it, logs it, lists it, and lets go of its memory. */
export class Tally {
  readonly counts: OutcomeCounts = zeroCounts();
  readonly samples: RejectSamples;
  readonly rejects: RejectsFile;
  /** Another one is set for the rest of a run that keeps a journal. */
  log: OutcomeLog;
  readonly #options: TallyOptions;

  constructor(options: TallyOptions) {
    this.rejects = options.rejects;
    this.samples = new RejectSamples(options.keys);
    this.log = new MemoryOutcomes(options.rejects);
    this.#options = options;
  }

  /** Neighbouring rows, one by default, that were accepted, or need not be sent. */
  accept(rows: RowBlock, row: number, count = 1, how: 'accepted' | 'unchanged' = 'accepted'): void {
    for (const run of ordinalRuns(rows, row, count)) this.#end(rows, run.first, how, run.count);
  }

  duplicate(rows: RowBlock, row: number): void {
    this.#end(rows, ordinalOfRow(rows, row), 'duplicates');
  }

  /** A record that could not be read at all. */
  parseError(rows: RowBlock, fault: RowParseError): void {
    const { line, column, error, raw } = fault;
    const where = column === undefined ? error : `${error} (column ${column})`;
    this.#list({
      source: rows.source,
      line,
      stage: 'parse',
      error: where,
      ...rawText(raw),
      ...cellsOf(rows),
    });
    this.#end(rows, ordinalOfFault(rows, fault), 'rejected');
  }

  /** A row that ended without being accepted. */
  reject(
    rows: RowBlock,
    row: number,
    { stage, code, error }: { stage: RejectStage; code?: number | undefined; error: string },
  ): void {
    const how = stage === 'notSent' || stage === 'unknown' ? stage : 'rejected';
    if (how !== 'notSent' || this.#options.listNotSent) {
      const record = this.#options.sourceRecord(rows, row);
      const line = rows.lines[row] ?? 0;
      const words = stage === 'service' ? locateServiceError(error, line, record) : error;
      this.#list({ source: rows.source, line, stage, code, error: words, record });
    }
    this.#end(rows, ordinalOfRow(rows, row), how);
  }

  /** Records that another shard accounts for. */
  otherShard(rows: RowBlock, count: number): void {
    this.counts.otherShards = (this.counts.otherShards ?? 0) + count;
    this.log.skipped(rows, count);
    rows.memory?.release(count);
  }

  notSent(rows: RowBlock, row: number, error: string): void {
    this.reject(rows, row, { stage: 'notSent', error });
  }

  /** Records of a file that was not read to its end because the run stopped. */
  notRead(count: number): void {
    this.counts.read += count;
    this.counts.notSent += count;
  }

  /** Starts with the figures of the run's earlier parts. */
  resume({ accepted: resumed, ...others }: CommittedCounts): void {
    const { rejected, unknown, duplicates, unchanged } = others;
    this.counts.read = resumed + rejected + unknown + duplicates + unchanged;
    Object.assign(this.counts, others, { resumed });
  }

  /** Commits the rest and closes the rejects file. */
  async close(): Promise<void> {
    try {
      await this.log.commit();
      await this.rejects.sync();
    } finally {
      await this.rejects.close();
    }
  }

  /** The service took some records, or may have. */
  get hasSent(): boolean {
    return this.counts.accepted + this.counts.resumed + this.counts.unknown > 0;
  }

  assertBalanced(): void {
    assertBalanced(this.counts);
  }

  #list(reject: Reject): void {
    this.rejects.add(reject);
    this.samples.add(reject);
  }

  #end(rows: RowBlock, ordinal: number, how: keyof CommittedCounts | 'notSent', count = 1): void {
    this.counts[how] += count;
    if (how !== 'notSent') this.log.record(rows, ordinal, how, count);
    rows.memory?.release(count);
  }
}

/** What a CSV line, once it is corrected, can be cut into cells by. */
function cellsOf({ cells }: RowBlock): Partial<Reject> {
  if (!cells?.markers || cells.markers.delimiter.length === 0) return {};
  const { delimiter, quote, escape } = cells.markers;
  return {
    columns: cells.header,
    ...(delimiter.toString() !== ',' && { delimiter: delimiter.toString() }),
    ...(quote.toString() !== '"' && { quote: quote.toString() }),
    ...(!escape.equals(quote) && { escape: escape.toString() }),
  };
}

/** As text where it is UTF-8, apart from a character that was cut at the end; else as base64. */
function rawText(raw: Buffer): Pick<Reject, 'record' | 'recordBase64'> {
  const text = raw.subarray(0, rawBytesMaximum);
  const lengths = raw.length < rawBytesMaximum ? [0] : [0, 1, 2, 3];
  const cut = lengths.find((cut) => isUtf8(text.subarray(0, text.length - cut)));
  if (cut === undefined) return { recordBase64: text.toString('base64') };
  return { record: JSON.stringify(text.toString('utf8', 0, text.length - cut)) };
}

import { isUtf8 } from 'node:buffer';
import type { RowBlock, RowFault } from '../input/rows.js';
import type { Reject, RejectsFile, RejectStage } from './rejects.js';

/** Every record read is counted in exactly one of the others, `read` aside. */
export interface Counts {
  read: number;
  accepted: number;
  rejected: number;
  unknown: number;
  notSent: number;
  /** Accepted by an earlier part of the same run. */
  resumed: number;
  duplicates: number;
}

/** Reject lines shown on the screen; the rest is counted by kind. */
const shownRejects = 5;
/** Bytes of unparsable text kept in a reject line. */
const rawBytesMaximum = 64 * 1024;

/** Where every record's outcome is written down and counted; nothing else counts records. */
export class Account {
  readonly counts: Counts = {
    read: 0,
    accepted: 0,
    rejected: 0,
    unknown: 0,
    notSent: 0,
    resumed: 0,
    duplicates: 0,
  };
  /** The first few rejects, as lines for the screen. */
  readonly firstRejects: string[] = [];
  /** How many rejects there were of each kind (`service 515`, `parse`, …). */
  readonly rejectKinds = new Map<string, number>();
  readonly rejects: RejectsFile;
  readonly #sourceRecord: (rows: RowBlock, row: number) => string;
  /** Records that were not sent are listed only where they cannot be read again. */
  readonly #listNotSent: boolean;

  constructor(options: {
    readonly rejects: RejectsFile;
    readonly sourceRecord: (rows: RowBlock, row: number) => string;
    readonly listNotSent: boolean;
  }) {
    this.rejects = options.rejects;
    this.#sourceRecord = options.sourceRecord;
    this.#listNotSent = options.listNotSent;
  }

  accept(count: number): void {
    this.counts.accepted += count;
  }

  duplicate(): void {
    this.counts.duplicates += 1;
  }

  /** A record that could not be read at all. */
  fault(source: string, { line, column, error, raw }: RowFault): void {
    this.counts.rejected += 1;
    const where = column === undefined ? error : `${error} (column ${column})`;
    this.#list({ source, line, stage: 'parse', error: where, ...rawText(raw) });
  }

  /** A row that ended without being accepted. */
  turnDown(
    rows: RowBlock,
    row: number,
    { stage, code, error }: { stage: RejectStage; code?: number | undefined; error: string },
  ): void {
    if (stage === 'notSent') this.counts.notSent += 1;
    else if (stage === 'unknown') this.counts.unknown += 1;
    else this.counts.rejected += 1;
    if (stage === 'notSent' && !this.#listNotSent) return;
    const record = this.#sourceRecord(rows, row);
    this.#list({ source: rows.source, line: rows.lines[row] ?? 0, stage, code, error, record });
  }

  notSent({ rows, row }: { readonly rows: RowBlock; readonly row: number }, error: string): void {
    this.turnDown(rows, row, { stage: 'notSent', error });
  }

  /** Records of a file that was not read to its end because the run stopped. */
  notRead(count: number): void {
    this.counts.read += count;
    this.counts.notSent += count;
  }

  /** Throws when a record is missing or was counted twice: that would be a defect of ours. */
  assertBalanced(): void {
    const { read, accepted, rejected, unknown, notSent, resumed, duplicates } = this.counts;
    const ended = accepted + rejected + unknown + notSent + resumed + duplicates;
    if (ended !== read) {
      throw new Error(`the account does not balance: ${JSON.stringify(this.counts)}`);
    }
  }

  #list(reject: Reject): void {
    this.rejects.add(reject);
    const { source, line, stage, code, error } = reject;
    const kind = code === undefined ? stage : `${stage} ${code}`;
    this.rejectKinds.set(kind, (this.rejectKinds.get(kind) ?? 0) + 1);
    if (this.firstRejects.length < shownRejects) {
      this.firstRejects.push(`${source}:${line}: ${kind}: ${error}`);
    }
  }
}

/** As text where it is UTF-8, apart from a character that was cut at the end; else as base64. */
function rawText(raw: Buffer): Pick<Reject, 'record' | 'recordBase64'> {
  const text = raw.subarray(0, rawBytesMaximum);
  const lengths = raw.length < rawBytesMaximum ? [0] : [0, 1, 2, 3];
  const cut = lengths.find((cut) => isUtf8(text.subarray(0, text.length - cut)));
  if (cut === undefined) return { recordBase64: text.toString('base64') };
  return { record: JSON.stringify(text.toString('utf8', 0, text.length - cut)) };
}

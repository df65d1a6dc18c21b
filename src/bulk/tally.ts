import { isUtf8 } from 'node:buffer';
import type { RowBlock, RowFault } from '../input/rows.js';
import type { SettledCounts } from './run/settlement.js';
import { ordinalOfFault, ordinalOfRow, ordinalRuns } from './run/ordinals.js';
import type { Reject, RejectsFile, RejectStage } from './rejects.js';
import type { RunLog } from './run/run-log.js';

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

/** Rejects that are told one by one; the rest is counted by kind. */
const rejectsKept = 10;

/** A reject to be told. */
export interface FirstReject {
  readonly source: string;
  readonly line: number;
  /** Like `service 515` or `parse`. */
  readonly kind: string;
  readonly error: string;
}
/** Rejects of one kind. */
export interface RejectKind {
  count: number;
  /** The first few; `record` is the beginning of its JSON text. */
  readonly samples: Pick<Reject, 'source' | 'line' | 'error' | 'record'>[];
}

const samplesOfKind = 3;
/** Characters of a sample's record. */
const sampleLength = 400;
/** Bytes of unparsable text kept in a reject line. */
const rawBytesMaximum = 64 * 1024;

/** Where every record's outcome is written down and counted; nothing else counts records. */
export class Tally {
  readonly counts: Counts = {
    read: 0,
    accepted: 0,
    rejected: 0,
    unknown: 0,
    notSent: 0,
    resumed: 0,
    duplicates: 0,
  };
  readonly firstRejects: FirstReject[] = [];
  /** By kind: `service 515`, `parse`, … */
  readonly rejectKinds = new Map<string, RejectKind>();
  readonly rejects: RejectsFile;
  readonly #sourceRecord: (rows: RowBlock, row: number) => string;
  /** Records that were not sent are listed only where they cannot be read again. */
  readonly #listNotSent: boolean;
  /** Set for the rest of a run that keeps a journal. */
  log: RunLog | undefined;

  constructor(options: {
    readonly rejects: RejectsFile;
    readonly sourceRecord: (rows: RowBlock, row: number) => string;
    readonly listNotSent: boolean;
  }) {
    this.rejects = options.rejects;
    this.#sourceRecord = options.sourceRecord;
    this.#listNotSent = options.listNotSent;
  }

  /** Neighbouring rows, one by default. */
  accept(rows: RowBlock, row: number, count = 1): void {
    this.counts.accepted += count;
    const { log } = this;
    if (log) {
      for (const run of ordinalRuns(rows, row, count)) {
        log.settled(rows, run.first, 'accepted', run.count);
      }
    }
    rows.memory?.letGo(count);
  }

  duplicate(rows: RowBlock, row: number): void {
    this.counts.duplicates += 1;
    this.log?.settled(rows, ordinalOfRow(rows, row), 'duplicates');
    rows.memory?.letGo();
  }

  /** A record that could not be read at all. */
  fault(rows: RowBlock, fault: RowFault): void {
    const { line, column, error, raw } = fault;
    const { source } = rows;
    this.counts.rejected += 1;
    this.log?.settled(rows, ordinalOfFault(rows, fault), 'rejected');
    const where = column === undefined ? error : `${error} (column ${column})`;
    this.#list({ source, line, stage: 'parse', error: where, ...rawText(raw) });
    rows.memory?.letGo();
  }

  /** A row that ended without being accepted. */
  turnDown(
    rows: RowBlock,
    row: number,
    { stage, code, error }: { stage: RejectStage; code?: number | undefined; error: string },
  ): void {
    const how = stage === 'notSent' || stage === 'unknown' ? stage : 'rejected';
    this.counts[how] += 1;
    if (how !== 'notSent') this.log?.settled(rows, ordinalOfRow(rows, row), how);
    if (how !== 'notSent' || this.#listNotSent) {
      const record = this.#sourceRecord(rows, row);
      this.#list({ source: rows.source, line: rows.lines[row] ?? 0, stage, code, error, record });
    }
    rows.memory?.letGo();
  }

  notSent(rows: RowBlock, row: number, error: string): void {
    this.turnDown(rows, row, { stage: 'notSent', error });
  }

  /** Writes down what was counted so far; false when that has to wait for `commit`. */
  write(): boolean {
    if (this.log) return this.log.write();
    this.rejects.flush();
    return true;
  }

  /** Resolves when what was counted so far is written down; with a journal, on the disk. */
  async commit(): Promise<void> {
    if (this.log) await this.log.commit();
    else this.rejects.flush();
  }

  /** Writes the rest down and closes the rejects file. */
  async close(): Promise<void> {
    try {
      await this.commit();
      this.rejects.sync();
    } finally {
      this.rejects.close();
    }
  }

  /** Starts with the figures of the run's earlier parts. */
  resume({ accepted, rejected, unknown, duplicates }: SettledCounts): void {
    this.counts.read = accepted + rejected + unknown + duplicates;
    this.counts.resumed = accepted;
    Object.assign(this.counts, { rejected, unknown, duplicates });
  }

  /** Records of a file that was not read to its end because the run stopped. */
  notRead(count: number): void {
    this.counts.read += count;
    this.counts.notSent += count;
  }

  /** Some records have an outcome that a resume need not find out again. */
  get hasSettled(): boolean {
    const { read, notSent } = this.counts;
    return read > notSent;
  }

  /** Throws when a record is missing or was counted twice: that would be a defect of ours. */
  assertBalanced(): void {
    const { read, accepted, rejected, unknown, notSent, resumed, duplicates } = this.counts;
    const ended = accepted + rejected + unknown + notSent + resumed + duplicates;
    if (ended !== read) {
      throw new Error(`the tally does not balance: ${JSON.stringify(this.counts)}`);
    }
  }

  #list(reject: Reject): void {
    this.rejects.add(reject);
    const { source, line, stage, code, error } = reject;
    const kind = code === undefined ? stage : `${stage} ${code}`;
    this.#countKind(kind, reject);
    if (this.firstRejects.length < rejectsKept)
      this.firstRejects.push({ source, line, kind, error });
  }

  #countKind(name: string, { source, line, error, record }: Reject): void {
    const kind = this.rejectKinds.get(name) ?? { count: 0, samples: [] };
    kind.count += 1;
    if (kind.samples.length < samplesOfKind) {
      const sample = record === undefined ? {} : { record: beginningOf(record) };
      kind.samples.push({ source, line, error, ...sample });
    }
    this.rejectKinds.set(name, kind);
  }
}

/** A copy: a part of a string would keep the whole of it. */
const beginningOf = (text: string): string =>
  text.length <= sampleLength ? text : `${Buffer.from(text.slice(0, sampleLength)).toString()}…`;

/** As text where it is UTF-8, apart from a character that was cut at the end; else as base64. */
function rawText(raw: Buffer): Pick<Reject, 'record' | 'recordBase64'> {
  const text = raw.subarray(0, rawBytesMaximum);
  const lengths = raw.length < rawBytesMaximum ? [0] : [0, 1, 2, 3];
  const cut = lengths.find((cut) => isUtf8(text.subarray(0, text.length - cut)));
  if (cut === undefined) return { recordBase64: text.toString('base64') };
  return { record: JSON.stringify(text.toString('utf8', 0, text.length - cut)) };
}

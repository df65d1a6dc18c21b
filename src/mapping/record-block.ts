import { JsonWriter } from '../text/json-writer.js';
import { jsonToken } from '../text/json-parser.js';
import type { RowBlock, RowParseError } from '../input/row-block.js';
import type { KeyCells } from '../text/shard-finder.js';

/**
 * The records of one RowBlock as the JSON texts that the service accepts; passed from
 * mapping to bulk. Every picked row of `rows` is either a record or in `rejects`.
 */
export interface RecordBlock {
  readonly rows: RowBlock;
  readonly count: number;
  /** Index in `rows` of record i. */
  readonly row: Int32Array;
  /**
   * UTF-8 JSON texts of the records, valid until the next block is read or mapped. It is
   * `rows.bytes` if all records are sent as they were read.
   */
  readonly json: Buffer;
  /** Record i is `json[bounds[2i], bounds[2i+1])`; records one byte apart can be copied together. */
  readonly bounds: Int32Array;
  /**
   * 31-bit hash of the key that must stay in order (identity or objectId; type and value): records
   * with the same hash are treated as having the same key.
   */
  readonly keys: Int32Array;
  /** Hashes of the other keys of each record that has several, such as identity and objectId; undefined: there is none. */
  readonly otherKeys?: OtherKeys | undefined;
  /** 1 if record i is idempotent, else 0. */
  readonly idempotent: Uint8Array;
  /** 1 if record i is an event, else 0: events and profiles never share a request. */
  readonly kinds: Uint8Array;
  /** 1 for each event whose `ts` is the time of its upload; undefined: there is none. */
  readonly uploadTimes?: Uint8Array | undefined;
  readonly rejects: readonly RejectedRow[];
  /** Records of `rows` that could not be read. */
  readonly parseErrors: readonly RowParseError[];
  /** A `skipReason` for each record; undefined: all are to be sent. */
  readonly skip?: Uint8Array | undefined;
  /** Fingerprints of events that are remembered; 2 numbers for each record. */
  readonly fingerprints?: Int32Array | undefined;
  /** Number of rows and parse errors that belong to other shards. */
  readonly elsewhere?: number;
}

/**
 * Hashes of keys besides the first one, by the position of their record. A set can be empty, because hashes of different
 * keys can be equal.
 */
export type OtherKeys = ReadonlyMap<number, ReadonlySet<number>>;

/**
 * A row that is not JSON (`parse`), violates a local rule, or is a line of a rejects file with an outcome that
 * is not to be repeated.
 */
export interface RejectedRow {
  /** Index in `rows`. */
  readonly row: number;
  readonly stage: 'parse' | 'validate' | 'unknown' | 'alreadySent';
  readonly error: string;
}

/** Location of the record key in rows. */
export interface KeyLocation {
  /** Returns the key cells of a CSV with this header; undefined if the key depends on the record. */
  readonly cells: (header: readonly string[]) => KeyCells | undefined;
  /**
   * Member of a JSON object that is the key of the record, whatever its shape, if it is a
   * string that is not empty; undefined if the key depends on the record.
   */
  readonly member: string | undefined;
}

/** Turns rows into records of one command. */
export interface Mapper {
  readonly keys: KeyLocation;
  /**
   * Checks the header of a CSV before anything is sent.
   * Throws EngagectlError E-COLUMN-MISSING with the missing and the existing columns.
   */
  check(header: readonly string[], source: string): void;
  /** Returns notes about how a header was understood. */
  notes?(header: readonly string[]): readonly string[];
  /** Returns warnings about a valid header. */
  warnings?(header: readonly string[]): readonly string[];
  /** Whether a header is read as that of a CSV export, so that its cells have types. */
  isExport?(header: readonly string[]): boolean;
  /** Whether a row under this header could, as a record of a rejects file, be taken for one of another shape. */
  isMistakable?(header: readonly string[]): boolean;
  /** Columns of JSON rows that options name. */
  readonly namedColumns?: readonly string[];
  /** Returns columns that options name, but that no row has had so far. */
  unseenColumns?(): readonly string[];
  /** Warnings about what the records mapped so far contain and a request cannot. */
  losses?(): readonly string[];
  /** Whether a user of the records mapped so far has identities that are not sent. */
  listsFurtherIdentities?(): boolean;
  /** Maps all rows, or those with these ascending indexes. */
  map(rows: RowBlock, picked?: Int32Array): RecordBlock;
}

/** Reason why a row cannot be sent. */
export type RejectReason = Pick<RejectedRow, 'stage' | 'error'>;

/** Writes one row; returns why it cannot be sent, or undefined. */
type Write = (row: number) => RejectReason | undefined;

export const validationError = (error: string): RejectReason => ({ stage: 'validate', error });

/** Key hashes are never negative. */
const noKeyYet = -1;

/** Builds the records of one block at a time, in a buffer that is reused. */
export class RecordBuilder {
  readonly out: JsonWriter;
  /** Key of the record being written; see RecordBlock. */
  key = noKeyYet;
  /** Its other keys, if it has several. */
  otherKeys: Set<number> | undefined;
  /** Whether the record has no operator such as $incr. Events are never idempotent, whatever its value. */
  idempotent = true;
  isEvent = false;
  /** Whether the record got the time of its upload. */
  hasUploadTime = false;
  /** Bytes of the rows. */
  #read: Buffer | undefined;
  #passedStart = 0;
  #passedEnd = 0;

  constructor(out = new JsonWriter()) {
    this.out = out;
  }

  /** Forgets the keys of the record before. */
  clearKeys(): void {
    this.key = noKeyYet;
    this.otherKeys = undefined;
  }

  /** Adds a key of the record. The last one becomes `key`. */
  addKey(key: number): void {
    if (this.key !== noKeyYet) {
      this.otherKeys ??= new Set();
      this.otherKeys.add(this.key).delete(key);
    }
    this.key = key;
  }

  /** Passes on a record as read, `bytes[start, end)`, instead of writing it to `out`, unless it was read from other bytes than the rows. */
  pass(bytes: Buffer, start: number, end: number): void {
    if (bytes !== this.#read) this.out.raw(bytes, start, end);
    this.#passedStart = start;
    this.#passedEnd = end;
  }

  /**
   * Builds the block of the `picked` rows. `write` writes each to `out`, passes it on, or returns why
   * it cannot be sent. Overwrites the block built before.
   */
  build(rows: RowBlock, write: Write, picked = allRows(rows)): RecordBlock {
    const block = blockOf(rows, picked.length);
    const { out } = this;
    out.length = 0;
    this.#read = rows.bytes;
    for (const row of picked) {
      const start = out.length;
      this.idempotent = true;
      this.isEvent = this.hasUploadTime = false;
      this.clearKeys();
      const failure = write(row);
      if (failure) {
        out.length = start;
        block.rejects.push({ row, ...failure });
        continue;
      }
      const isPassed = out.length === start;
      const at = block.count++;
      block.row[at] = row;
      block.bounds[2 * at] = isPassed ? ~this.#passedStart : start;
      block.bounds[2 * at + 1] = isPassed ? this.#passedEnd : out.length;
      block.keys[at] = this.key;
      if (this.otherKeys) (block.otherKeys ??= new Map()).set(at, this.otherKeys);
      block.idempotent[at] = this.idempotent && !this.isEvent ? 1 : 0;
      block.kinds[at] = this.isEvent ? 1 : 0;
      if (this.hasUploadTime) (block.uploadTimes ??= new Uint8Array(picked.length))[at] = 1;
      if (!isPassed) out.byte(jsonToken.comma); // adjacent records can be copied into a request at once
    }
    return { ...block, json: this.#joined(rows.bytes, block.bounds.subarray(0, 2 * block.count)) };
  }

  /**
   * Returns one buffer for all records: the input if all were passed on, otherwise `out`. A negative start is
   * ~start of a record that was passed on.
   */
  #joined(read: Buffer, bounds: Int32Array): Buffer {
    const { out } = this;
    const isWritten = out.length > 0;
    for (let at = 0; at < bounds.length; at += 2) {
      if (bounds[at]! >= 0) continue;
      bounds[at] = ~bounds[at]!;
      if (!isWritten) continue;
      const start = out.length;
      out.raw(read, bounds[at], bounds[at + 1]);
      bounds[at] = start;
      bounds[at + 1] = out.length;
      out.byte(jsonToken.comma);
    }
    return isWritten ? out.bytes : read;
  }
}

/** Returns a block without records, with room for `count`. */
function blockOf(rows: RowBlock, count: number) {
  return {
    rows,
    count: 0,
    row: new Int32Array(count),
    bounds: new Int32Array(2 * count),
    keys: new Int32Array(count),
    otherKeys: undefined as Map<number, ReadonlySet<number>> | undefined,
    idempotent: new Uint8Array(count),
    kinds: new Uint8Array(count),
    uploadTimes: undefined as Uint8Array | undefined,
    rejects: [] as RejectedRow[],
    parseErrors: rows.parseErrors,
  };
}

let indexes = new Int32Array(0);

/** Returns the indexes of all rows of a block. */
export function allRows({ count }: RowBlock): Int32Array {
  if (indexes.length < count) indexes = Int32Array.from({ length: 2 * count }, (_, row) => row);
  return indexes.subarray(0, count);
}

/** Returns the block with only the selected records, in order. */
export function filterRecords(
  block: RecordBlock,
  includes: (record: number) => boolean,
): RecordBlock {
  const indexes: number[] = [];
  for (let index = 0; index < block.count; index++) if (includes(index)) indexes.push(index);
  if (indexes.length === block.count) return block;
  return {
    ...block,
    count: indexes.length,
    row: Int32Array.from(indexes, (index) => block.row[index]!),
    bounds: Int32Array.from({ length: 2 * indexes.length }, (_, at) => {
      return block.bounds[2 * indexes[at >> 1]! + (at & 1)]!;
    }),
    keys: Int32Array.from(indexes, (index) => block.keys[index]!),
    otherKeys: otherKeysAt(block.otherKeys, indexes),
    idempotent: Uint8Array.from(indexes, (index) => block.idempotent[index]!),
    kinds: Uint8Array.from(indexes, (index) => block.kinds[index]!),
    uploadTimes:
      block.uploadTimes && Uint8Array.from(indexes, (index) => block.uploadTimes![index]!),
  };
}

/** Returns the other keys of the records at these positions. */
function otherKeysAt(
  all: OtherKeys | undefined,
  positions: readonly number[],
): OtherKeys | undefined {
  if (!all) return undefined;
  const kept = new Map<number, ReadonlySet<number>>();
  for (const [at, position] of positions.entries()) {
    const keys = all.get(position);
    if (keys) kept.set(at, keys);
  }
  return kept;
}

/** Records to be counted: those of a block, or copies of some of them. */
export type CountedRecords = Pick<
  RecordBlock,
  'count' | 'row' | 'json' | 'bounds' | 'rejects' | 'parseErrors'
> & { readonly rows: Pick<RowBlock, 'source' | 'lines'> & { readonly cells: object | undefined } };

/** Copies of the first records of a run, which it searches for likely mistakes at its end, when their blocks are reused. */
export class RecordSample {
  readonly blocks: CountedRecords[] = [];
  #records = 1000;
  #bytes = 1024 * 1024;

  /** Copies the first records of a block, while there is room. Returns whether it copied all of them. */
  add(block: RecordBlock): boolean {
    const { count, bounds } = block;
    let copied = 0;
    for (; copied < count && this.#records > 0 && this.#bytes > 0; copied += 1) {
      this.#records -= 1;
      this.#bytes -= bounds[2 * copied + 1]! - bounds[2 * copied]!;
    }
    if (copied > 0) this.blocks.push(copyRecords(block, 0, copied));
    return copied === count;
  }
}

/** Copies the records of a block from `first` to before `end`. */
export function copyRecords(
  { rows, row, json, bounds }: RecordBlock,
  first: number,
  end: number,
): CountedRecords {
  const { source, lines, cells } = rows;
  const copied = row.subarray(first, end);
  const texts: Buffer[] = [];
  const textBounds: number[] = [];
  let length = 0;
  for (let at = first; at < end; at += 1) {
    const text = json.subarray(bounds[2 * at], bounds[2 * at + 1]);
    texts.push(text);
    textBounds.push(length, (length += text.length));
  }
  return {
    rows: { source, lines: Uint32Array.from(copied, (each) => lines[each]!), cells: cells && {} },
    count: texts.length,
    row: copied.map((_, at) => at),
    json: Buffer.concat(texts),
    bounds: Int32Array.from(textBounds),
    rejects: [],
    parseErrors: [],
  };
}

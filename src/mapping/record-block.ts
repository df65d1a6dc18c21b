import { JsonWriter } from '../text/json-writer.js';
import { jsonToken } from '../text/json-parser.js';
import type { RowBlock, RowParseError } from '../input/row-block.js';
import type { KeyCells } from '../text/shard-finder.js';

/**
 * The records of one RowBlock as the JSON texts that the service takes; what travels from
 * mapping to bulk. Every row that was picked of `rows` is in here as a record or in `rejects`, never both.
 */
export interface RecordBlock {
  readonly rows: RowBlock;
  readonly count: number;
  /** Index in `rows` of record i. */
  readonly row: Int32Array;
  /**
   * UTF-8 JSON texts of the records: lent until the next block is read or mapped. It is
   * `rows.bytes` where all records are sent as they were read.
   */
  readonly json: Buffer;
  /** Record i is `json[bounds[2i], bounds[2i+1])`; those one byte apart can be copied together. */
  readonly bounds: Int32Array;
  /**
   * 31-bit hash of what must stay in order (identity or objectId; type and value): records
   * with the same hash are treated as having the same key.
   */
  readonly keys: Int32Array;
  /** 1 when sending record i twice ends in the same state as sending it once, else 0. */
  readonly idempotent: Uint8Array;
  /** 1 when record i is an event, else 0: events and profiles never share a request. */
  readonly kinds: Uint8Array;
  readonly rejects: readonly RejectedRow[];
  /** What of `rows` could not be read. */
  readonly faults: readonly RowParseError[];
  /** 1 for each record that need not be sent; undefined: none. */
  readonly unchanged?: Uint8Array;
  /** How many rows and faults other shards account for. */
  readonly elsewhere?: number;
}

/** A row that is no JSON (`parse`), breaks a local rule, or was left unknown by an earlier run. */
export interface RejectedRow {
  /** Index in `rows`. */
  readonly row: number;
  readonly stage: 'parse' | 'validate' | 'unknown';
  readonly error: string;
}

/** Where rows have the keys of the records that they become. */
export interface KeyPlaces {
  /** Of a CSV with this header. */
  readonly cells: (header: readonly string[]) => KeyCells;
  /**
   * Of a row that is a JSON object: the member that is the key of any record it may become, if it has
   * one and that is a string that is not empty.
   */
  readonly member: string | undefined;
}

/** Turns rows into records of one command. */
export interface Mapper {
  readonly keys: KeyPlaces;
  /**
   * Checks the header of a CSV before anything is sent.
   * Throws EngagectlError E-COLUMN-MISSING naming what is missing and what is there.
   */
  check(header: readonly string[], source: string): void;
  /** Things to be said of a header, though it can be used. */
  doubts?(header: readonly string[]): readonly string[];
  /** Columns that were named, and did not occur in any row so far. */
  unseen?(): readonly string[];
  /** All rows, or those with these indexes, which are in their order. */
  map(rows: RowBlock, picked?: Int32Array): RecordBlock;
}

/** Why a row cannot be sent. */
export type RejectReason = Pick<RejectedRow, 'stage' | 'error'>;

/** Of one row. */
type Write = (row: number) => RejectReason | undefined;

export const validationError = (error: string): RejectReason => ({ stage: 'validate', error });

/** Collects the records of one block after the other, their text in one buffer that is used again. */
export class RecordBuilder {
  readonly out: JsonWriter;
  /** Of the record being written; see RecordBlock. */
  key = 0;
  /** Whether the record has no operator such as $incr. Events are never idempotent, whatever this says. */
  idempotent = true;
  isEvent = false;
  #passedStart = 0;
  #passedEnd = 0;

  constructor(out = new JsonWriter()) {
    this.out = out;
  }

  /** Instead of writing it to `out`: the record is what was read, `bytes[start, end)` of the rows. */
  pass(start: number, end: number): void {
    this.#passedStart = start;
    this.#passedEnd = end;
  }

  /**
   * The block of `picked` rows, which `write` writes to `out`, one after the other, or passes, or says
   * why neither can be. What was written before is lost.
   */
  build(rows: RowBlock, write: Write, picked = allRows(rows)): RecordBlock {
    const block = blockOf(rows, picked.length);
    const { out } = this;
    out.length = 0;
    for (const row of picked) {
      const start = out.length;
      this.idempotent = true;
      this.isEvent = false;
      const fault = write(row);
      if (fault) {
        out.length = start;
        block.rejects.push({ row, ...fault });
        continue;
      }
      const isPassed = out.length === start;
      const at = block.count++;
      block.row[at] = row;
      block.bounds[2 * at] = isPassed ? ~this.#passedStart : start;
      block.bounds[2 * at + 1] = isPassed ? this.#passedEnd : out.length;
      block.keys[at] = this.key;
      block.idempotent[at] = this.idempotent && !this.isEvent ? 1 : 0;
      block.kinds[at] = this.isEvent ? 1 : 0;
      if (!isPassed) out.byte(jsonToken.comma); // neighbours can be copied into a request together
    }
    return { ...block, json: this.#joined(rows.bytes, block.bounds.subarray(0, 2 * block.count)) };
  }

  /**
   * One buffer for all records: what was read if it has them all, else `out`. A negative start is
   * ~start of one that was passed.
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

/** A block without records, with room for so many; see RecordBlock. */
function blockOf(rows: RowBlock, count: number) {
  return {
    rows,
    count: 0,
    row: new Int32Array(count),
    bounds: new Int32Array(2 * count),
    keys: new Int32Array(count),
    idempotent: new Uint8Array(count),
    kinds: new Uint8Array(count),
    rejects: [] as RejectedRow[],
    faults: rows.faults,
  };
}

let indexes = new Int32Array(0);

/** The indexes of all rows of a block. */
export function allRows({ count }: RowBlock): Int32Array {
  if (indexes.length < count) indexes = Int32Array.from({ length: 2 * count }, (_, row) => row);
  return indexes.subarray(0, count);
}

/** The block with those of its records that are wanted, in their order. */
export function filterRecords(
  block: RecordBlock,
  isWanted: (record: number) => boolean,
): RecordBlock {
  const indexes: number[] = [];
  for (let index = 0; index < block.count; index++) if (isWanted(index)) indexes.push(index);
  if (indexes.length === block.count) return block;
  return {
    ...block,
    count: indexes.length,
    row: Int32Array.from(indexes, (index) => block.row[index]!),
    bounds: Int32Array.from({ length: 2 * indexes.length }, (_, at) => {
      return block.bounds[2 * indexes[at >> 1]! + (at & 1)]!;
    }),
    keys: Int32Array.from(indexes, (index) => block.keys[index]!),
    idempotent: Uint8Array.from(indexes, (index) => block.idempotent[index]!),
    kinds: Uint8Array.from(indexes, (index) => block.kinds[index]!),
  };
}

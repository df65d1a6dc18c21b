import type { RowBlock, RowFault } from '../input/row-block.js';
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
  readonly converges: Uint8Array;
  /** 1 when record i is an event, else 0: events and profiles never share a request. */
  readonly kinds: Uint8Array;
  readonly rejects: readonly RecordReject[];
  /** What of `rows` could not be read. */
  readonly faults: readonly RowFault[];
  /** 1 for each record that need not be sent; undefined: none. */
  readonly unchanged?: Uint8Array;
  /** How many rows and faults other shards account for. */
  readonly elsewhere?: number;
}

/** A row that is no JSON (`parse`), breaks a local rule, or was left unknown by an earlier run. */
export interface RecordReject {
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

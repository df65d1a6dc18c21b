import { isUserKey, keyOfRecord } from '../text/record-hash.js';
import { ShardFinder, UNKNOWN_SHARD } from '../text/shard-finder.js';
import { filterRecords, type KeyLocation, type Mapper, type RecordBlock } from './record-block.js';
import type { RowBlock } from '../input/row-block.js';

/**
 * Wraps a mapper to map only rows whose key belongs to the shard. If the key can only be determined from
 * the record, the row is mapped first. Rows without a key, because they are unreadable or invalid, belong to
 * the first shard.
 */
export function shardedMapper(mapper: Mapper, { index: ours, count }: Shard): Mapper {
  const finder = new ShardFinder(count);
  const isFirst = ours === 1;

  const map = (rows: RowBlock): RecordBlock => {
    const shards = shardsOf(rows, mapper.keys, finder);
    const mapped = mapper.map(rows, rowsOf(shards, ours));
    const block = filterRecords(mapped, (record) => {
      return (shards[mapped.row[record]!] || finder.ofKey(keyAt(mapped, record))) === ours;
    });
    const parseErrors = isFirst ? rows.parseErrors : [];
    const rejects = block.rejects.filter(({ row }) => isFirst || shards[row] === ours);
    const accounted = block.count + parseErrors.length + rejects.length;
    return {
      ...block,
      parseErrors,
      rejects,
      elsewhere: rows.count + rows.parseErrors.length - accounted,
    };
  };
  return { ...mapper, map };
}

/** Returns the bytes of a record's key (contract §9); for an address: type, NUL, value. */
function keyAt({ json, bounds }: RecordBlock, record: number): Buffer {
  const read = keyOfRecord(json.toString('utf8', bounds[2 * record], bounds[2 * record + 1]));
  return Buffer.from(isUserKey(read) ? read.key : `${read.space}\0${read.key}`);
}

/** Returns the rows that are or may be in the shard. */
function rowsOf(shards: Int32Array, ours: number): Int32Array {
  const rows = new Int32Array(shards.length);
  let count = 0;
  for (let row = 0; row < shards.length; row += 1) {
    if (shards[row] === ours || shards[row] === UNKNOWN_SHARD) rows[count++] = row;
  }
  return rows.subarray(0, count);
}

/** Returns the shard of each row, as a copy because the finder reuses its memory. */
function shardsOf(
  { bytes, count, bounds, cells, cleaning }: RowBlock,
  { cells: keyCells, member }: KeyLocation,
  finder: ShardFinder,
): Int32Array {
  const key = cells && keyCells(cells.header);
  if (cells && key) return finder.ofCells(bytes, count, cells, key).slice();
  if (!cells && member !== undefined && !cleaning)
    return finder.ofTexts(bytes, count, bounds, member).slice();
  return new Int32Array(count); // all unknown
}

/** One of several processes that share the records of an input. */
export interface Shard {
  /** Number of the shard, starting at 1. */
  readonly index: number;
  readonly count: number;
}

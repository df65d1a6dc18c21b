import { isUserKey, keyOfRecord } from '../text/record-hash.js';
import { ShardFinder, UNKNOWN_SHARD } from '../text/shard-finder.js';
import { filterRecords, type KeyPlaces, type Mapper, type RecordBlock } from './record-block.js';
import type { RowBlock } from '../input/row-block.js';

/**
 * Maps the rows whose key falls to the shard, and no others. Where only the record tells the key, the
 * row is mapped, too. What has no key, since it could not be read or breaks a local rule there, falls to
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
    const faults = isFirst ? rows.faults : [];
    const rejects = block.rejects.filter(({ row }) => isFirst || shards[row] === ours);
    const accounted = block.count + faults.length + rejects.length;
    return { ...block, faults, rejects, elsewhere: rows.count + rows.faults.length - accounted };
  };
  return { ...mapper, map };
}

/** The bytes of a record's key (contract §9); of an address type, NUL, value. */
function keyAt({ json, bounds }: RecordBlock, record: number): Buffer {
  const read = keyOfRecord(json.toString('utf8', bounds[2 * record], bounds[2 * record + 1]));
  return Buffer.from(isUserKey(read) ? read.key : `${read.space}\0${read.key}`);
}

/** Those that are in the shard, or may be. */
function rowsOf(shards: Int32Array, ours: number): Int32Array {
  const rows = new Int32Array(shards.length);
  let count = 0;
  for (let row = 0; row < shards.length; row += 1) {
    if (shards[row] === ours || shards[row] === UNKNOWN_SHARD) rows[count++] = row;
  }
  return rows.subarray(0, count);
}

/** Of each row; a copy, since keys are looked for in the same memory. */
function shardsOf(
  { bytes, count, bounds, cells }: RowBlock,
  { cells: keyCells, member }: KeyPlaces,
  finder: ShardFinder,
): Int32Array {
  if (cells) return finder.ofCells(bytes, count, cells, keyCells(cells.header)).slice();
  if (member !== undefined) return finder.ofTexts(bytes, count, bounds, member).slice();
  return new Int32Array(count); // of none it is known
}

/** One of several processes that share the records of an input. */
export interface Shard {
  /** From 1 on. */
  readonly index: number;
  readonly count: number;
}

import type { RowBlock } from '../input/rows.js';
import { pickedRecords } from './picked-records.js';
import { RecordKeys } from './record-key.js';
import type { Mapper, RecordBlock } from './records.js';
import { KeyHash, type Shard } from './shard.js';

/**
 * Keeps the records whose key falls to the shard. What has no key to send it by, since it could not
 * be read or breaks a local rule, falls to the first one.
 */
export function shardedMapper(mapper: Mapper, shard: Shard): Mapper {
  const keys = new RecordKeys();
  const hash = new KeyHash();
  const isFirst = shard.index === 1;

  const picked = (block: RecordBlock): number[] => {
    const indexes: number[] = [];
    for (let index = 0; index < block.count; index++) {
      if (keys.hash(block, index, hash).shardOf(shard.count) === shard.index) indexes.push(index);
    }
    return indexes;
  };

  const map = (rows: RowBlock): RecordBlock => {
    const block = mapper.map(rows);
    const indexes = picked(block);
    const faults = isFirst ? block.faults : [];
    const rejects = isFirst ? block.rejects : [];
    const ours = indexes.length + faults.length + rejects.length;
    return {
      ...pickedRecords(block, indexes),
      rejects,
      faults,
      elsewhere: rows.count + rows.faults.length - ours,
    };
  };
  return { ...mapper, map };
}

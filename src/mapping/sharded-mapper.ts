import type { RowBlock } from '../input/rows.js';
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
      ...block,
      count: indexes.length,
      row: Int32Array.from(indexes, (index) => block.row[index]!),
      bounds: Int32Array.from({ length: 2 * indexes.length }, (_, at) => {
        return block.bounds[2 * indexes[at >> 1]! + (at & 1)]!;
      }),
      keys: Int32Array.from(indexes, (index) => block.keys[index]!),
      converges: Uint8Array.from(indexes, (index) => block.converges[index]!),
      kinds: Uint8Array.from(indexes, (index) => block.kinds[index]!),
      rejects,
      faults,
      elsewhere: rows.count + rows.faults.length - ours,
    };
  };
  return { ...mapper, map };
}

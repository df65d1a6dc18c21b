import { parseFileName } from '../contract/file-formats.js';
import path from 'node:path';
import { EngagectlError } from '../errors.js';
import { writeEndpoints, type WriteEndpoint } from '../contract/endpoints.js';
import type { Shard } from '../mapping/sharding.js';
import type { Wording, JobContext } from './job-context.js';

/** Of a shard in file names: `2-of-8`. */
export const shardName = ({ index, count }: Shard): string => `${index}-of-${count}`;

/** As a person types it: `2/8`. */
export const formatShard = ({ index, count }: Shard): string => `${index}/${count}`;

/** Of `2/8`, how many there are: those of another number, or none, hold some of the same records. */
export const shardCount = (shard: string | undefined): string | undefined => shard?.split('/')[1];

/** A file's name with the shard's before its extension: `users.2-of-8.ndjson.gz`. */
export function shardPath(file: string, shard: Shard | undefined): string {
  if (!shard) return file;
  const base = path.basename(file);
  const { stem: named } = parseFileName(base);
  const stem = named.replace(/(?<=.)\.rejects$/i, '');
  const folder = file.slice(0, file.length - base.length);
  return `${folder}${stem}.${shardName(shard)}${base.slice(stem.length)}`;
}

/**
 * A shard's part of the requests that an account may have in flight. Throws E-USAGE for more shards
 * than there are requests, and for one that is none of them.
 */
export function shardConcurrency(
  shard: Shard | undefined,
  budget: number,
  { option }: Wording,
): number {
  if (!shard) return budget;
  const { index, count } = shard;
  if (!(Number.isInteger(index) && Number.isInteger(count) && index >= 1 && index <= count)) {
    throw new EngagectlError('E-USAGE', `${option('shard', formatShard(shard))} is none`, {
      fix: `${option('shard', '1/8')} is the first of eight`,
    });
  }
  if (count <= budget) return Math.floor(budget / count);
  throw new EngagectlError('E-USAGE', `${count} shards share ${budget} requests in flight`, {
    why: 'the account may have no more, and each shard needs one',
    fix: `take at most ${budget} shards`,
  });
}

/** Most requests that a write has in flight; `concurrency` is that of all shards. Throws E-USAGE. */
export function writeConcurrency(
  name: WriteEndpoint,
  { concurrency, shard }: { readonly concurrency?: number; readonly shard?: Shard | undefined },
  { ports, words }: Pick<JobContext, 'ports' | 'words'>,
): number {
  const { inFlight, mostInFlight } = writeEndpoints[name];
  return ports?.budget
    ? 1
    : shardConcurrency(shard, concurrency ?? (shard ? mostInFlight : inFlight), words);
}

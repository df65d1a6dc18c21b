import { parseFileName } from '../contract/file-formats.js';
import path from 'node:path';
import { EngagectlError } from '../errors.js';
import { AimdLimiter, type ConcurrencyLimiter } from '../bulk/adaptive-concurrency.js';
import { writeEndpoints, type WriteEndpoint } from '../contract/endpoints.js';
import type { Shard, WriteOptions } from './job-options.js';
import type { Wording, JobContext } from './job-context.js';

/** Formats a shard for file names: `2-of-8`. */
export const shardName = ({ index, count }: Shard): string => `${index}-of-${count}`;

/** Formats a shard as on the command line: `2/8`. */
export const formatShard = ({ index, count }: Shard): string => `${index}/${count}`;

/**
 * Returns the number of shards in `2/8`. Shards of different counts, and an undivided input,
 * overlap.
 */
export const shardCount = (shard: string | undefined): string | undefined => shard?.split('/')[1];

/** Inserts the shard before the extension of a file name: `users.2-of-8.ndjson.gz`. */
export function shardPath(file: string, shard: Shard | undefined): string {
  if (!shard) return file;
  const base = path.basename(file);
  const { stem: named } = parseFileName(base);
  const stem = named.replace(/(?<=.)\.rejects$/i, '');
  const folder = file.slice(0, file.length - base.length);
  return `${folder}${stem}.${shardName(shard)}${base.slice(stem.length)}`;
}

/**
 * Returns a shard's part of the concurrency limit of the account. Throws E-USAGE for an invalid
 * shard, and for more shards than requests in flight.
 */
export function shardConcurrency(
  shard: Shard | undefined,
  mostInFlight: number,
  { option }: Wording,
): number {
  if (!shard) return mostInFlight;
  const { index, count } = shard;
  if (!(Number.isInteger(index) && Number.isInteger(count) && index >= 1 && index <= count)) {
    throw new EngagectlError(
      'E-USAGE',
      `${option('shard', formatShard(shard))} is not a valid shard`,
      {
        fix: `use ${option('shard', '1/8')} for the first of eight`,
      },
    );
  }
  if (count <= mostInFlight) return Math.floor(mostInFlight / count);
  throw new EngagectlError('E-USAGE', `${count} shards share ${mostInFlight} requests in flight`, {
    why: 'each shard needs at least one request of the concurrency limit',
    fix: `use at most ${mostInFlight} shards`,
  });
}

/**
 * Creates the concurrency limiter of a write; `concurrency` is that of all shards together. With
 * `auto` it grows up to the limit of the account. Throws E-USAGE.
 */
export function writeLimiter(
  name: WriteEndpoint,
  { concurrency = 'auto', shard }: Pick<WriteOptions, 'concurrency' | 'shard'>,
  { ports, words }: Pick<JobContext, 'ports' | 'words'>,
): ConcurrencyLimiter {
  if (ports?.limiter) return ports.limiter();
  const { inFlight, mostInFlight } = writeEndpoints[name];
  const isFixed = concurrency !== 'auto';
  const most = shardConcurrency(shard, isFixed ? concurrency : mostInFlight, words);
  return new AimdLimiter(most, isFixed || shard ? most : inFlight);
}

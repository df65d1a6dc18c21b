import { expect, it } from 'vitest';
import { AimdLimiter } from '../../src/bulk/adaptive-concurrency.js';
import { unnamedOption } from '../../src/errors.js';
import { shardPath, shardConcurrency, writeLimiter } from '../../src/jobs/shard.js';

// How the requests that an account may have in flight are divided among shards.

const words = { option: unnamedOption } as Parameters<typeof shardConcurrency>[2];

it('divides the concurrency limit among the shards, rounded down', () => {
  for (let inFlight = 1; inFlight <= 15; inFlight += 1) {
    for (let count = 1; count <= inFlight; count += 1) {
      const slots = Array.from({ length: count }, (_, n) =>
        shardConcurrency({ index: n + 1, count }, inFlight, words),
      );
      const total = slots.reduce((sum, each) => sum + each, 0);
      expect(new Set(slots).size, `${count} shards of ${inFlight}`).toBe(1);
      expect(total).toBeLessThanOrEqual(inFlight);
      expect(inFlight - total).toBeLessThan(count);
    }
  }
});

it.each([
  ['upload', { shard: { index: 1, count: 2 } }, 7, 7],
  ['upload', { shard: { index: 2, count: 4 }, concurrency: 11 }, 2, 2],
  ['upload', { concurrency: 5 }, 5, 5],
  ['upload', {}, 8, 15],
  ['upload', { concurrency: 'auto' }, 8, 15],
  ['demerge', {}, 1, 3],
  ['demerge', { shard: { index: 2, count: 2 } }, 1, 1],
] as const)(
  '%s with %o starts with %i requests in flight, of at most %i',
  (name, request, start, most) => {
    expect(writeLimiter(name, request, { words })).toMatchObject({ limit: start, most });
  },
);

it('gives a shard of a fleet one request in flight, however many shards there are', () => {
  const ports = { limiter: () => new AimdLimiter(1) };
  const shard = { index: 1, count: 40 };
  expect(writeLimiter('upload', { shard, concurrency: 15 }, { ports, words }).most).toBe(1);
});

it.each([
  ['users.ndjson', 'users.2-of-8.ndjson'],
  ['out/users.csv.gz', 'out/users.2-of-8.csv.gz'],
  ['/data/a.b/users.csv.rejects.ndjson', '/data/a.b/users.csv.2-of-8.rejects.ndjson'],
  ['users', 'users.2-of-8'],
])('puts the shard of %s before its extension: %s', (file, expected) => {
  expect(shardPath(file, { index: 2, count: 8 })).toBe(expected);
  expect(shardPath(file, undefined)).toBe(file);
});

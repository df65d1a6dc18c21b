import { expect, it } from 'vitest';
import { Gate } from '../../src/bulk/adaptive-concurrency.js';
import { plainOption } from '../../src/errors.js';
import { slotsOf, writeSlots } from '../../src/jobs/shard.js';

// How the requests that an account may have in flight are divided among shards.

const words = { option: plainOption } as Parameters<typeof slotsOf>[2];

it('gives each shard as many requests in flight as all shards together may have, rounded down', () => {
  for (let budget = 1; budget <= 15; budget += 1) {
    for (let count = 1; count <= budget; count += 1) {
      const slots = Array.from({ length: count }, (_, n) =>
        slotsOf({ index: n + 1, count }, budget, words),
      );
      const total = slots.reduce((sum, each) => sum + each, 0);
      expect(new Set(slots).size, `${count} shards of ${budget}`).toBe(1);
      expect(total).toBeLessThanOrEqual(budget);
      expect(budget - total).toBeLessThan(count);
    }
  }
});

it.each([
  ['upload', { shard: { index: 1, count: 2 } }, 7],
  ['upload', { shard: { index: 2, count: 4 }, concurrency: 11 }, 2],
  ['upload', { concurrency: 5 }, 5],
  ['upload', {}, 8],
  ['demerge', { shard: { index: 2, count: 2 } }, 1],
] as const)('%s with %o has %i requests in flight', (name, request, expected) => {
  expect(writeSlots(name, request, { words })).toBe(expected);
});

it('gives a shard of a fleet one request in flight, however many there are', () => {
  const ports = { budget: () => new Gate(1) };
  const shard = { index: 1, count: 40 };
  expect(writeSlots('upload', { shard, concurrency: 15 }, { ports, words })).toBe(1);
});

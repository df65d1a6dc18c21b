import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { AimdLimiter } from '../../src/bulk/adaptive-concurrency.js';

it('admits as many callers as there are slots, the others in turn', async () => {
  const gate = new AimdLimiter(2);
  const inside: number[] = [];
  for (const n of [1, 2, 3, 4]) void gate.acquire().then(() => inside.push(n));
  await turn();
  expect([inside, gate.inFlight]).toEqual([[1, 2], 2]);
  gate.release();
  await turn();
  expect(inside).toEqual([1, 2, 3]);
  gate.release();
  gate.release();
  await turn();
  expect([inside, gate.inFlight]).toEqual([[1, 2, 3, 4], 1]);
});

it('cuts the limit once per burst, and raises it with successes', async () => {
  const gate = new AimdLimiter(10);
  const tickets = await Promise.all([gate.acquire(), gate.acquire()]);
  for (const ticket of tickets) gate.throttled(ticket);
  expect(gate.limit).toBe(7);
  gate.throttled(await gate.acquire());
  expect(gate.limit).toBe(4);
  for (let n = 0; n < 100; n += 1) gate.succeeded();
  expect(gate.limit).toBe(10);
});

it('grows quickly from its start until the first 429, and slowly after it', async () => {
  const limiter = new AimdLimiter(15, 8);
  expect(limiter.limit).toBe(8);
  for (let n = 0; n < 20; n += 1) limiter.succeeded();
  expect(limiter.limit).toBe(15);
  limiter.throttled(await limiter.acquire());
  expect(limiter.limit).toBe(10);
  for (let n = 0; n < 20; n += 1) limiter.succeeded();
  expect(limiter.limit).toBe(12);
});

import { expect, it } from 'vitest';
import { seeds } from '../random.js';
import { firstFailure } from './run-schedules.js';

it('gives each record one outcome, under any schedule of owners, leases and power cuts', async () => {
  expect(await firstFailure(seeds(60))).toBeUndefined();
}, 120_000);

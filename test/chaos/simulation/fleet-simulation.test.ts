import { expect, it } from 'vitest';
import { seeds } from '../random.js';
import { mutations } from './simulated-fleet.js';
import { firstFailure } from './run-schedules.js';

it('gives each record one outcome, under any schedule of owners, leases and power cuts', async () => {
  expect(await firstFailure(seeds(2000))).toBeUndefined();
}, 120_000);

it.each(mutations)(
  'finds the planted defect %s within 2,000 schedules',
  async (mutation) => {
    expect(await firstFailure(seeds(2000), [mutation])).toMatch(/^seed \d+: /);
  },
  120_000,
);

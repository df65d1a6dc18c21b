import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { makeWorld } from '../support/test-environment.js';
import { mostBytes, runMeasured } from './peak-memory.js';

it.runIf(process.platform === 'linux')(
  'writes rejects with many columns before they fill the memory',
  async () => {
    const world = makeWorld();
    const columns = Array.from({ length: 2000 }, (_, n) => `column_${n}_${'x'.repeat(40)}`);
    writeFileSync(world.path('in.csv'), `identity,${columns.join(',')}\n${'a\n'.repeat(1200)}`);
    const { code, peak } = await runMeasured(world, ['upload', '--check', 'in.csv']);
    expect(code).toBe(3);
    expect(readFileSync(world.path('in.csv.rejects.ndjson')).length).toBeGreaterThan(1e8);
    expect(peak).toBeLessThan(mostBytes);
  },
);

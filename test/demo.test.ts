import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeWorld } from './support/world.js';

const demo = fileURLToPath(new URL('../bin/demo.js', import.meta.url));

it('the demo does what it plans, twice', { timeout: 300_000 }, () => {
  const folder = makeWorld().path('demo-output');
  for (let run = 0; run < 2; run += 1) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [demo, folder], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    expect(stdout).toContain('did what was planned');
    expect(status).toBe(0);
  }
  expect(readdirSync(folder).sort()).toEqual([
    '.state',
    'buyers.csv',
    'buyers.ndjson',
    'charged.csv',
    'events.ndjson.gz',
    'profiles.rejects.ndjson',
  ]);
});

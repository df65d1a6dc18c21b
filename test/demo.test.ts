import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { makeWorld } from './support/world.js';

const demo = fileURLToPath(new URL('../bin/demo.mjs', import.meta.url));
const runDemo = (folder: string) =>
  spawnSync(process.execPath, [demo, folder], { encoding: 'utf8' });

it('the demo does what it plans, in place of an earlier one', { timeout: 300_000 }, () => {
  const world = makeWorld();
  const folder = world.path('demo-output');
  mkdirSync(folder);
  for (const name of ['.demo', 'buyers.ndjson']) writeFileSync(world.path('demo-output', name), '');

  const { status, stdout, stderr } = runDemo(folder);
  expect(stderr).toBe('');
  expect(stdout).toContain('did what was planned');
  expect(status).toBe(0);
  expect(readdirSync(folder).sort()).toEqual([
    '.demo',
    '.state',
    'buyers.csv',
    'buyers.ndjson',
    'charged.csv',
    'events.ndjson.gz',
    'profiles.rejects.ndjson',
  ]);
});

it('the demo leaves a folder alone that it did not make', () => {
  const world = makeWorld();
  writeFileSync(world.path('letter.txt'), '');
  expect(runDemo(world.cwd).status).toBe(1);
  expect(existsSync(world.path('letter.txt'))).toBe(true);
});

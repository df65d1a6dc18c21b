import { readdirSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { mergeRejects } from '../../src/jobs/rejects.js';
import { makeWorld } from '../support/test-environment.js';

it('keeps less than 40 bytes for each of very many rejects', async () => {
  const world = makeWorld();
  const lines = 300_000;
  const files = ['in.csv', 'in.ndjson'].map((source) => {
    const file = world.path(`rejects of ${source}`);
    writeFileSync(file, `{"source":"${source}","line":7}\n`.repeat(lines / 2));
    return { file, lines: lines / 2 };
  });
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const held = () => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  for (let round = 0; round < 5; round += 1) {
    collectGarbage(); // what other tests left is collected in more than one round
    await new Promise(setImmediate);
  }
  const before = held();
  let during: number | undefined;
  const turn = () => {
    if (!readdirSync(world.cwd).some((name) => name.startsWith('.engagectl-'))) setImmediate(turn);
    else during = held();
  };
  turn();
  const target = world.path('all.ndjson');
  await mergeRejects(files, ['in.csv', 'in.ndjson'], target, world.runtime());
  expect(during).toBeDefined();
  expect(during! - before).toBeLessThan(40 * lines);
});

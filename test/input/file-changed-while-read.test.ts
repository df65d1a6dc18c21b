import { appendFileSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve, written } from '../support/serve.js';

// A file that another program writes to while it is read.

const count = 10_000;
const users = Array.from({ length: count }, (_, n) => `u${n},${'x'.repeat(400)}\n`).join('');
const argv = ['upload', 'users.csv', '--json', '--chunk-size', '100', '--concurrency', '1'];

/** Uploads the file; `change` is made when the first request is there. */
async function uploadWhile(change: (file: string) => void) {
  const { service, world } = await serve({
    onRequest: ({ id }) => {
      if (id === 1) change(file);
    },
  });
  const file = world.path('users.csv');
  writeFileSync(file, `identity,Note\n${users}`);
  const outcome = await world.run(argv);
  const sent = written(service).flat().length;
  return { ...outcome, sent, summary: JSON.parse(outcome.stdout) as Record<string, number> };
}

it('exits 9 for a file truncated while it is read, after sending its complete records', async () => {
  const { code, stderr, sent, summary } = await uploadWhile((file) => truncateSync(file));
  expect([code, summary['exitCode']]).toEqual([9, 9]);
  expect(stderr).toContain('users.csv became shorter while it was read');
  expect([summary['accepted'], summary['rejected']]).toEqual([sent, 0]);
  expect(sent).toBeGreaterThan(0);
  expect(sent).toBeLessThan(count);
});

it('reads a file that grows to its new end', async () => {
  const { code, sent } = await uploadWhile((file) => appendFileSync(file, 'late,comer\n'));
  expect([code, sent]).toEqual([0, count + 1]);
});

it.each([
  ['with a row inserted at its start', `identity,Note\nfirst,y\n${users}`],
  ['with other text of the same length', `identity,Note\n${users.replaceAll('x', 'y')}`],
])('exits 9 for a file rewritten %s, before a record is cut', async (_, text) => {
  const { code, stderr, sent, summary } = await uploadWhile((file) => writeFileSync(file, text));
  expect([code, summary['exitCode']]).toEqual([9, 9]);
  expect(stderr).toContain('users.csv was rewritten while it was read');
  expect([summary['accepted'], summary['rejected']]).toEqual([sent, 0]);
  expect(sent).toBeLessThan(count);
});

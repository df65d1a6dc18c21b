import { expect, it } from 'vitest';
import { fleetTable, type FleetSnapshot } from '../../src/commands/fleet/status.js';
import { makeWorld } from '../support/test-environment.js';

/** So many shards, of which one has failed for a long reason. */
const picture = (shards: number): FleetSnapshot => ({
  run: '0123456789ab',
  command: 'export-events',
  state: 'running',
  shards,
  counts: { waiting: 0, running: shards - 1, done: 0, failed: 1, cancelled: 0, missing: 0 },
  workers: 12,
  budget: 15,
  parts: Array.from({ length: shards }, (_, at) => ({
    shard: at + 1,
    state: at === 7 ? 'failed' : 'running',
    worker: 'machine-with-a-name-1234',
    records: 1_000_000,
    rejected: 0,
    share: 0.5,
    seconds: null,
    exitCode: null,
    error: at === 7 ? `E-CREDENTIALS: ${'no '.repeat(40)}` : null,
  })),
});

it('redraws the table in place on a terminal smaller than the table', () => {
  const runtime = makeWorld().runtime({ tty: true, columns: 60 });
  Object.assign(runtime.stdout, { rows: 12 });
  const screen = fleetTable({}, runtime);
  for (const shards of [3, 40, 9]) screen.draw(picture(shards));
  // oxlint-disable-next-line no-control-regex -- how it is drawn over
  const [first = '', ...rest] = runtime.output().stdout.split(/\u001B\[(\d+)A\u001B\[J/);
  const ups = rest.filter((_, at) => at % 2 === 0).map(Number);
  const frames = [first, ...rest.filter((_, at) => at % 2 === 1)].map((frame) => frame.split('\n'));
  expect(frames.map((lines) => lines.length - 1)).toEqual([...ups, 11]);
  expect(Math.max(...frames.flat().map((line) => line.length))).toBe(60);
  expect(Math.max(...frames.map((lines) => lines.length))).toBe(12);
  for (const lines of frames.slice(1)) expect(lines.join('\n')).toMatch(/^8\/\d+ +failed/m);
  expect(frames[1]).toContain('and 33 more');
});

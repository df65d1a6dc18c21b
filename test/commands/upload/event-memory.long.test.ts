import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { EventLog, eventState } from '../../../src/bulk/event-memory/event-log.js';
import { lockRun } from '../../../src/files/file-lock.js';
import { lines, numbers, stage } from './event-memory.js';

// The event memory of an account in which much was sent.

it('has room for 130,000 runs, and forgets the old ones without being pruned', async () => {
  const { runAt, write, world } = await stage();
  write('e.ndjson', lines(1));
  expect((await runAt('2026-04-01', 'upload', 'e.ndjson')).code).toBe(0);
  const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
  const table = path.join(world.stateDir, 'events', account, 'runs.ndjson');
  const text = readFileSync(table, 'utf8').split('\n').filter(Boolean);
  const { checksum: _, ...first } = JSON.parse(text[1]!) as Record<string, unknown>;
  const lineOf = (line: object) => {
    const json = JSON.stringify(line);
    const sum = crc32(json).toString(16).padStart(8, '0');
    return `${json.slice(0, -1)},"checksum":"${sum}"}\n`;
  };
  const more = Array.from({ length: 130_000 }, (_unused, n) => {
    const number = n + 2;
    const run = { ...first, number, run: `r${n}`, started: '2025-06-01T00:00:00.000Z' };
    return lineOf(run) + lineOf({ number, ended: true });
  });
  writeFileSync(table, `${text.join('\n')}\n${more.join('')}`);
  expect((await runAt('2026-04-02', 'upload', 'e.ndjson')).code).toBe(8);
  expect(readFileSync(table, 'utf8').length).toBeLessThan(1000);
});

it('knows each copy in a long log while another process works on the account', async () => {
  const { run, service, stored, write, world } = await stage();
  write('some.ndjson', lines(1).repeat(300) + lines(2));
  await run(['upload', 'some.ndjson']);
  write('stopped.ndjson', lines(...numbers(20, 100)));
  await service.fault({ after: 1, times: 1, answer: { status: 401 } });
  const inBatches = ['--chunk-size', '10', '--concurrency', '1'];
  expect((await run(['upload', 'stopped.ndjson', ...inBatches])).code).toBe(4);
  const [account = ''] = readdirSync(path.join(world.stateDir, 'events'));
  const folder = path.join(world.stateDir, 'events', account);
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  const others = new Int32Array(2000);
  for (let n = 0; n < 300; n += 1) {
    for (let at = 0; at < others.length; at += 1) others[at] = Math.imul(n * 2000 + at, 2654435761);
    for (const state of [eventState.intended, eventState.sent]) log.append(state, 1, others);
  }
  log.close();
  const names = readdirSync(folder);
  const live = await lockRun(path.join(folder, '.live-99.lock'));
  write('more.ndjson', lines(1).repeat(500) + lines(2, 3, 100));
  for (const [accepted, alreadySent] of [
    [201, 302],
    [0, 503],
  ]) {
    const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
    expect([code, summary]).toMatchObject([0, { accepted, alreadySent }]);
  }
  live.release();
  expect(readdirSync(folder)).toEqual(names);
  expect(stored()).toHaveLength(301 + 10 + 201);
  write('more.ndjson', lines(1).repeat(501) + lines(2, 3, 100));
  const { summary } = await run(['upload', 'more.ndjson', '--resume']);
  expect(summary).toMatchObject({ accepted: 1, alreadySent: 503 });
});

it('finds each event in an archive of ten thousand', async () => {
  const { run, world, stored, write } = await stage();
  const all = numbers(10_000);
  write('all.ndjson', lines(...all));
  await run(['upload', 'all.ndjson']);
  await world.run(['runs', 'prune', '--yes']);
  write('more.ndjson', lines(...all.toReversed(), 10_000));
  const { code, summary } = await run(['upload', 'more.ndjson', '--resume']);
  expect([code, summary]).toMatchObject([0, { accepted: 1, alreadySent: 10_000 }]);
  expect(stored()).toEqual([...all, 10_000]);
});

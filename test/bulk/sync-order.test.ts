import fs, { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createJournal, Journal } from '../../src/bulk/journal/journal.js';
import { BaselineWriter } from '../../src/bulk/change-tracking/baseline-file.js';
import { appendLedger } from '../../src/jobs/run/sent-files-ledger.js';
import { serve } from '../support/serve.js';
import { makeWorld } from '../support/test-environment.js';

// In which order files are synced and renamed. What a power cut leaves of that is tried in test/chaos/,
// by the built program; this holds the same for a change that was not built.

const isLinux = process.platform === 'linux';

/** What is synced and renamed from now on, by the names of files. */
function watchDisk(): string[] {
  const calls: string[] = [];
  const { fsyncSync, renameSync } = fs;
  const change = (functions: Partial<typeof fs>): void => {
    Object.assign(fs, functions);
    syncBuiltinESMExports();
  };
  change({
    fsyncSync: (descriptor) => {
      calls.push(`sync ${path.basename(readlinkSync(`/proc/self/fd/${descriptor}`))}`);
      fsyncSync(descriptor);
    },
    renameSync: (from, to) => {
      calls.push(`rename ${path.basename(String(to))}`);
      renameSync(from, to);
    },
  });
  onTestFinished(() => change({ fsyncSync, renameSync }));
  return calls;
}

it.runIf(isLinux)('syncs a new journal before renaming it, then syncs the rename', () => {
  const world = makeWorld();
  const calls = watchDisk();
  createJournal(world.path('journal'));
  const { journal } = Journal.open(world.path('journal'), {});
  journal.close();
  const renamed = calls.indexOf('rename journal');
  expect(calls[renamed - 1]).toMatch(/^sync \.engagectl-\w+\.tmp$/);
  expect(calls.slice(renamed + 1)).toContain('sync work');
});

it.runIf(isLinux)('syncs a baseline before renaming it, then syncs the rename', () => {
  const world = makeWorld();
  const calls = watchDisk();
  const writer = new BaselineWriter(world.path('base'));
  writer.finish({ secret: [1, 2, 3, 4], owner: [3, 4] });
  writer.close();
  expect(calls).toEqual([
    expect.stringMatching(/^sync \.engagectl-\w+\.tmp$/),
    'rename base',
    'sync work',
  ]);
});

it.runIf(isLinux)('syncs a new log of events and each line about their run', async () => {
  const { world } = await serve({ accountId: 'ACC-1' });
  writeFileSync(
    world.path('e.ndjson'),
    '{"type":"event","identity":"u","ts":1700000000,"evtName":"E","evtData":{}}\n',
  );
  const calls = watchDisk();
  expect((await world.run(['upload', 'e.ndjson'])).code).toBe(0);
  const [folder = ''] = readdirSync(path.join(world.stateDir, 'events'));
  const isOfEvents = (call: string) => call.endsWith('runs.ndjson') || call.endsWith(folder);
  expect(calls.filter(isOfEvents)).toEqual([
    'rename runs.ndjson',
    `sync ${folder}`,
    `sync ${folder}`, // has the name of the log
    'sync runs.ndjson',
    'sync runs.ndjson',
  ]);
});

it.runIf(isLinux)(
  'syncs the names of new keys, and opens no file of them if there are none',
  async () => {
    const { world } = await serve();
    writeFileSync(world.path('u.csv'), 'identity,City\nann,Oslo\n');
    const calls = watchDisk();
    const upload = async () => world.run(['upload', 'u.csv', '--changed']);
    expect((await upload()).code).toBe(0);
    expect(calls).toContain('sync profile.names');
    calls.length = 0;
    const { code, stderr } = await upload();
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('not in the baseline')]);
    expect(calls).not.toContain('sync profile.names');
  },
);

it.runIf(isLinux)('syncs a line of the ledger, and at first its directory entry too', () => {
  const world = makeWorld();
  const calls = watchDisk();
  const line = { sources: [], run: 'r' } as unknown as Parameters<typeof appendLedger>[1];
  const append = () => appendLedger(world.path('runs'), line, { isDamaged: false });
  append();
  expect(calls.slice(-2)).toEqual(['sync ledger.ndjson', 'sync work']);
  calls.length = 0;
  append();
  expect(calls).toEqual(['sync ledger.ndjson']);
});

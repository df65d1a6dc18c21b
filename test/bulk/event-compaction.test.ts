import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EventArchive } from '../../src/bulk/event-memory/event-archive.js';
import { compact } from '../../src/bulk/event-memory/event-compaction.js';
import { EventLog, eventState } from '../../src/bulk/event-memory/event-log.js';

it.each([
  ['one after the other', 1],
  ['in turns with others', 3],
])('archives more than a million equal events as one entry with their number, %s', (_, kinds) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-compaction-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  const [batches, size] = [1200, 1002];
  const batch = new Int32Array(2 * size).map((_word, at) => 7 + ((at >> 1) % kinds));
  for (let n = 0; n < batches; n += 1) {
    log.append(eventState.intended, 1, batch);
    log.append(eventState.sent, 1, batch);
  }
  log.close();
  const runs = { first: 1, values: () => [], hasEnded: () => true };
  compact(folder, runs, { rememberMs: 1, now: () => 0, isPruning: true });
  const [name = ''] = readdirSync(folder);
  const archive = new EventArchive(path.join(folder, name));
  const found = [...archive.find(7, 7)];
  const { count } = archive;
  archive.close();
  expect(found).toMatchObject([{ run: 1, state: 0, copies: (batches * size) / kinds }]);
  expect(count).toBe(kinds);
});

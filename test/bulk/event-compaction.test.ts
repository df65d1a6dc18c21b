import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import {
  archivedState,
  ArchiveWriter,
  EventArchive,
} from '../../src/bulk/event-memory/event-archive.js';
import { makeWorld } from '../support/test-environment.js';
import { compact } from '../../src/bulk/event-memory/event-compaction.js';
import { EventLog, eventState } from '../../src/bulk/event-memory/event-log.js';

it.each([
  ['one after the other', 1],
  ['in turns with others', 3],
])(
  'archives more than a million equal events as one entry with their number, %s',
  async (_, kinds) => {
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
    await compact(folder, runs, { rememberMs: 1, now: () => 0, isPruning: true });
    const [name = ''] = readdirSync(folder);
    const archive = new EventArchive(path.join(folder, name));
    const found = [...archive.find(7, 7)];
    const { count } = archive;
    archive.close();
    expect(found).toMatchObject([{ run: 1, state: 0, copies: (batches * size) / kinds }]);
    expect(count).toBe(kinds);
  },
);

it('keeps the events of a killed run, and counts them as unknown once the run has ended', async () => {
  const folder = makeWorld().cwd;
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  log.append(eventState.intended, 1, Int32Array.of(7, 8));
  log.close();
  const found = async (hasEnded: boolean) => {
    const runs = { first: 1, values: () => [], hasEnded: () => hasEnded };
    await compact(folder, runs, { rememberMs: 1, now: () => 0, isPruning: true });
    const archive = new EventArchive(path.join(folder, 'sent-1-1.archive'));
    const copies = [...archive.find(7, 8)];
    archive.close();
    return copies;
  };
  expect(await found(false)).toMatchObject([{ run: 1, state: archivedState.intended, copies: 1 }]);
  expect(await found(true)).toMatchObject([{ run: 1, state: archivedState.unknown, copies: 1 }]);
});

it('finds every event of merged archives, and asks the file for few that are new', async () => {
  const world = makeWorld();
  const folder = world.cwd;
  const { random } = world.runtime();
  const count = 100_000;
  const word = () => Math.floor(random() * 2 ** 32) | 0;
  const sorted = () =>
    Array.from({ length: count }, () => [word(), word()] as const).toSorted(
      ([, a], [, b]) => (a >>> 0) - (b >>> 0),
    );
  const all = [sorted(), sorted()];
  for (const [index, events] of all.entries()) {
    const writer = new ArchiveWriter(
      path.join(folder, `sent-${index + 1}-${index + 1}.archive`),
      count,
    );
    for (const [low, high] of events) writer.add(Int32Array.of(low, high, index + 1, 4), 0);
    await writer.finish();
  }
  const runs = { first: 1, values: () => [], hasEnded: () => true };
  await compact(folder, runs, { rememberMs: 1, now: () => 0 });
  expect(readdirSync(folder)).toEqual(['sent-1-2.archive']);
  const archive = new EventArchive(path.join(folder, 'sent-1-2.archive'));
  onTestFinished(() => archive.close());
  expect(archive.count).toBe(2 * count);
  const candidatesOf = (words: Int32Array) => {
    const candidates = new Uint8Array(words.length / 2);
    archive.filter(words, candidates);
    return candidates.reduce((sum, one) => sum + one, 0);
  };
  expect(candidatesOf(Int32Array.from(all.flat(2)))).toBe(2 * count);
  expect(candidatesOf(new Int32Array(2 * count).map(word))).toBeLessThan(0.06 * count);
  for (const [index, events] of all.entries()) {
    for (const [low, high] of events.filter((_event, at) => at % 997 === 0)) {
      expect([...archive.find(low, high)]).toMatchObject([{ run: index + 1, copies: 1 }]);
    }
  }
});

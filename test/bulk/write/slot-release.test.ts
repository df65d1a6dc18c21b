import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { RunStop } from '../../../src/bulk/write/stop-conditions.js';
import { CommitBackpressure } from '../../../src/bulk/write/batch-sender.js';
import { EngagectlError } from '../../../src/errors.js';
import { deferred } from '../../support/builders/record-blocks.js';

/** Slots that are given back here, outcomes that are synced when they are told to. */
function stage({ canWrite = true, most = 2 } = {}) {
  const events: string[] = [];
  const commits: ReturnType<typeof deferred<void>>[] = [];
  const limiter = {
    most,
    release: () => void events.push('free'),
  };
  const log = {
    write: () => {
      events.push('write');
      return canWrite;
    },
    commit: async () => {
      events.push('commit');
      const commit = deferred();
      commits.push(commit);
      return commit.promise;
    },
  };
  const stop = new RunStop({ signal: new AbortController().signal, sleep: async () => undefined });
  const slots = new CommitBackpressure({ log: () => log, limiter, stop });
  return { slots, events, commits, stop };
}
const idempotent = { mayReleaseEarly: true };
const nonIdempotent = { mayReleaseEarly: false };

it('releases the slot of idempotent records when they are written, and resolves when they are synced', async () => {
  const { slots, events, commits } = stage();
  let synced = 0;
  for (let n = 0; n < 2; n += 1) void slots.release(idempotent).then(() => (synced += 1));
  expect(events).toEqual(['write', 'free', 'commit', 'write', 'free', 'commit']);
  await turn();
  expect(synced).toBe(0);
  for (const commit of commits) commit.resolve();
  await turn();
  expect(synced).toBe(2);
});

it('releases the slot of non-idempotent records only when they are synced', async () => {
  const { slots, events, commits } = stage();
  void slots.release(nonIdempotent);
  expect(events).toEqual(['write', 'commit']);
  commits[0]?.resolve();
  await turn();
  expect(events).toEqual(['write', 'commit', 'free']);
});

it('has at most twice the concurrency limit of written and unsynced requests', async () => {
  const { slots, events, commits } = stage({ most: 1 });
  for (let n = 0; n < 3; n += 1) void slots.release(idempotent);
  expect(events.filter((event) => event === 'free')).toHaveLength(2);
  for (const commit of commits) commit.resolve();
  await turn();
  expect(events.filter((event) => event === 'free')).toHaveLength(3);
});

it('accepts as many more when they are synced', async () => {
  const { slots, events, commits } = stage({ most: 1 });
  for (let n = 0; n < 2; n += 1) void slots.release(idempotent);
  for (const commit of commits) commit.resolve();
  await turn();
  for (let n = 0; n < 2; n += 1) void slots.release(idempotent);
  expect(events.filter((event) => event === 'free')).toHaveLength(4);
  for (const commit of commits) commit.resolve();
});

it('waits for the disk if outcomes cannot be written yet', () => {
  const { slots, events } = stage({ canWrite: false });
  void slots.release(idempotent);
  expect(events).toEqual(['write', 'commit']);
});

it('stops the run if a commit fails, before the slot is released', async () => {
  const { slots, events, commits, stop } = stage();
  void slots.release(nonIdempotent);
  commits[0]?.reject(new EngagectlError('E-FILE-WRITE', 'disk full'));
  await turn();
  expect([stop.error?.message, events]).toEqual(['disk full', ['write', 'commit', 'free']]);
});

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Halt } from '../../../src/bulk/write/halt.js';
import { SlotRelease } from '../../../src/bulk/write/slot-release.js';
import { EngagectlError } from '../../../src/errors.js';
import { deferred } from '../../support/record-blocks.js';

/** Slots that are given back here, outcomes that are synced when they are told to. */
function stage({ canWrite = true, most = 2 } = {}) {
  const events: string[] = [];
  const commits: ReturnType<typeof deferred<void>>[] = [];
  const budget = {
    most,
    isAsked: false,
    onFull: () => undefined as void,
    leave: (slots = 1) => void (slots > 0 && events.push(`${slots} free`)),
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
  const halt = new Halt({ signal: new AbortController().signal, sleep: async () => undefined });
  const slots = new SlotRelease({ log: () => log, budget, halt });
  return { slots, budget, events, commits, halt };
}
const converging = { mayLag: true };
const once = { mayLag: false };

it('writes nothing until somebody asks for a slot; then all at once', () => {
  const { slots, budget, events } = stage({ most: 3 });
  void slots.leave(converging);
  void slots.leave(converging);
  expect(events).toEqual([]);
  budget.onFull();
  expect(events).toEqual(['write', '2 free']);
});

it('commits once as many are written as may be in flight', async () => {
  const { slots, budget, events, commits } = stage();
  let synced = 0;
  for (let n = 0; n < 2; n += 1) void slots.leave(converging).then(() => (synced += 1));
  budget.onFull();
  expect(events).toEqual(['write', '2 free', 'commit']);
  await turn();
  expect(synced).toBe(0);
  commits[0]?.resolve();
  await turn();
  expect(synced).toBe(2);
});

it('frees the slot of records that must not be sent twice only when they are synced', async () => {
  const { slots, budget, events, commits } = stage();
  void slots.leave(once);
  budget.onFull();
  expect(events).toEqual(['write', 'commit']);
  commits[0]?.resolve();
  await turn();
  expect(events).toEqual(['write', 'commit', '1 free']);
});

it('has at most twice as many written and not synced as may be in flight', async () => {
  const { slots, budget, events, commits } = stage({ most: 1 });
  for (let n = 0; n < 3; n += 1) {
    void slots.leave(converging);
    budget.onFull();
  }
  expect(events.filter((event) => event === '1 free')).toHaveLength(2);
  for (const commit of commits) commit.resolve();
  await turn();
  expect(events.filter((event) => event === '1 free')).toHaveLength(3);
});

it('commits at once for who waits for what a sync gives back', async () => {
  const { slots, events, commits } = stage();
  const settled = deferred();
  void slots.leave(converging);
  void slots.hurry(settled.promise);
  expect(events).toEqual(['write', '1 free', 'commit']);
  void slots.leave(converging);
  expect(events.slice(3)).toEqual(['write', '1 free', 'commit']);
  for (const commit of commits) commit.resolve();
  settled.resolve();
  await turn();
  void slots.leave(converging);
  expect(events).toHaveLength(6);
});

it('waits for the disk where writing has to', () => {
  const { slots, budget, events } = stage({ canWrite: false });
  void slots.leave(converging);
  budget.onFull();
  expect(events).toEqual(['write', 'commit']);
});

it('a commit that fails stops the run before the slot is free', async () => {
  const { slots, budget, events, commits, halt } = stage();
  void slots.leave(once);
  budget.onFull();
  commits[0]?.reject(new EngagectlError('E-FILE-WRITE', 'disk full'));
  await turn();
  expect([halt.error?.message, events]).toEqual(['disk full', ['write', 'commit', '1 free']]);
});

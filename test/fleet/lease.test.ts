import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { unnamedOption } from '../../src/errors.js';
import { createJournal, Journal } from '../../src/bulk/journal/journal.js';
import { writeEntries, type WriteEntry } from '../../src/bulk/outcomes/journal-entries.js';
import { JournaledOutcomes } from '../../src/bulk/outcomes/outcome-log.js';
import { Lease, leasedOutcomes, LeasedConcurrency } from '../../src/fleet/lease.js';
import { RejectsFile } from '../../src/output/rejects-file.js';
import { jsonRows } from '../support/builders/row-blocks.js';
import { makeWorld } from '../support/test-environment.js';

// What a worker may still do with a shard while its lease runs out, by a clock that the test sets.

function leased(milliseconds: number) {
  const clock = { now: 5000 };
  return { clock, lease: new Lease(milliseconds, () => clock.now, clock.now) };
}

const locked = expect.objectContaining({ id: 'E-RUN-LOCKED' }) as Error;

it('holds a lease for 80 % of its time, to the millisecond', () => {
  const { clock, lease } = leased(1000);
  clock.now += 800;
  expect([lease.isHeld(), lease.lost.aborted]).toEqual([true, false]);
  expect(() => lease.assertHeld()).not.toThrow();
  clock.now += 1;
  expect(() => lease.assertHeld()).toThrow(locked);
  expect([lease.isHeld(), lease.lost.reason]).toEqual([false, locked]);
});

it('restarts the time of a lease when it is renewed', () => {
  const { clock, lease } = leased(1000);
  for (let renewals = 0; renewals < 5; renewals += 1) {
    clock.now += 800;
    lease.renew(clock.now);
  }
  clock.now += 800;
  expect(lease.isHeld()).toBe(true);
  clock.now += 1;
  expect(lease.isHeld()).toBe(false);
});

it('counts a lease and its renewals from when the queue was asked', () => {
  const clock = { now: 5000 };
  const lease = new Lease(1000, () => clock.now, 4500); // the answer came after 500 ms
  clock.now = 5300;
  expect(lease.isHeld()).toBe(true);
  lease.renew(5000); // this answer came after 300 ms
  clock.now = 5800;
  lease.renew(4900); // answers may overtake each other
  expect(lease.isHeld()).toBe(true);
  clock.now = 5801;
  expect(lease.isHeld()).toBe(false);

  const late = new Lease(1000, () => clock.now, 5000); // stopped after the queue was asked
  expect(() => late.assertHeld()).toThrow(locked);
});

it('loses a lease when another owner claims the shard, whatever the clock says', () => {
  const { lease } = leased(1000);
  let isCurrent = true;
  lease.fence(() => isCurrent);
  expect(lease.isHeld()).toBe(true);
  isCurrent = false;
  expect(() => lease.assertHeld()).toThrow(locked);
  isCurrent = true;
  expect([lease.isHeld(), lease.lost.aborted]).toEqual([false, true]);
});

it('never regains a lost lease, whether it expired or was refused', () => {
  const { clock, lease } = leased(1000);
  clock.now += 801;
  lease.renew(clock.now);
  expect(lease.isHeld()).toBe(false);
  clock.now -= 801;
  expect(lease.isHeld()).toBe(false);

  const refused = leased(1000).lease;
  refused.lose();
  refused.renew(5000);
  expect([refused.isHeld(), refused.lost.aborted]).toEqual([false, true]);
});

it('stops the run when a request gets its slot after the lease ran out', async () => {
  const { clock, lease } = leased(1000);
  const slot = new LeasedConcurrency(lease);
  expect(slot.most).toBe(1);
  await slot.acquire();
  expect(lease.lost.aborted).toBe(false);
  const waiting = slot.acquire();
  clock.now += 801;
  expect(slot.inFlight).toBe(1);
  slot.release();
  await waiting;
  expect(lease.lost.aborted).toBe(true);
});

it.each<[string, (log: ReturnType<typeof leasedOutcomes>) => Promise<unknown>]>([
  ['an intent', async (log) => log.intend([1], 'event')],
  ['an intent that is taken back', async (log) => log.retractIntent([0])],
  ['a commit', async (log) => log.commit()],
])('does not complete %s if the lease is lost during the sync', async (_what, act) => {
  const { lease } = leased(1000);
  const { journal, rows, log } = outcomes(lease);
  await log.intend([0], 'event');
  log.record(rows, 0, 'accepted');
  const acted = act(log);
  lease.lose();
  await expect(acted).rejects.toEqual(locked);
  journal.close();
});

/** The outcomes of a shard, with a journal and a rejects file on the disk. */
function outcomes(lease: Lease) {
  const world = makeWorld();
  const file = world.path('journal.ndjson');
  createJournal(file);
  const { journal } = Journal.open<WriteEntry>(file, writeEntries);
  const rejectsFile = world.path('rejects.ndjson');
  const log = new JournaledOutcomes({
    journal,
    rejects: new RejectsFile(rejectsFile, rejectsFile, { option: unnamedOption }),
    digests: () => [],
    start: { input: 0, offset: 0, line: 1, ordinal: 0 },
    nonIdempotent: new Set(),
  });
  const rows = jsonRows(['{"n":0}', '{"n":1}']);
  log.opened(rows);
  return { journal, rows, log: leasedOutcomes(log, lease), text: () => readFileSync(file, 'utf8') };
}

it.each<[string, (log: ReturnType<typeof leasedOutcomes>) => unknown]>([
  ['an intent', (log) => log.intend([0], 'event')],
  ['an intent that is taken back', (log) => log.retractIntent([0])],
  ['an outcome', (log) => log.write()],
  ['a commit', (log) => log.commit()],
])('journals %s while the lease is held, and nothing after it ran out', async (_what, act) => {
  for (const [passed, isHeld] of [
    [800, true],
    [801, false],
  ] as const) {
    const { clock, lease } = leased(1000);
    const { journal, rows, log, text } = outcomes(lease);
    await log.intend([0], 'event');
    log.record(rows, 0, 'accepted');
    const before = text();
    clock.now += passed;
    const acted = (async () => act(log))();
    if (isHeld) await acted;
    else await expect(acted).rejects.toEqual(locked);
    expect(text() === before, `after ${passed} ms`).toBe(!isHeld);
    journal.close();
  }
});

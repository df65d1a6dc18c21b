import { expect, it } from 'vitest';
import { RunStop } from '../../../src/bulk/write/stop-conditions.js';
import { EngagectlError } from '../../../src/errors.js';
import { getEventListeners } from 'node:events';
import { checkRejectLimit } from '../../../src/bulk/write/stop-conditions.js';
import { writeRecords } from '../../../src/bulk/write/write-pipeline.js';
import { OrdinalSet } from '../../../src/bulk/outcomes/ordinal-set.js';
import { deferred, jobOf, recordBlock, writeJobOf } from '../../support/builders/record-blocks.js';

/** A halt, what interrupts it, and what ends its sleeps. */
function haltOf() {
  const interrupt = new AbortController();
  const slept = deferred();
  const asleep: number[] = [];
  const sleep = async (ms: number, signal?: AbortSignal) => {
    asleep.push(ms);
    return new Promise<void>((resolve, reject) => {
      void slept.promise.then(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
    });
  };
  return { halt: new RunStop({ signal: interrupt.signal, sleep }), interrupt, slept, asleep };
}
const error = (text: string) => new EngagectlError('E-ANSWER', text);

it('keeps the first error that stops the run', async () => {
  const { halt } = haltOf();
  halt.stopAt(undefined);
  expect([halt.error, halt.drainSignal.aborted]).toEqual([undefined, false]);
  await halt.guard(async () => Promise.reject(error('first')));
  halt.stopAt(error('second'));
  expect([halt.error?.message, halt.drainSignal.aborted, halt.abortSignal.aborted]).toEqual([
    'first',
    true,
    false,
  ]);
  halt.close();
});

it('stops the run at once on an interrupt, and aborts requests after a grace period', async () => {
  const { halt, interrupt, slept, asleep } = haltOf();
  interrupt.abort(error('Ctrl-C'));
  expect([halt.error?.message, halt.abortSignal.aborted, asleep]).toEqual([
    'Ctrl-C',
    false,
    [10_000],
  ]);
  slept.resolve();
  await Promise.resolve();
  await new Promise(setImmediate);
  expect(halt.abortSignal.aborted).toBe(true);
});

it.each([
  [new Error('too late'), 'too late'],
  ['enough', 'enough'],
  [undefined, 'This operation was aborted'],
])('makes %j an error with exit code 130', (reason, why) => {
  const { halt, interrupt } = haltOf();
  interrupt.abort(reason);
  expect(halt.error).toMatchObject({ id: 'E-INTERRUPTED', exitCode: 130, details: { why } });
});

it('is stopped from the start if the signal is already aborted', () => {
  const halt = new RunStop({ signal: AbortSignal.abort('before'), sleep: async () => undefined });
  expect(halt.error?.details).toMatchObject({ why: 'before', cause: 'before' });
});

it('ends a sleep when the run stops', async () => {
  const { halt } = haltOf();
  const sleep = halt.sleep(1000);
  halt.stopAt(error('disk full'));
  expect(await sleep).toBe(false);
});

it('stops the run on a defect, and throws it at the end', () => {
  const { halt } = haltOf();
  const done = halt.attempt(() => {
    throw new TypeError('of ours');
  });
  expect([done, halt.error?.exitCode]).toEqual([false, 130]);
  expect(() => halt.close()).toThrow('of ours');
});

it('removes its listener from the signal when the run ends', async () => {
  const { signal } = new AbortController();
  const { done } = await writeRecords(writeJobOf([recordBlock([{ text: '{}' }])], { signal }));
  expect([done, getEventListeners(signal, 'abort')]).toEqual([true, []]);
});

it('rejects with the defect of a request, after every record has an outcome', async () => {
  const job = writeJobOf([recordBlock([{ text: '{}' }, { text: '{}' }])], {
    send: async () => Promise.reject(new TypeError('of ours')),
  });
  await expect(writeRecords(job)).rejects.toThrow('of ours');
});

it('counts unread records as not sent, except those settled in an earlier attempt', async () => {
  const numbered = (first: number, count: number) => {
    const block = recordBlock(Array.from({ length: count }, (_, n) => ({ text: `${first + n}` })));
    return { ...block, rows: { ...block.rows, first } };
  };
  const settled = new OrdinalSet();
  settled.add([[12, 13]]);
  const job = writeJobOf([numbered(0, 10), numbered(10, 5)], {
    earlier: { settled, intended: new OrdinalSet() },
    send: async () => ({ ok: false, failure: { kind: 'unauthorized', message: 'no' } }) as never,
    maxRejects: { records: 0 },
    map: (rows) => ({ ...numbered(rows.first, rows.count), rows, rejects: rejectsOf(rows.first) }),
  });
  const rejectsOf = (first: number) =>
    first === 0 ? [{ row: 0, stage: 'validate' as const, error: 'no' }] : [];
  await writeRecords(job);
  expect(job.tally.counts).toMatchObject({ notSent: 10 + 3 });
});

it.each([
  [999, undefined],
  [1000, 'E-REJECTED'],
])('evaluates a percentage of rejects after %i records as %s', (read, id) => {
  const { tally, option } = jobOf();
  Object.assign(tally.counts, { read, rejected: read / 2 });
  const limit = { tally, option, rehearsal: undefined, piped: true, maxRejects: { percent: 10 } };
  expect(checkRejectLimit(limit, 'running')?.id).toBe(id);
  expect(checkRejectLimit(limit, 'end')?.id).toBe('E-REJECTED');
});

it.each(['accepted', 'resumed', 'unknown', 'duplicates', 'unchanged', 'none'] as const)(
  'stops a run whose first 5,000 records are rejected alike only if no other was %s',
  (outcome) => {
    const { tally, option } = jobOf();
    Object.assign(tally.counts, { read: 5000, rejected: 5000 });
    const limit = { tally, option, rehearsal: undefined, piped: false, maxRejects: undefined };
    if (outcome !== 'none') Object.assign(tally.counts, { read: 5001, [outcome]: 1 });
    tally.samples.first.push({
      source: '',
      line: 1,
      kind: 'service 515',
      error: 'no',
      personal: [],
    });
    const error = checkRejectLimit(limit, 'running');
    expect(error?.id).toBe(outcome === 'none' ? 'E-REJECTED' : undefined);
    expect(checkRejectLimit({ ...limit, piped: true }, 'running')).toBeUndefined();
  },
);

import { expect, it } from 'vitest';
import { RunStop } from '../../../src/bulk/write/stop-conditions.js';
import { EngagectlError } from '../../../src/errors.js';
import { deferred } from '../../support/builders/record-blocks.js';

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

it('keeps the first thing that stops it', async () => {
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

it('an interrupt stops it at once, and gives up when the grace is over', async () => {
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

it('is stopped from the beginning where the signal is', () => {
  const halt = new RunStop({ signal: AbortSignal.abort('before'), sleep: async () => undefined });
  expect(halt.error?.details).toMatchObject({ why: 'before', cause: 'before' });
});

it('a sleep ends when the run stops', async () => {
  const { halt } = haltOf();
  const sleep = halt.sleep(1000);
  halt.stopAt(error('disk full'));
  expect(await sleep).toBe(false);
});

it('a defect stops the run, and is thrown at its end', () => {
  const { halt } = haltOf();
  const done = halt.attempt(() => {
    throw new TypeError('of ours');
  });
  expect([done, halt.error?.exitCode]).toEqual([false, 130]);
  expect(() => halt.close()).toThrow('of ours');
});

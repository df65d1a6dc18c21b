import { expect, it } from 'vitest';
import { PeekableIterator } from '../../src/bulk/peekable-iterator.js';
import { deferred } from '../support/builders/record-blocks.js';

async function* numbers(count: number) {
  for (let n = 1; n <= count; n += 1) yield n;
}

it('yields every item once to several consumers, then undefined', async () => {
  const intake = new PeekableIterator(numbers(2));
  await intake.ready();
  await intake.ready();
  expect([await intake.take(), await intake.take()]).toEqual([1, 2]);
  await intake.ready();
  expect([await intake.take(), await intake.take()]).toEqual([undefined, undefined]);
});

it('can be abandoned while it waits, and resumes where it was', async () => {
  const late = deferred<IteratorResult<string>>();
  const intake = new PeekableIterator<string>({
    [Symbol.asyncIterator]: () => ({ next: () => late.promise }),
  });
  const stop = new AbortController();
  const left = intake.take(stop.signal);
  stop.abort();
  expect([await left, await intake.take(stop.signal)]).toEqual([undefined, undefined]);
  late.resolve({ value: 'late', done: false });
  expect(await intake.take(new AbortController().signal)).toBe('late');
});

it('throws a failure to every consumer, each time', async () => {
  const intake = new PeekableIterator(
    (async function* () {
      yield 1;
      throw new Error('unreadable');
    })(),
  );
  expect(await intake.take()).toBe(1);
  await expect(intake.ready()).rejects.toThrow('unreadable');
  await expect(intake.take()).rejects.toThrow('unreadable');
});

it('yields items until the signal aborts', async () => {
  const stop = new AbortController();
  const taken: number[] = [];
  for await (const n of new PeekableIterator(numbers(5)).until(stop.signal)) {
    taken.push(n);
    if (n === 3) stop.abort();
  }
  expect(taken).toEqual([1, 2, 3]);
});

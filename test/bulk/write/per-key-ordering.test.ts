import { expect, it } from 'vitest';
import { batchRecord } from '../../../src/bulk/write/batch.js';
import { PerKeyOrder } from '../../../src/bulk/write/per-key-order.js';
import { recordBlock } from '../../support/builders/record-blocks.js';

const block = recordBlock([1, 2, 1, 1, 3].map((key, n) => ({ text: `"${n}"`, key })));
const release = (window: PerKeyOrder, ...keys: number[]) =>
  window.release(Int32Array.from(keys), keys.length);
const ready = (window: PerKeyOrder) => [...window.takeReady()].map(({ row }) => row);

it('admits records up to one whose key is in flight', () => {
  const window = new PerKeyOrder();
  expect(window.admit(block.keys, 0, 5)).toBe(2);
  expect(window.admit(block.keys, 2, 5)).toBe(2);
  release(window, 1, 2);
  expect(window.admit(block.keys, 2, 5)).toBe(3);
});

it('releases the held records of a key one by one, in order', () => {
  const window = new PerKeyOrder();
  window.admit(block.keys, 0, 2);
  for (const index of [2, 3]) window.hold(batchRecord(block, index));
  expect([window.heldCount, window.hasReady]).toEqual([2, false]);
  release(window, 2);
  expect(window.hasReady).toBe(false);
  release(window, 1);
  expect(window.hasReady).toBe(true);
  expect([ready(window), window.heldCount]).toEqual([[2], 1]);
  expect(window.admit(block.keys, 3, 4)).toBe(3); // the key is taken by the one that passed
  release(window, 1);
  expect(ready(window)).toEqual([3]);
  release(window, 1);
  expect(window.admit(block.keys, 3, 4)).toBe(4);
});

it('copies held records, because their text is reused', () => {
  const window = new PerKeyOrder();
  const lent = recordBlock([{ text: '"a"', key: 7 }]);
  window.admit(lent.keys, 0, 1);
  window.hold(batchRecord(lent, 0));
  lent.json.fill(0);
  release(window, 7);
  const [record] = window.takeReady();
  expect(record?.json.toString()).toBe('"a"');
});

it('is full beyond 32 MiB, including the blocks of held records, and empty when drained', () => {
  const window = new PerKeyOrder();
  const large = recordBlock([{ text: `"${'x'.repeat(17 << 20)}"`, key: 1 }]);
  window.admit(large.keys, 0, 1);
  expect(window.isFull).toBe(false);
  window.hold(batchRecord(large, 0));
  expect(window.isFull).toBe(true); // the copy, and the block
  expect([...window.drain()]).toHaveLength(1);
});

it('holds a record with several keys until all are free, and later ones of each behind it', () => {
  const window = new PerKeyOrder();
  const of = (row: number, key: number, ...others: number[]) =>
    window.hold({ ...batchRecord(block, row), key, otherKeys: new Set(others) });
  window.admit(block.keys, 0, 2); // 1 and 2
  of(2, 1, 2, 3);
  of(3, 3);
  expect([window.admitOne([4, 5]), window.admitOne([6, 3])]).toEqual([true, false]);
  expect([ready(window), window.heldCount]).toEqual([[], 2]);
  release(window, 1);
  expect(ready(window)).toEqual([]);
  release(window, 2);
  expect(ready(window)).toEqual([2]);
  expect(window.admit(Int32Array.of(3), 0, 1)).toBe(0);
  release(window, 1, 2, 3);
  expect([ready(window), window.heldCount]).toEqual([[3], 0]);
  release(window, 3, 4, 5);
  expect(window.admit(Int32Array.of(1, 2, 3, 4, 5, 6), 0, 6)).toBe(6);
});

it('drains a record that waits for several keys once', () => {
  const window = new PerKeyOrder();
  window.admit(block.keys, 0, 2);
  window.hold({ ...batchRecord(block, 2), key: 1, otherKeys: new Set([2]) });
  expect([...window.drain()].map(({ row }) => row)).toEqual([2]);
});

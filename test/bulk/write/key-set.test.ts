import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeySet } from '../../../src/bulk/write/per-key-order.js';

/** Few different keys, many of them with the same slot, so that keys are moved and found again. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 8 }).map((n) => n * 65_536 + 7),
  fc.constant(0x7fff_ffff),
);

it('contains the same keys as a Set', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), key), { maxLength: 400 }), (steps) => {
      const keys = new KeySet();
      const oracle = new Set<number>();
      for (const [adds, value] of steps) {
        if (adds) {
          expect(add(keys, value)).toBe(!oracle.has(value));
          oracle.add(value);
        } else {
          keys.deleteAll(Int32Array.of(value), 1);
          oracle.delete(value);
        }
      }
      for (const value of oracle) expect(add(keys, value)).toBe(false);
    }),
  );
});

it('finds all other keys of a slot when one of them is deleted', () => {
  const sameSlot = Int32Array.from({ length: 8 }, (_, n) => n * 65_536 + 7);
  for (const gone of sameSlot) {
    const keys = new KeySet();
    keys.addRun(sameSlot, 0, sameSlot.length);
    keys.deleteAll(Int32Array.of(gone), 1);
    // The others first: the one that is gone would close its gap.
    const others = sameSlot.filter((key) => key !== gone);
    expect([...others, gone].map((key) => add(keys, key))).toEqual([
      ...Array.from(others, () => false),
      true,
    ]);
  }
});

it('adds and deletes many keys at once, up to the first duplicate', () => {
  const keys = new KeySet();
  const many = Int32Array.from(
    { length: 100_000 },
    (_, n) => Math.imul(n, 2_654_435_761) & 0x7fff_ffff,
  );
  expect(keys.addRun(many, 0, 60_000)).toBe(60_000);
  expect(keys.addRun(many, 50_000, 100_000)).toBe(50_000);
  expect(keys.addRun(many, 60_000, 100_000)).toBe(100_000);
  keys.deleteAll(many, 50_000);
  expect(keys.addRun(many, 0, 100_000)).toBe(50_000);
});

it('grows before it is full, however few keys are added at a time', () => {
  const keys = new KeySet();
  const many = Int32Array.from({ length: 40_000 }, (_, n) => n);
  for (let from = 0; from < many.length; from += 1000) {
    expect(keys.addRun(many, from, from + 1000)).toBe(from + 1000);
    keys.deleteAll(Int32Array.of(0x7fff_ffff), 1); // would never find a free slot in a full table
  }
  expect(keys.addRun(many, 0, 1)).toBe(0);
});

it('grows before it is full after many keys came and went', () => {
  const keys = new KeySet();
  const many = Int32Array.from({ length: 20_000 }, (_, n) => n);
  for (let times = 0; times < 10; times += 1) {
    keys.addRun(many, 0, 8000);
    keys.deleteAll(many, 8000);
  }
  for (let from = 0; from < many.length; from += 1000) {
    expect(keys.addRun(many, from, from + 1000)).toBe(from + 1000);
    keys.deleteAll(Int32Array.of(0x7fff_ffff), 1); // would never find a free slot in a full table
  }
});

it('ignores an absent key when it contains as many keys as it had slots at first', () => {
  const keys = new KeySet();
  const many = Int32Array.from({ length: 16 * 1024 }, (_, n) => n);
  keys.addRun(many, 0, many.length);
  keys.deleteAll(Int32Array.of(0x7fff_ffff), 1);
  expect(keys.addRun(many, many.length - 1, many.length)).toBe(many.length - 1);
});

/** True when the key is new. */
const add = (keys: KeySet, key: number): boolean => keys.addRun(Int32Array.of(key), 0, 1) === 1;

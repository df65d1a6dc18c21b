import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { OrdinalSet, rangesOf } from '../../src/bulk/outcomes/ordinal-set.js';

const ordinal = fc.integer({ min: 0, max: 60 });

it('holds exactly what was added and not deleted since', () => {
  const step = fc.record({ adds: fc.boolean(), ordinals: fc.array(ordinal, { maxLength: 8 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const set = new OrdinalSet();
      const oracle = new Set<number>();
      for (const { adds, ordinals } of steps) {
        if (adds) set.add(rangesOf(ordinals));
        else set.delete(rangesOf(ordinals));
        for (const each of ordinals) {
          if (adds) oracle.add(each);
          else oracle.delete(each);
        }
        const held = Array.from({ length: 62 }, (_, n) => n).filter((n) => set.has(n));
        expect(held).toEqual([...oracle].toSorted((a, b) => a - b));
        expect(set.isEmpty).toBe(oracle.size === 0);
      }
    }),
  );
});

it('joins neighbours', () => {
  expect(rangesOf([5, 3, 4, 9, 1, 4])).toEqual([
    [1, 1],
    [3, 5],
    [9, 9],
  ]);
});

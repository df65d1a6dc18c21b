import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  ordinalOfParseError,
  ordinalOfRow,
  ordinalRuns,
  OrdinalSet,
  toRanges,
} from '../../src/bulk/outcomes/ordinal-set.js';
import { jsonRows } from '../support/builders/row-blocks.js';

const ordinal = fc.integer({ min: 0, max: 60 });

it('contains exactly the ordinals that were added and not deleted since', () => {
  const step = fc.record({ adds: fc.boolean(), ordinals: fc.array(ordinal, { maxLength: 8 }) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const set = new OrdinalSet();
      const oracle = new Set<number>();
      for (const { adds, ordinals } of steps) {
        if (adds) set.add(toRanges(ordinals));
        else set.delete(toRanges(ordinals));
        for (const each of ordinals) {
          if (adds) oracle.add(each);
          else oracle.delete(each);
        }
        const held = Array.from({ length: 62 }, (_, n) => n).filter((n) => set.has(n));
        expect(held).toEqual([...oracle].toSorted((a, b) => a - b));
        expect(set.isEmpty).toBe(oracle.size === 0);
        const before = Array.from({ length: 62 }, (_, n) => set.countBefore(n));
        expect(before).toEqual(before.map((_, n) => held.filter((each) => each < n).length));
      }
    }),
  );
});

it('joins adjacent ranges', () => {
  expect(toRanges([5, 3, 4, 9, 1, 4])).toEqual([
    [1, 1],
    [3, 5],
    [9, 9],
  ]);
});

it('numbers records and parse errors in input order', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 20 }), (isFailure) => {
      const first = 1000;
      const texts = isFailure.flatMap((is, n) => (is ? [] : [`"record ${n}"`]));
      const { bounds, ...rows } = jsonRows(texts);
      // A failure lies in the gap before the record that follows it, or behind the last one.
      let row = 0;
      const start = isFailure[0] ? 2 : 0;
      const parseErrors = isFailure.flatMap((is) => {
        if (!is) row += 1;
        return is ? [{ at: start - 1 + 10 * (bounds[2 * row] ?? 1000), line: 1 } as never] : [];
      });
      const block = { ...rows, first, bounds: bounds.map((at) => 10 * at + start), parseErrors };
      let [nextRow, nextFailure] = [0, 0];
      for (const [n, is] of isFailure.entries()) {
        const ordinal = is
          ? ordinalOfParseError(block, parseErrors[nextFailure++]!)
          : ordinalOfRow(block, nextRow++);
        expect(ordinal).toBe(first + n);
      }
      const runs = ordinalRuns(block, 0, nextRow).flatMap((run) =>
        Array.from({ length: run.count }, (_, n) => run.first + n),
      );
      expect(runs).toEqual(isFailure.flatMap((is, n) => (is ? [] : [first + n])));
    }),
  );
});

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { RowRuns } from '../../src/bulk/write/row-runs.js';
import type { RowBlock } from '../../src/input/rows.js';

// Runs of neighbouring rows against the plain list of them.

const blocks = ['a', 'b'].map((source) => ({ source }) as RowBlock);

/** Rows as they come into a batch: mostly neighbours, now and then another place or block. */
const stretches = fc.array(
  fc.record({
    block: fc.constantFrom(...blocks),
    row: fc.nat({ max: 20 }),
    count: fc.integer({ min: 1, max: 9 }),
  }),
  { maxLength: 60 },
);

it('gives back the rows that were added, one by one and in runs', () => {
  const runs = new RowRuns(); // used again, as batches are
  fc.assert(
    fc.property(stretches, (added) => {
      const list = added.flatMap(({ block, row, count }) =>
        Array.from({ length: count }, (_, n) => [block, row + n] as const),
      );
      runs.clear();
      for (const [block, row] of list) runs.add(block, row);

      expect(list.map((_, position) => runs.at(position))).toEqual(list);
      const inRuns = [...runs].flatMap(({ rows, row, count }) =>
        Array.from({ length: count }, (_, n) => [rows, row + n]),
      );
      expect(inRuns).toEqual(list);
      expect([...runs].length).toBeLessThanOrEqual(added.length);
    }),
  );
  expect(() => runs.at(10_000)).toThrow(RangeError);
});

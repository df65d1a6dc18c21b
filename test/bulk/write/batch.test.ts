import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Batch, recordOf } from '../../../src/bulk/write/batch.js';
import { recordBlock, textsOf } from '../../support/builders/record-blocks.js';

const frame = { open: Buffer.from('{"d":['), close: Buffer.from(']}') };
const blocks = [0, 1].map((block) =>
  recordBlock(Array.from({ length: 30 }, (_, row) => ({ text: `"${block}.${row}"`, key: row }))),
);

it('is the records that were added, in runs of neighbours, with their text, keys and sources', () => {
  const piece = fc.record({
    block: fc.integer({ min: 0, max: 1 }),
    from: fc.integer({ min: 0, max: 25 }),
    count: fc.integer({ min: 1, max: 5 }),
    single: fc.boolean(),
  });
  const batch = new Batch({ frame, bytes: 4096 }, []);
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      batch.clear();
      const expected: { block: number; row: number }[] = [];
      for (const { block: index, from, count, single } of pieces) {
        const block = blocks[index]!;
        for (let row = from; row < from + count; row += 1) expected.push({ block: index, row });
        if (!single) batch.addRun(block, from, from + count, true);
        else for (let row = from; row < from + count; row += 1) batch.add(recordOf(block, row));
      }
      const texts = expected.map(({ block, row }) => `"${block}.${row}"`);
      expect(textsOf(batch)).toEqual(texts);
      expect(batch.body().toString()).toBe(`{"d":[${texts.join(',')}]}`);
      expect([...batch.keys.subarray(0, batch.size)]).toEqual(expected.map(({ row }) => row));
      const runs = [...batch.runs()];
      expect(
        runs.flatMap(({ rows, row, count }) =>
          Array.from({ length: count }, (_, n) => ({ rows, row: row + n })),
        ),
      ).toEqual(expected.map(({ block, row }) => ({ rows: blocks[block]!.rows, row })));
      for (const [n, run] of runs.slice(1).entries()) {
        const before = runs[n]!;
        expect(before.rows === run.rows && before.row + before.count === run.row).toBe(false);
      }
    }),
  );
  expect(() => batch.source(batch.size)).toThrow(RangeError);
});

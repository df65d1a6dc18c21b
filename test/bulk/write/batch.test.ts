import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Batch, batchLocation, batchRecord } from '../../../src/bulk/write/batch.js';
import { recordBlock, textsOf } from '../../support/builders/record-blocks.js';

const frame = { open: Buffer.from('{"d":['), close: Buffer.from(']}') };
const blocks = [0, 1].map((block) =>
  recordBlock(Array.from({ length: 30 }, (_, row) => ({ text: `"${block}.${row}"`, key: row }))),
);

it('contains the records that were added, in runs of neighbors, with text, keys and sources', () => {
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
        else for (let row = from; row < from + count; row += 1) batch.add(batchRecord(block, row));
      }
      const texts = expected.map(({ block, row }) => `"${block}.${row}"`);
      expect(textsOf(batch)).toEqual(texts);
      expect(batch.body().toString()).toBe(`{"d":[${texts.join(',')}]}`);
      expect([...batch.keys.subarray(0, batch.size)]).toEqual(expected.map(({ row }) => row));
      const bounds = [...batch.bounds()];
      expect(
        texts.map((_, n) => batch.body().toString('utf8', bounds[2 * n], bounds[2 * n + 1])),
      ).toEqual(texts);
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

it('reports for each record whether it is idempotent', () => {
  const records = [true, false, true].map((idempotent, n) => ({ text: `${n}`, idempotent }));
  const block = recordBlock(records);
  const batches = [0, 1].map(() => new Batch({ frame, bytes: 4096 }, []));
  batches[0]!.addRun(block, 0, 3, true);
  for (let row = 0; row < 3; row += 1) batches[1]!.add(batchRecord(block, row));
  for (const batch of batches) {
    expect(batch.positions().map((position) => batch.isIdempotentAt(position))).toEqual([
      true,
      false,
      true,
    ]);
    expect([batch.isIdempotent, batch.pick([0, 2]).isIdempotent]).toEqual([false, true]);
  }
});

it('keeps in a part of a batch whether its records are events', () => {
  const batch = new Batch({ frame, bytes: 4096 }, []);
  batch.addRun(blocks[0]!, 0, 3, false);
  batch.holdsEvents = true;
  expect(batch.pick([1]).holdsEvents).toBe(true);
  batch.clear();
  expect([batch.holdsEvents, batch.size]).toEqual([false, 0]);
});

it('formats the location of its records', () => {
  const other = { ...blocks[1]!, rows: { ...blocks[1]!.rows, source: 'more.ndjson' } };
  const batch = new Batch({ frame, bytes: 4096 }, []);
  batch.addRun(blocks[0]!, 2, 3, false);
  expect(batchLocation(batch)).toBe('users.ndjson:3');
  batch.addRun(blocks[0]!, 3, 5, false);
  expect(batchLocation(batch)).toBe('users.ndjson:3-5 (3 records)');
  batch.addRun(other, 6, 7, false);
  expect(batchLocation(batch)).toBe('users.ndjson:3-more.ndjson:7 (4 records)');
});

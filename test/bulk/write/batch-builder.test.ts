import { expect, it } from 'vitest';
import { Batch } from '../../../src/bulk/write/batch.js';
import { Filler } from '../../../src/bulk/write/batch-builder.js';
import {
  jobOf,
  recordBlock,
  textsOf,
  type TestRecord,
} from '../../support/builders/record-blocks.js';

/** A filler, and the batches that it submits; `settle` says that the first of them is settled. */
function stage(options: Parameters<typeof jobOf>[0] = {}) {
  const job = jobOf(options);
  const submitted: Batch[] = [];
  const sent: string[][] = [];
  const sink = {
    open: 0,
    isStopped: false,
    onSettled: (_: Batch) => undefined as void,
    takeBatch: () => new Batch(job.request, []),
    submit: async (batch: Batch) => {
      submitted.push(batch);
      sent.push(textsOf(batch));
      sink.open += 1;
      return true;
    },
    nextSettled: async () => settle(),
    idle: async () => {
      while (sink.open > 0) settle();
    },
  };
  const settle = () => {
    const batch = submitted.shift();
    if (!batch) return;
    sink.open -= 1;
    sink.onSettled(batch);
  };
  const filler = new Filler(job, sink);
  const feed = async (...records: readonly TestRecord[]) => {
    const block = recordBlock(records);
    for (let next = 0; next < block.count;) {
      next = filler.add(block, next, block.count);
      await filler.makeRoom();
    }
  };
  return { filler, feed, sent, sink, settle };
}
const profiles = (...keys: number[]) => keys.map((key, n) => ({ text: `"${key}.${n}"`, key }));

it('fills batches to their size, and sends the rest at the end', async () => {
  const { filler, feed, sent } = stage();
  await feed(...profiles(1, 2, 3, 4));
  expect(sent).toEqual([['"1.0"', '"2.1"', '"3.2"']]);
  await filler.finish();
  expect(sent[1]).toEqual(['"4.3"']);
});

it('fills batches to their bytes, those of a single record aside', async () => {
  const { filler, feed, sent } = stage({ records: 10 });
  await feed(...[400, 400, 400, 2000].map((length) => ({ text: `"${'x'.repeat(length)}"` })));
  await filler.finish();
  expect(sent.map((texts) => texts.length)).toEqual([2, 1, 1]);
});

it('holds a record back while an earlier one of its key is under way', async () => {
  const { filler, feed, sent, settle } = stage();
  await feed(...profiles(1, 1, 2, 1, 3));
  expect(sent).toEqual([['"1.0"', '"2.2"', '"3.4"']]);
  settle();
  await feed(...profiles(4));
  await filler.finish();
  expect(sent.slice(1)).toEqual([['"1.1"', '"4.0"'], ['"1.3"']]);
});

it('without an order holds nothing back', async () => {
  const { feed, sent } = stage({ order: 'none' });
  await feed(...profiles(1, 1, 1));
  expect(sent).toEqual([['"1.0"', '"1.1"', '"1.2"']]);
});

it('keeps profiles and events apart, and events out of the order', async () => {
  const { filler, feed, sent } = stage();
  const event = { key: 1, event: true };
  await feed({ text: '"a"', key: 1 }, { text: '"b"', ...event }, { text: '"c"', ...event });
  await filler.finish();
  expect(sent).toEqual([['"a"'], ['"b"', '"c"']]);
});

it('sends what there is while the input is silent', async () => {
  const { filler, feed, sent } = stage();
  await feed(...profiles(1, 1));
  await filler.submitAll(new AbortController().signal);
  expect(sent).toEqual([['"1.0"'], ['"1.1"']]);
});

it('gives back what was never sent when the run stops', async () => {
  const { filler, feed, sent, sink } = stage();
  await feed(...profiles(1, 2, 1));
  sink.isStopped = true;
  await filler.finish();
  expect([sent, [...filler.drain()].map(({ row }) => row)]).toEqual([[], [0, 1, 2]]);
});

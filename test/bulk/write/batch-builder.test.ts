import { expect, it } from 'vitest';
import { Batch } from '../../../src/bulk/write/batch.js';
import { BatchBuilder } from '../../../src/bulk/write/batch-builder.js';
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
  const events: string[] = [];
  const sent: string[][] = [];
  const bodies: unknown[] = [];
  const sink = {
    open: 0,
    isStopped: false,
    onCompleted: (_: Batch) => undefined as void,
    takeBatch: () => new Batch(job.request, []),
    submit: async (batch: Batch) => {
      submitted.push(batch);
      sent.push(textsOf(batch));
      bodies.push(JSON.parse(batch.body().toString()));
      events.push('sent');
      sink.open += 1;
      return true;
    },
    nextCompleted: async () => settle(),
    idle: async () => {
      while (sink.open > 0) settle();
    },
  };
  const settle = () => {
    const batch = submitted.shift();
    if (!batch) return;
    events.push('settled');
    sink.open -= 1;
    sink.onCompleted(batch);
  };
  const filler = new BatchBuilder(job, sink);
  const feed = async (...records: readonly TestRecord[]) => {
    const block = recordBlock(records);
    for (let next = 0; next < block.count;) {
      next = filler.add(block, next, block.count);
      await filler.makeRoom();
    }
  };
  return { filler, feed, sent, bodies, sink, settle, events };
}
const profiles = (...keys: number[]) => keys.map((key, n) => ({ text: `"${key}.${n}"`, key }));

it('fills batches to their size, and submits the rest at the end', async () => {
  const { filler, feed, sent } = stage();
  await feed(...profiles(1, 2, 3, 4));
  expect(sent).toEqual([['"1.0"', '"2.1"', '"3.2"']]);
  await filler.finish();
  expect(sent[1]).toEqual(['"4.3"']);
});

it('fills a batch to its size with records of several blocks', async () => {
  const { filler, feed, sent } = stage();
  await feed(...profiles(1, 2));
  await feed(...profiles(3, 4, 5));
  await filler.finish();
  expect(sent.map((texts) => texts.length)).toEqual([3, 2]);
});

it('accepts no more records while a full batch waits', () => {
  const { filler } = stage();
  expect(filler.add(recordBlock(profiles(1, 2, 3, 4, 5, 6, 7)), 0, 7)).toBe(3);
});

it('fills batches to their byte limit, except for a single larger record', async () => {
  const { filler, feed, sent } = stage({ records: 10 });
  await feed(...[400, 400, 400, 2000].map((length) => ({ text: `"${'x'.repeat(length)}"` })));
  await filler.finish();
  expect(sent.map((texts) => texts.length)).toEqual([2, 1, 1]);
});

it('holds a record back while an earlier one of its key is in flight', async () => {
  const { filler, feed, sent, settle } = stage();
  await feed(...profiles(1, 1, 2, 1, 3));
  expect(sent).toEqual([['"1.0"', '"2.2"', '"3.4"']]);
  settle();
  await feed(...profiles(4));
  await filler.finish();
  expect(sent.slice(1)).toEqual([['"1.1"', '"4.0"'], ['"1.3"']]);
});

it('holds a record with several keys back until each is free, and what follows it', async () => {
  const { filler, feed, sent } = stage();
  await feed(
    { text: '"a"', key: 1 },
    { text: '"b"', key: 2, otherKeys: [3] },
    { text: '"c"', key: 3, otherKeys: [1, 4] },
    { text: '"d"', key: 5 },
    { text: '"e"', key: 4 },
    { text: '"f"', key: 6, otherKeys: [] }, // both keys have this hash
    { text: '"g"', key: 6 },
  );
  await filler.finish();
  expect(sent).toEqual([
    ['"a"', '"b"', '"d"'],
    ['"f"', '"c"'],
    ['"g"', '"e"'],
  ]);
});

it('keeps the keys of records with several that are not ordered', async () => {
  const { filler, feed, sink } = stage({ order: 'none' });
  const batches: Batch[] = [];
  const { submit } = sink;
  sink.submit = async (batch) => {
    batches.push(batch);
    return submit(batch);
  };
  await feed({ text: '"a"', key: 1 }, { text: '"b"', key: 1, otherKeys: [3] });
  await filler.finish();
  expect(batches.map(({ otherKeys }) => [...otherKeys])).toEqual([[[1, new Set([3])]]]);
});

it('holds nothing back without an order', async () => {
  const { feed, sent } = stage({ order: 'none' });
  await feed(...profiles(1, 1, 1));
  expect(sent).toEqual([['"1.0"', '"1.1"', '"1.2"']]);
});

it('separates profiles from events, and does not order events', async () => {
  const { filler, feed, sent } = stage();
  const event = { key: 1, event: true };
  await feed({ text: '"a"', key: 1 }, { text: '"b"', ...event }, { text: '"c"', ...event });
  await filler.finish();
  expect(sent).toEqual([['"a"'], ['"b"', '"c"']]);
});

it('submits partial batches while the input is idle', async () => {
  const { filler, feed, sent } = stage();
  await feed(...profiles(1, 1));
  await filler.submitAll(new AbortController().signal);
  expect(sent).toEqual([['"1.0"'], ['"1.1"']]);
});

it('submits each of many full batches once, in order', async () => {
  const { filler, feed, sent, settle } = stage();
  const keys = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
  await feed(...profiles(...keys));
  await feed(...profiles(...keys));
  expect(sent).toHaveLength(4);
  for (let n = 0; n < 4; n += 1) settle();
  await filler.finish();
  const again = keys.map((key, n) => `"${key}.${n}"`);
  expect(sent.slice(4)).toEqual([0, 3, 6, 9].map((from) => again.slice(from, from + 3)));
});

it('puts a comma between records, whatever separates them in the input', async () => {
  const { filler, bodies } = stage();
  const block = recordBlock([{ text: '"a"' }, { text: '"b"' }, { text: '"c"' }]);
  const json = Buffer.from('"a",\n"b","c"');
  filler.add({ ...block, json, bounds: Int32Array.of(0, 3, 5, 8, 9, 12) }, 0, 3);
  await filler.finish();
  expect(bodies).toEqual([['a', 'b', 'c']]);
});

it('returns the unsent records when the run stops', async () => {
  const { filler, feed, sent, sink } = stage();
  await feed(...profiles(1, 2, 1));
  sink.isStopped = true;
  await filler.finish();
  expect([sent, [...filler.drain()].map(({ row }) => row)]).toEqual([[], [0, 1, 2]]);
});

it('returns the records of all batches that were ready when the run stops', async () => {
  const { filler, feed, sent, sink } = stage();
  await feed({ text: '"p"', key: 1 }, { text: '"e"', event: true });
  sink.submit = async () => {
    sink.isStopped = true;
    return false;
  };
  await filler.finish();
  expect([sent, [...filler.drain()].map(({ row }) => row)]).toEqual([[], [0, 1]]);
});

it('submits a partial batch at once if no record is held back', async () => {
  const { filler, feed, events } = stage();
  await feed(...profiles(1, 2, 3, 4));
  await filler.finish();
  expect(events).toEqual(['sent', 'sent', 'settled', 'settled']);
});

it('submits a partial batch of an idle input only if a slot is free', async () => {
  const { filler, feed, events } = stage({ most: 1 });
  await feed(...profiles(1, 2, 3, 4));
  await filler.submitAll(new AbortController().signal);
  expect(events).toEqual(['sent', 'settled', 'sent', 'settled']);
});

it.each([
  [1000, 0],
  [1001, 1],
  [3000, 1],
])(
  'warns for %i records of one key %i times that they wait for each other',
  async (count, times) => {
    const warnings: string[] = [];
    const { filler, feed } = stage({ warn: (text) => void warnings.push(text) });
    await feed(...profiles(...Array.from({ length: count }, () => 1)));
    await filler.finish();
    expect(warnings).toHaveLength(times);
    for (const warning of warnings)
      expect(warning).toContain(`slow input: ${count - 1} records wait`);
  },
);

it('is empty after the unsent records were drained', async () => {
  const { filler, feed, sent, sink } = stage();
  await feed(...profiles(1, 2, 1));
  sink.isStopped = true;
  expect([...filler.drain()]).toHaveLength(3);
  expect([...filler.drain()]).toHaveLength(0);
  expect(sent).toEqual([]);
});

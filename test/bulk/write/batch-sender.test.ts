import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Batch } from '../../../src/bulk/write/batch.js';
import { RunStop } from '../../../src/bulk/write/stop-conditions.js';
import { SendQueue } from '../../../src/bulk/write/send-queue.js';
import type { BatchState } from '../../../src/bulk/write/batch-sender.js';
import { writeRecords } from '../../../src/bulk/write/write-pipeline.js';
import { deferred, jobOf, recordBlock, writeJobOf } from '../../support/builders/record-blocks.js';

/** A sender whose batches are answered when they are told to. */
function stage(most = 2) {
  const job = jobOf({ most });
  const stop = new RunStop({ signal: new AbortController().signal, sleep: async () => undefined });
  const answers: ReturnType<typeof deferred<Partial<BatchState>>>[] = [];
  const settler = {
    complete: async (): Promise<BatchState> => {
      const answer = deferred<Partial<BatchState>>();
      answers.push(answer);
      const state = {
        attempts: 0,
        since: 0,
        unknown: 0,
        refused: 0,
        intended: false,
        taken: [],
        synced: undefined,
      };
      return { ...state, ...(await answer.promise) };
    },
  };
  const sender = new SendQueue(job, { stop, sender: settler });
  const settled: Batch[] = [];
  sender.onCompleted = (batch) => void settled.push(batch);
  const batchOf = (records = 1): Batch => {
    const batch = sender.takeBatch();
    const block = recordBlock(Array.from({ length: records }, (_, n) => ({ text: `${n}` })));
    batch.addRun(block, 0, records, false);
    return batch;
  };
  return { sender, answers, settled, batchOf, stop };
}

it('accepts two batches more than may be in flight, and blocks on the next', async () => {
  const { sender, answers, batchOf } = stage();
  for (let n = 0; n < 4; n += 1) expect(await sender.submit(batchOf())).toBe(true);
  let isTaken = false;
  void sender.submit(batchOf()).then(() => (isTaken = true));
  await turn();
  expect([isTaken, sender.open]).toEqual([false, 4]);
  answers[0]?.resolve({});
  await turn();
  expect(isTaken).toBe(true);
});

it('keeps a batch open until its outcomes are synced, without blocking others', async () => {
  const { sender, answers, settled, batchOf } = stage();
  const synced = deferred();
  await sender.submit(batchOf());
  answers[0]?.resolve({ synced: synced.promise });
  await turn();
  expect([settled.length, sender.open]).toEqual([0, 1]);
  for (let n = 0; n < 4; n += 1) await sender.submit(batchOf());
  synced.resolve();
  await turn();
  expect([settled.length, sender.open]).toEqual([1, 4]);
});

it('reuses completed batches, except those whose body may still be read', async () => {
  const { sender, answers, batchOf } = stage();
  const [first, second] = [batchOf(), batchOf()];
  await sender.submit(first);
  await sender.submit(second);
  answers[0]?.resolve({ attempts: 1 });
  answers[1]?.resolve({});
  await sender.idle();
  expect(sender.takeBatch()).toBe(second);
  expect(sender.takeBatch()).not.toBe(first);
});

it.each([
  ['three batches in a row that end all unknown', { unknown: 1 }, 3, 1],
  ['two whole batches in a row that are refused', { refused: 2 }, 2, 2],
])('stops the run after %s', async (_name, state, batches, size) => {
  const { sender, answers, batchOf, stop } = stage();
  for (let n = 0; n < batches; n += 1) {
    expect(stop.error).toBe(undefined);
    await sender.submit(batchOf(size));
    answers[n]?.resolve(state);
    await sender.idle();
  }
  expect(stop.error).toMatchObject({ id: 'E-ANSWER' });
  expect([sender.isStopped, await sender.submit(batchOf())]).toEqual([true, false]);
});

it.each([
  ['two batches of a single record that are refused', { refused: 1 }, 1],
  ['batches of which a part is unknown', { unknown: 1 }, 2],
])('does not stop the run after %s', async (_name, state, size) => {
  const { sender, answers, batchOf, stop } = stage();
  for (let n = 0; n < 4; n += 1) {
    await sender.submit(batchOf(size));
    answers[n]?.resolve(state);
    await sender.idle();
  }
  expect([stop.error, sender.isStopped]).toEqual([undefined, false]);
});

it('does not stop the run after single refused batches that are not consecutive', async () => {
  const { sender, answers, batchOf, stop } = stage();
  for (const [n, refused] of [2, 0, 2].entries()) {
    await sender.submit(batchOf(2));
    answers[n]?.resolve({ refused });
    await sender.idle();
  }
  expect(stop.error).toBe(undefined);
});

it('never overwrites the body of a failed attempt, which an old socket may still read', async () => {
  const sent: { readonly body: Buffer; readonly text: string }[] = [];
  const blocks = Array.from({ length: 20 }, (_, n) => recordBlock([{ text: `"record ${n}"` }]));
  const job = writeJobOf(blocks, {
    records: 1,
    most: 1,
    send: async (body) => {
      const isFirst = !sent.some(({ text }) => text === body.toString());
      if (isFirst) sent.push({ body, text: body.toString() });
      const failure = { kind: 'connection', sent: true, message: 'reset' } as const;
      return isFirst ? { ok: false, failure } : { ok: true, answer: undefined };
    },
  });
  await writeRecords(job);
  expect(job.tally.counts).toMatchObject({ read: 20, accepted: 20 });
  expect(sent.map(({ body }) => body.toString())).toEqual(sent.map(({ text }) => text));
});

it('keeps at most 22 MB of large bodies and their rows in flight, and sends a larger one by itself', async () => {
  const { sender, answers } = stage(8);
  const batchOf = (megabytes: number) => {
    const batch = sender.takeBatch();
    batch.addRun(recordBlock([{ text: 'x'.repeat(megabytes * 1024 * 1024) }]), 0, 1, false);
    return batch;
  };
  for (let n = 0; n < 3; n += 1) await sender.submit(batchOf(3.5));
  let isTaken = false;
  void sender.submit(batchOf(3.5)).then(() => (isTaken = true));
  await turn();
  expect([isTaken, sender.open]).toEqual([false, 3]);
  answers[0]?.resolve({});
  await turn();
  expect([isTaken, sender.open]).toEqual([true, 3]);
  for (const { resolve } of answers) resolve({});
  await sender.idle();
  for (let n = 0; n < 4; n += 1) await sender.submit(batchOf(0.5));
  void sender.submit(batchOf(12.5)).then(() => (isTaken = sender.open === 5));
  await turn();
  expect(isTaken).toBe(true);
  for (const { resolve } of answers) resolve({});
  await sender.idle();
});

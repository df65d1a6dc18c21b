import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GroupCommit } from '../../src/bulk/journal/journal.js';
import { deferred } from '../support/builders/record-blocks.js';

/** A queue whose commits end when they are told to. */
function queueOf() {
  const begun: ReturnType<typeof deferred<void>>[] = [];
  const queue = new GroupCommit(async () => {
    const commit = deferred();
    begun.push(commit);
    return commit.promise;
  });
  return { queue, begun };
}

it('runs one commit at a time; callers that arrive during a commit share the next one', async () => {
  const { queue, begun } = queueOf();
  const ended: string[] = [];
  const ask = (name: string) => void queue.commit().then(() => ended.push(name));
  ask('first');
  await turn();
  for (const name of ['second', 'third']) ask(name);
  await turn();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve();
  await turn();
  expect([begun.length, ended]).toEqual([2, ['first']]);
  ask('fourth'); // the second one has begun without it
  begun[1]?.resolve();
  await turn();
  expect([begun.length, ended]).toEqual([3, ['first', 'second', 'third']]);
});

it('covers everything recorded until the commit starts', async () => {
  const noted: number[] = [];
  const committed: number[][] = [];
  const queue = new GroupCommit(async () => void committed.push(noted.splice(0)));
  noted.push(1);
  const first = queue.commit();
  noted.push(2);
  await first;
  expect(committed).toEqual([[1, 2]]);
});

it('fails all commits after a failed one with the same error', async () => {
  const { queue, begun } = queueOf();
  const first = queue.commit();
  await turn();
  const second = queue.commit();
  begun[0]?.reject(new Error('disk full'));
  for (const commit of [first, second, queue.commit()]) {
    await expect(commit).rejects.toThrow('disk full');
  }
  expect(begun).toHaveLength(1);
});

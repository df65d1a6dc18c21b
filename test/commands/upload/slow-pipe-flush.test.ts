import { setImmediate as turn } from 'node:timers/promises';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { main } from '../../../src/main.js';
import { serve, written } from '../../support/serve.js';
import { until } from '../../support/until.js';

// A long-lived pipe: what was written to it goes out when nothing more comes for a moment.

/** An upload of a pipe whose moments pass when the test says so. */
async function start(...words: string[]) {
  const { service, world } = await serve();
  const stdin = new PassThrough();
  const moments = new Set<() => void>();
  const runtime = {
    ...world.runtime({ stdin }),
    sleep: async (_ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        moments.add(resolve);
        signal?.addEventListener('abort', () => {
          moments.delete(resolve);
          reject(signal.reason as Error);
        });
      }),
  };
  const code = main(['upload', '-', '--json', '--input-format', 'ndjson', ...words], runtime);
  const sent = () => written(service).map((records) => records.map(({ identity }) => identity));
  return {
    stdin,
    code,
    sent,
    summary: () => JSON.parse(runtime.output().stdout) as Record<string, unknown>,
    /** Passes moments until so many requests were carried out. */
    untilSent: (requests: number) => {
      const hasSent = () => {
        for (const pass of moments) pass();
        return sent().length >= requests;
      };
      return until(hasSent, { message: `${requests} requests were carried out` });
    },
  };
}

const line = (identity: string, note = 0) => `{"identity":"${identity}","Note":"${note}"}\n`;

it('sends a partial batch when the input is idle for a moment', async () => {
  const run = await start();
  run.stdin.write(line('a') + line('b'));
  await run.untilSent(1);
  run.stdin.write(line('c'));
  await run.untilSent(2);
  run.stdin.end(line('d'));
  expect(await run.code).toBe(0);
  expect(run.sent()).toEqual([['a', 'b'], ['c'], ['d']]);
  expect(run.summary()).toMatchObject({ read: 4, accepted: 4, requests: 3 });
});

it('sends records held back for their key too, one after the other', async () => {
  const run = await start();
  run.stdin.write(line('a', 1) + line('a', 2) + line('b') + line('a', 3));
  await run.untilSent(3);
  expect(run.sent()).toEqual([['a', 'b'], ['a'], ['a']]);
  run.stdin.end();
  expect(await run.code).toBe(0);
  expect(run.summary()).toMatchObject({ read: 4, accepted: 4, requests: 3 });
});

it('fills batches while the input is not idle', async () => {
  const run = await start('--chunk-size', '2');
  for (const identity of 'abcde') {
    run.stdin.write(line(identity));
    await turn();
  }
  run.stdin.end();
  expect(await run.code).toBe(0);
  expect(run.sent().map((records) => records.length)).toEqual([2, 2, 1]);
});

it('sends what a slow pipe delivered although a column that an option names may still follow', async () => {
  const run = await start('--map', 'mail=Email');
  run.stdin.write(line('a'));
  await run.untilSent(1);
  run.stdin.end('{"identity":"b","mail":"b@example.com"}\n');
  expect(await run.code).toBe(0);
  expect(run.sent()).toEqual([['a'], ['b']]);
});

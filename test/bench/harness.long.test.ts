import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

// The harness is plain JavaScript; these are the parts of its shapes that the test touches.
type Work = Readonly<Record<string, unknown>>;
interface Side {
  readonly name: string;
  readonly role: string;
  readonly command: readonly string[];
}
interface Rounds {
  runRounds: (how: {
    sides: readonly Side[];
    rounds: number;
    folder: string;
    progress: () => void;
    watch: (how: object, run: () => Promise<unknown>) => Promise<unknown>;
  }) => Promise<Work[]>;
  differentWork: (ours: Work | undefined, other: Work) => string | undefined;
}
const harness = new URL('../../bench/harness/', import.meta.url);
const part = async (name: string): Promise<unknown> => import(new URL(name, harness).href);
const { runRounds, differentWork } = (await part('rounds.js')) as Rounds;
const { table } = (await part('report.js')) as { table: (how: object) => string };
const { startServer } = (await part('server.js')) as {
  startServer: (
    program: string,
    ...args: string[]
  ) => Promise<
    AsyncDisposable & {
      readonly url: string;
      reset: (how: object) => Promise<unknown>;
      arrived: () => Promise<unknown>;
    }
  >;
};

const pageProgram = fileURLToPath(new URL('../../bench/harness/page-server.js', import.meta.url));
const sinkProgram = fileURLToPath(new URL('../../bench/harness/sink.js', import.meta.url));

/** A side that posts these records. */
const posting = (url: string, name: string, role: string, records: readonly object[]): Side => {
  const body = JSON.stringify(JSON.stringify({ d: records }));
  const script = `fetch('${url}', { method: 'POST', body: ${body} }).then((answer) => answer.text())`;
  return { name, role, command: [process.execPath, '-e', script] };
};

it('the harness prints a ratio only for sides that did the same work', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-test-'));
  const sink = await startServer(sinkProgram);
  onTestFinished(async () => {
    await sink[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  const record = (identity: string) => ({
    type: 'profile',
    identity,
    profileData: { a: 1, b: 'x' },
  });
  const spelledOtherwise = { profileData: { b: 'x', a: 1 }, identity: 'u1', type: 'profile' };
  const results = await runRounds({
    sides: [
      posting(sink.url, 'ours', 'ours', [record('u1'), record('u2')]),
      posting(sink.url, 'the same', 'peer', [record('u2'), spelledOtherwise]),
      posting(sink.url, 'one less', 'peer', [record('u1')]),
      posting(sink.url, 'another', 'peer', [record('u1'), record('u3')]),
      posting(sink.url, 'floor', 'floor', [record('x'), record('y')]),
    ],
    rounds: 1,
    folder,
    progress: () => undefined,
    watch: async (how, run) => {
      await sink.reset(how);
      await run();
      return sink.arrived();
    },
  });
  expect(results.map((result) => differentWork(results[0], result))).toEqual([
    undefined,
    undefined,
    '1 records arrived, from engagectl 2',
    'other records arrived',
    undefined,
  ]);
  const rows = table({ results, records: 2 }).split('\n');
  expect(rows.find((row) => row.includes('| the same |'))).toMatch(/\| \d+\.\d\d \| \d+\.\d\d \|$/);
  expect(rows.find((row) => row.includes('| another |'))).toContain('no ratio: other records');
  expect(rows.find((row) => row.includes('| one less |'))).toContain('no ratio: 1 records arrived');
});

it.each([
  ['40', '30'],
  ['24MB', 'events'],
])('sends no page of an account of %s under two cursors (%s)', async (...args) => {
  const server = await startServer(pageProgram, ...args);
  onTestFinished(async () => server[Symbol.asyncDispose]());
  const pages: string[] = [];
  for (let cursor: string | undefined = 'page%2F0'; cursor !== undefined;) {
    const answer = await fetch(`${server.url}/?cursor=${cursor}`);
    const page = (await answer.json()) as { records: object[]; next_cursor?: string };
    pages.push(JSON.stringify(page.records));
    cursor = page.next_cursor;
  }
  expect(new Set(pages).size).toBe(pages.length);
});

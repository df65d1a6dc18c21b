import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { accountAt } from '../support/account-environment.js';
import { startLoopbackServer } from '../support/servers/loopback-server.js';
import { makeWorld } from '../support/test-environment.js';
import { openInputs } from '../../src/input/inputs.js';

/** Bytes of objects and buffers that are in use. */
async function inUse(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let turn = 0; turn < 5; turn += 1) {
    collect();
    await new Promise(setImmediate); // files and generators that ended are let go
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** The middle of three: what something else leaves behind, or lets go, meanwhile does not come each time. */
async function median(measure: () => Promise<number>): Promise<number> {
  const measured: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) measured.push(await measure());
  return measured.toSorted((a, b) => a - b)[1]!;
}

it('keeps few bytes per file when many files were read', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-many-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = Array.from({ length: 2000 }, (_, n) => `${n}.csv`);
  for (const file of files) writeFileSync(path.join(folder, file), `identity,n\n${file},1\n`);
  const world = { stdin: Readable.from([]), cwd: folder, signal: new AbortController().signal };
  const read = async (some: readonly string[]) => {
    const options = { files: some, maxRecordBytes: 1 << 20, digests: true };
    const inputs = await openInputs(options, world);
    for await (const _ of inputs.blocks()) inputs.takeDigests();
    inputs.takeDigests();
    return inputs;
  };
  // What is loaded, compiled and cached once is not of any file.
  const all = [await read(files.slice(0, 500))];
  const kept = await median(async () => {
    const before = await inUse();
    all.push(await read(files));
    return ((await inUse()) - before) / files.length;
  });
  expect(all.map(({ names }) => names.length)).toEqual([500, 2000, 2000, 2000]);
  expect(all[3]?.ended.get(1999)).toMatchObject({ offset: 22, endsInLine: false });
  // Some 75, and what the runtime keeps for itself. With an object for each there were 400 more.
  expect(kept).toBeLessThan(320);
});

it('keeps few bytes per named file while the run waits for responses', async () => {
  const world = makeWorld();
  const count = 3200; // with 800, what the runtime keeps for itself added up to 800 bytes to each
  const inFlight = 8;
  const names = Array.from({ length: count }, (_, n) => `${n}.csv`);
  for (const name of names) writeFileSync(world.path(name), `identity,n\n${name},1\n`);
  writeFileSync(
    world.path('all.csv'),
    `identity,n\n${names.map((name) => `${name},1\n`).join('')}`,
  );
  /** Bytes that are in use when all slots wait for their answers. */
  const upload = async (files: readonly string[]) => {
    let bytes = 0;
    const held: (() => void)[] = [];
    await using server = await startLoopbackServer((request, response) => {
      const answer = { status: 'success', processed: count / inFlight, unprocessed: [] };
      request.resume().on('end', () => {
        held.push(() => response.end(JSON.stringify(answer)));
        if (held.length === inFlight) void look();
      });
    });
    const look = async () => {
      bytes = await inUse();
      for (const go of held) go();
    };
    const flags = ['--chunk-size', String(count / inFlight), '--concurrency', String(inFlight)];
    const env = accountAt(server.url, 'a secret');
    const { code, stderr } = await world.run(['upload', ...files, ...flags], { env });
    expect(code, stderr).toBe(0);
    return bytes;
  };
  await upload(names); // what is loaded and compiled
  const kept = await median(async () => {
    const one = await upload(['all.csv']);
    return ((await upload(names)) - one) / count;
  });
  // Some 1,650. With twelve copies of the list, and more objects for each text, there were 650 more.
  // The copies of the first 1,000 records for the hints, one in each file, are another 650.
  expect(kept).toBeLessThan(2700);
});

it('restores the known texts', async () => {
  const { DigestTable } = await import('../../src/input/text-digest.js');
  const digests = new DigestTable();
  const of = { offset: 2 ** 45, hash: '00ff00ff', endsInLine: true };
  const end = { input: 7, offset: 2 ** 44, line: 3, ordinal: 2 ** 40, state: '{"a":1}' };
  const ended = { ...of, input: 7, ended: { end, head: '0123456789abcdef' } };
  digests.set({ ...of, input: 2 });
  digests.set(ended);
  expect([...digests]).toEqual([{ ...of, input: 2 }, ended]);
  digests.set({ ...of, input: 7 });
  expect(digests.get(7)).toEqual({ ...of, input: 7 });
  digests.addMissing([ended, { ...ended, input: 3 }]);
  expect([2, 3, 7, 8].map((input) => digests.get(input)?.ended?.head)).toEqual([
    undefined,
    '0123456789abcdef',
    undefined,
    undefined,
  ]);
});

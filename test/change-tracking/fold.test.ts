import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  bytesOf,
  BaselineFile,
  BaselineWriter,
  entryWords,
  headBytes,
} from '../../src/bulk/change-tracking/baseline-file.js';
import { readBlocks, ChangeLog, compact } from '../../src/bulk/change-tracking/change-log.js';
import { makeWorld } from '../support/test-environment.js';

// A log is taken into the base: of each key its last entry, and none for a doubt.

/** An entry: the halves of its key, the high one first, and its record; 0 is a doubt. */
type Entry = readonly [high: number, low: number, record: number];

const about = { secret: [1, 2, 3, 4], owner: [3, 4] } as const;

function wordsOf(entries: readonly Entry[]): Int32Array {
  return Int32Array.from(
    entries.flatMap(([high, low, record]) => [low, high, record, record && ~record]),
  );
}

/** In the order of their keys, without sign. */
const inOrder = (entries: Iterable<Entry>): Entry[] =>
  [...entries].toSorted((a, b) => (a[0] >>> 0) - (b[0] >>> 0) || (a[1] >>> 0) - (b[1] >>> 0));

function baseOf(path: string, entries: readonly Entry[]): BaselineFile {
  const writer = new BaselineWriter(path);
  const words = wordsOf(inOrder(entries));
  for (let at = 0; at < words.length; at += entryWords) writer.add(words, at);
  writer.finish(about);
  writer.close();
  return new BaselineFile(path);
}

function entriesIn(path: string): Entry[] {
  const file = new BaselineFile(path);
  const entries: Entry[] = [];
  for (const chunk of file.chunks()) {
    for (let at = 0; at < chunk.length; at += entryWords) {
      const record = chunk[at + 2]!;
      const isWhole = chunk[at + 3] === (record && ~record);
      entries.push([chunk[at + 1]!, chunk[at]!, isWhole ? record : NaN]);
    }
  }
  file.close();
  return entries;
}

function logOf(path: string, blocks: readonly (readonly Entry[])[]): void {
  const log = new ChangeLog(path);
  for (const block of blocks) log.write(wordsOf(block));
  log.close();
}

/** Keys of which many share a half; records of which some are doubts. */
const half = fc.constantFrom(0, 1, -1, 2 ** 30, -(2 ** 31), 2 ** 31 - 1);
const entry = fc.tuple(half, half, fc.integer({ min: 0, max: 3 }));
const known = fc.tuple(half, half, fc.integer({ min: 1, max: 3 }));

it('compact keeps the last entry of each key, but no doubt of a key that was never accepted, in however many parts the log is read', () => {
  const world = makeWorld();
  let runs = 0;
  const entries = fc.array(fc.array(entry, { maxLength: 12 }), { maxLength: 6 });
  const most = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(fc.array(known, { maxLength: 20 }), entries, most, (before, blocks, most) => {
      const [path, log] = [world.path(`base-${runs}`), world.path(`log-${runs}`)];
      runs += 1;
      const oracle = new Map(before.map((one) => [`${one[0]} ${one[1]}`, one as Entry]));
      const base = baseOf(path, [...oracle.values()]);
      logOf(log, blocks);
      compact({ path, log, base }, most);
      base.close();
      const known = new Set(oracle.keys());
      for (const one of blocks.flat()) {
        const key = `${one[0]} ${one[1]}`;
        if (one[2] !== 0) known.add(key);
        if (known.has(key)) oracle.set(key, one);
      }
      expect(entriesIn(path)).toEqual(inOrder(oracle.values()));
      const folded = new BaselineFile(path);
      const { head } = folded;
      folded.close();
      expect([head.secret, head.owner, head.count]).toEqual([[1, 2, 3, 4], [3, 4], oracle.size]);
    }),
    { numRuns: 60 },
  );
});

it('compact merges a log whose hashes fall nearly all into one part', () => {
  const world = makeWorld();
  const crowd = Array.from({ length: 9000 }, (_, n): Entry => [n, 7 * n, 1]);
  const base = baseOf(world.path('base'), [[-1, 5, 2]]);
  logOf(world.path('log'), [crowd]);
  compact({ path: world.path('base'), log: world.path('log'), base }, 1000);
  base.close();
  const found = JSON.stringify(entriesIn(world.path('base')));
  expect(found === JSON.stringify([...crowd, [-1, 5, 2]])).toBe(true);
});

it.each([
  ['no half that is 0', [5, 6]],
  ['a low half of 0', [0, 6]],
  ['a high half of 0', [5, 0]],
])('compact keeps an entry whose record hash has %s', (_what, record) => {
  const world = makeWorld();
  const [path, log] = [world.path('base'), world.path('log')];
  const base = baseOf(path, []);
  const changes = new ChangeLog(log);
  changes.write(Int32Array.of(1, 2, ...record));
  changes.close();
  compact({ path, log, base });
  base.close();
  expect(entriesIn(path)).toHaveLength(1);
});

it('writes entries beyond the size of its buffer', () => {
  const world = makeWorld();
  const many = Array.from({ length: 70_000 }, (_, n): Entry => [n, -n, 3]);
  baseOf(world.path('base'), many).close();
  const found = entriesIn(world.path('base'));
  expect(found).toHaveLength(70_000);
  expect([found[65_535], found[65_536], found.at(-1)]).toEqual([
    [65_535, -65_535, 3],
    [65_536, -65_536, 3],
    [69_999, -69_999, 3],
  ]);
});

it('skips an incomplete last block, wherever a kill cut it', () => {
  const world = makeWorld();
  const path = world.path('log');
  logOf(path, [[[1, 1, 1]], [[2, 2, 2], [3, 3, 3]]]); // prettier-ignore
  const whole = readFileSync(path);
  const first = whole.length - 16 - 2 * 16;
  for (let length = first; length < whole.length; length += 1) {
    writeFileSync(path, whole.subarray(0, length));
    expect([...readBlocks(path)].map((block) => block.length)).toEqual([4]);
    if (length > first) continue;
    appendFileSync(path, Buffer.alloc(100_000)); // made longer, and never written
    expect([...readBlocks(path)]).toHaveLength(1);
    appendFileSync(path, 'x');
    expect(() => [...readBlocks(path)]).toThrow('damaged');
  }
  const flipped = Buffer.from(whole);
  flipped[whole.length - 1]! ^= 1;
  writeFileSync(path, flipped);
  expect(() => [...readBlocks(path)]).toThrow('damaged');
});

it('identifies its format and version by its first bytes', () => {
  const world = makeWorld();
  baseOf(world.path('base'), [[1, 2, 3]]).close();
  const bytes = readFileSync(world.path('base'));
  expect(bytes.length).toBe(headBytes + 16);
  expect([bytes.readUInt32LE(0), bytes.readUInt32LE(4)]).toEqual([0x454d_4531, 2]);
  logOf(world.path('log'), [[[1, 2, 3]]]);
  expect(readFileSync(world.path('log')).readUInt32LE(0)).toBe(0x4d45_4231);
  expect(bytesOf(wordsOf([[1, 2, 3]]))).toEqual(bytes.subarray(headBytes));
});

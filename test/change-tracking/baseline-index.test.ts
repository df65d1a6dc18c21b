import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BaselineIndex } from '../../src/bulk/change-tracking/baseline-file.js';
import { BaselineFile, entryWords } from '../../src/bulk/change-tracking/baseline-file.js';
import { BaselineWriter } from '../../src/bulk/change-tracking/baseline-file.js';
import { matchKind, type BaselineLookup } from '../../src/bulk/change-tracking/baseline-file.js';
import { BaselineTable } from '../../src/text/baseline-table.js';
import { randomOf } from '../chaos/random.js';

// What is remembered, in memory and on the disk: both are asked the same, and a list of ours answers, too.

const random = randomOf(7);
const word = (): number => Math.floor(random.next() * 2 ** 32) | 0;
const entryOf = (key: readonly [number, number]) => Int32Array.of(...key, word(), word());
const joined = (entries: readonly Int32Array[]) =>
  Int32Array.from(entries.flatMap((entry) => [...entry]));

/** Many keys share the half of another one. */
const keys = Array.from({ length: 3000 }, (_, n): [number, number] => [
  n % 3 === 0 ? n : word(),
  n % 5 === 0 ? 1 << 30 : word(),
]);
const entries = keys
  .map(entryOf)
  .toSorted((a, b) => (a[1]! >>> 0) - (b[1]! >>> 0) || (a[0]! >>> 0) - (b[0]! >>> 0));

function opened(): readonly BaselineLookup[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'entries-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'base');
  const writer = new BaselineWriter(file);
  const words = joined(entries);
  for (let at = 0; at < words.length; at += entryWords) writer.add(words, at);
  writer.finish({ secret: [1, 2, 3, 4], owner: [3, 4] });
  writer.close();
  const table = new BaselineTable(entries.length);
  const read = new BaselineFile(file);
  for (const chunk of read.chunks()) table.add(chunk);
  const both = [table, new BaselineIndex(read)];
  onTestFinished(() => both.forEach((one) => one.close()));
  return both;
}

const rest = (count: number) => new Uint8Array(count).fill(1);

it('classifies entries as unchanged, changed or new', () => {
  const asked = entries.flatMap((entry, n) => {
    const [low, high] = [entry[0]!, entry[1]!];
    return [[entry, entryOf([low, high]), entryOf([word(), word()])][n % 3]!];
  });
  const wanted = asked.map((_, n) => [matchKind.same, matchKind.changed, matchKind.unknown][n % 3]);
  for (const known of opened()) {
    expect([...known.compare(joined(asked), rest(asked.length))]).toEqual(wanted);
    expect(known.seen).toBe(2000);
  }
});

it('counts a record as changed when only one half of its fingerprint differs', () => {
  const some = entries.slice(0, 200);
  const [lowDiffers, highDiffers] = [
    some.map(([low = 0, high = 0, first = 0, second = 0]) =>
      Int32Array.of(low, high, first ^ 4, second),
    ),
    some.map(([low = 0, high = 0, first = 0, second = 0]) =>
      Int32Array.of(low, high, first, second ^ 1),
    ),
  ];
  for (const asked of [lowDiffers, highDiffers]) {
    for (const known of opened()) {
      const answers = known.compare(joined(asked), rest(asked.length));
      expect([...answers]).toEqual(asked.map(() => matchKind.changed));
    }
  }
});

it('does not take a key for another one that shares the high half of its fingerprint', () => {
  const known = new Set(entries.map(([low = 0, high = 0]) => `${low} ${high}`));
  const others = entries.flatMap(([low = 0, high = 0, ...record]) => {
    const other = low ^ (1 << 31);
    return known.has(`${other} ${high}`) ? [] : [Int32Array.of(other, high, ...record)];
  });
  expect(others.length).toBeGreaterThan(2900);
  for (const both of opened()) {
    const answers = both.compare(joined(others), rest(others.length));
    expect([...answers]).toEqual(others.map(() => matchKind.unknown));
    expect([both.seen, ...new Set(both.has(joined(others)))]).toEqual([0, 0]);
  }
});

it('never treats a record as unchanged after another record of its key was sent', () => {
  const [entry = new Int32Array(4)] = entries;
  const other = entryOf([entry[0]!, entry[1]!]);
  for (const known of opened()) {
    const answers = known.compare(joined([entry, other, entry]), rest(3));
    expect([...answers]).toEqual([matchKind.same, matchKind.changed, matchKind.changed]);
    expect([...known.compare(entry, rest(1))]).toEqual([matchKind.changed]);
    expect(known.seen).toBe(1);
  }
});

it('recognizes an unchanged record whose hash has only zeros above its flags', () => {
  for (const low of [1, 2, 3]) {
    const entry = Int32Array.of(5, 6, low, 0);
    const table = new BaselineTable(1);
    table.add(entry);
    expect([...table.compare(entry, rest(1)), table.seen]).toEqual([matchKind.same, 1]);
  }
});

it('reports a non-skippable record as changed although it is the same', () => {
  const [entry = new Int32Array(4)] = entries;
  for (const known of opened()) {
    expect([...known.compare(entry, new Uint8Array(1))]).toEqual([matchKind.changed]);
  }
});

it('reports each key once that no record contained', () => {
  const met = joined(entries.slice(0, 100));
  for (const known of opened()) {
    known.compare(met, rest(100));
    expect(entries.filter((entry) => known.isMissed(entry))).toHaveLength(entries.length - 100);
    expect(entries.some((entry) => known.isMissed(entry))).toBe(false);
    const asked = entries.flatMap((entry) => [entry, entryOf([word(), word()])]);
    const wanted = asked.map((_, n) => (n % 2 === 0 ? 1 : 0));
    expect([...known.has(joined(asked))]).toEqual(wanted);
    expect(known.isMissed(entryOf([word(), word()]))).toBe(false);
  }
});

it('sends colliding entries that do not fit, and never reports a false match', () => {
  const crowd = Array.from({ length: 9000 }, (_, n) => entryOf([n, -1]));
  const table = new BaselineTable(crowd.length);
  table.add(joined(crowd));
  const answers = table.compare(joined(crowd), rest(crowd.length));
  expect(new Set(answers)).toEqual(new Set([matchKind.same, matchKind.unknown]));
  const others = crowd.map((entry) => entryOf([entry[0]!, -1]));
  expect(table.compare(joined(others), rest(others.length)).includes(matchKind.same)).toBe(false);
});

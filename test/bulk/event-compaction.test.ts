import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  archivedState,
  archiveWords,
  ArchiveWriter,
  EventArchive,
  matchCopies,
  splitMatched,
} from '../../src/bulk/event-memory/event-archive.js';
import { makeWorld } from '../support/test-environment.js';
import {
  archiveCompleted,
  compact,
  EventSorter,
  SortedEvents,
} from '../../src/bulk/event-memory/event-compaction.js';
import {
  EventLog,
  eventState,
  RecentEvents,
  type EventState,
} from '../../src/bulk/event-memory/event-log.js';
import { runs } from '../support/property-runs.js';

it('needs no archive for events that were all taken back', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-compaction-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const events = new RecentEvents();
  for (const state of [eventState.intended, eventState.retracted])
    events.add({ state, run: 1, fingerprints: Int32Array.of(7, 8) });
  const log = path.join(folder, 'sent-1.log');
  expect(await archiveCompleted(log, events, new SortedEvents(0))).toBeUndefined();
  expect(readdirSync(folder)).toEqual([]);
});

it.each([
  ['one after the other', 1],
  ['in turns with others', 3],
  ['in turns with a thousand others', 1002],
])('archives very many equal events as one entry with their number, %s', async (_, kinds) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-compaction-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  const size = 1002;
  const batches = runs(1200); // more than a million events in the long suite
  const batch = new Int32Array(2 * size).map((_word, at) => 7 + ((at >> 1) % kinds));
  for (let n = 0; n < batches; n += 1) {
    log.append(eventState.intended, 1, batch);
    log.append(eventState.sent, 1, batch);
  }
  log.close();
  const ended = { first: 1, hasEnded: () => true };
  await compact(folder, ended, { expired: new Set<number>(), isPruning: true });
  const [name = ''] = readdirSync(folder);
  const archive = new EventArchive(path.join(folder, name));
  const found = [...archive.find(7, 7)];
  const { count } = archive;
  archive.close();
  expect(found).toMatchObject([{ run: 1, state: 0, copies: (batches * size) / kinds }]);
  expect(count).toBe(kinds);
});

it('keeps the events of a killed run, and counts them as unknown once the run has ended', async () => {
  const folder = makeWorld().cwd;
  const log = new EventLog(path.join(folder, 'sent-1.log'));
  log.append(eventState.intended, 1, Int32Array.of(7, 8));
  log.close();
  const found = async (hasEnded: boolean) => {
    const runs = { first: 1, hasEnded: () => hasEnded };
    await compact(folder, runs, { expired: new Set<number>(), isPruning: true });
    const archive = new EventArchive(path.join(folder, 'sent-1-1.archive'));
    const copies = [...archive.find(7, 8)];
    archive.close();
    return copies;
  };
  expect(await found(false)).toMatchObject([{ run: 1, state: archivedState.intended, copies: 1 }]);
  expect(await found(true)).toMatchObject([{ run: 1, state: archivedState.unknown, copies: 1 }]);
});

it('finds every event of merged archives, and asks the file for few that are new', async () => {
  const world = makeWorld();
  const folder = world.cwd;
  const { random } = world.runtime();
  const count = 100_000;
  const word = () => Math.floor(random() * 2 ** 32) | 0;
  const sorted = () =>
    Array.from({ length: count }, () => [word(), word()] as const).toSorted(
      ([, a], [, b]) => (a >>> 0) - (b >>> 0),
    );
  const all = [sorted(), sorted()];
  for (const [index, events] of all.entries()) {
    const writer = new ArchiveWriter(
      path.join(folder, `sent-${index + 1}-${index + 1}.archive`),
      count,
    );
    for (const [low, high] of events) writer.add(Int32Array.of(low, high, index + 1, 4), 0);
    await writer.finish();
  }
  const runs = { first: 1, hasEnded: () => true };
  await compact(folder, runs, { expired: new Set<number>() });
  expect(readdirSync(folder)).toEqual(['sent-1-2.archive']);
  const archive = new EventArchive(path.join(folder, 'sent-1-2.archive'));
  onTestFinished(() => archive.close());
  expect(archive.count).toBe(2 * count);
  const candidatesOf = (words: Int32Array) => {
    const candidates = new Uint8Array(words.length / 2);
    archive.filter(words, candidates);
    return candidates.reduce((sum, one) => sum + one, 0);
  };
  expect(candidatesOf(Int32Array.from(all.flat(2)))).toBe(2 * count);
  expect(candidatesOf(new Int32Array(2 * count).map(word))).toBeLessThan(0.06 * count);
  for (const [index, events] of all.entries()) {
    for (const [low, high] of events.filter((_event, at) => at % 997 === 0)) {
      expect([...archive.find(low, high)]).toMatchObject([{ run: index + 1, copies: 1 }]);
    }
  }
});

/** Fingerprints that share halves, and have the sign bit set or not. */
const printOf = (event: number): [low: number, high: number] => [
  [0, 7, -1, 0x4000_0000][event & 3]!,
  event < 4 ? 7 : -7,
];
const eventNumbers = fc.nat(7);

/** The entries of an archive, in order. */
function entriesOf(file: string): number[][] {
  const archive = new EventArchive(file, { isFiltered: false });
  const entries: number[][] = [];
  for (const words of archive.all()) {
    for (let at = 0; at < words.length; at += archiveWords)
      entries.push([...words.subarray(at, at + archiveWords)]);
  }
  archive.close();
  return entries;
}

describe('a model of copies', () => {
  const zero = { sent: 0, unknown: 0, intended: 0, missing: 0 };
  type Counts = typeof zero;
  const step = fc.record({
    event: eventNumbers,
    run: fc.integer({ min: 1, max: 3 }),
    state: fc.constantFrom<EventState>(1, 1, 2, 3, 4, 5),
  });

  /**
   * Appends the steps to a log, and applies them to the model; an outcome has an intent before it. What a killed run
   * intended according to older archives, `before`, may be reported as unknown.
   */
  function append(
    log: EventLog,
    steps: readonly { event: number; run: number; state: EventState }[],
    before: ReadonlyMap<string, Counts>,
  ) {
    const counts = new Map<string, Counts>();
    for (const { event, run, state: wanted } of steps) {
      const key = `${event} ${run}`;
      const of = counts.get(key) ?? { ...zero };
      counts.set(key, of);
      const isOutcome = wanted !== eventState.intended && wanted !== eventState.missing;
      const old = wanted === eventState.unknown ? (before.get(key)?.intended ?? 0) : 0;
      const state = isOutcome && of.intended + old <= 0 ? eventState.intended : wanted;
      log.append(state, run, Int32Array.from(printOf(event)));
      if (state === eventState.intended) of.intended += 1;
      else if (state === eventState.missing) of.missing += 1;
      else of.intended -= 1;
      if (state === eventState.sent) of.sent += 1;
      if (state === eventState.unknown) of.unknown += 1;
    }
    return counts;
  }

  /** Counts in an archive, for these counts in the log. */
  function archived({ sent, unknown, intended, missing }: Counts, hasEnded: boolean): Counts {
    const all = hasEnded ? unknown + intended : unknown;
    const found = Math.min(all, missing);
    const left = { unknown: all - found, missing: missing - found };
    return { sent, ...left, intended: hasEnded ? 0 : intended };
  }

  it('agrees with a log that is read, with its archive, and with archives that were merged', async () => {
    const logs = fc.array(fc.array(step, { minLength: 1, maxLength: 60 }), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(logs, fc.subarray([1, 2, 3]), async (parts, ended) => {
        const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-model-'));
        const expected = new Map<string, Counts>();
        const apart: number[][] = [];
        const options = { expired: new Set<number>(), isPruning: true };
        const state = {
          first: 1,
          hasEnded: (run: number) => ended.includes(run),
        };
        for (const [index, steps] of parts.entries()) {
          const file = path.join(folder, `sent-${index + 1}.log`);
          const log = new EventLog(file);
          const counts = append(log, steps, expected);
          const recent = new RecentEvents();
          for (const block of log.read()) recent.add(block);
          log.close();
          for (const [key, of] of counts) {
            const [event, run] = key.split(' ').map(Number) as [number, number];
            const found = [...recent.find(...printOf(event))].filter((one) => one.run === run);
            expect(found).toMatchObject([of]);
            const sum = expected.get(key) ?? zero;
            expected.set(key, {
              sent: sum.sent + of.sent,
              unknown: sum.unknown + of.unknown,
              intended: sum.intended + of.intended,
              missing: sum.missing + of.missing,
            });
          }
          // An archive of this log alone, with which older ones are not merged.
          const alone = mkdtempSync(path.join(tmpdir(), 'engagectl-model-'));
          copyFileSync(file, path.join(alone, 'sent-1.log'));
          await compact(alone, state, options);
          for (const name of readdirSync(alone)) apart.push(...entriesOf(path.join(alone, name)));
          rmSync(alone, { recursive: true });
          await compact(folder, state, options);
        }
        const entries = [...expected].flatMap(([key, counts]) => {
          const [event, run] = key.split(' ').map(Number) as [number, number];
          const of = archived(counts, ended.includes(run));
          return Object.entries(archivedState).flatMap(([name, number]) => {
            const copies = of[name as keyof Counts];
            return copies > 0 ? [[...printOf(event), run, 4 * copies + number]] : [];
          });
        });
        for (const [key, counts] of expected) {
          const [event, run] = key.split(' ').map(Number) as [number, number];
          const of = archived(counts, ended.includes(run));
          const sums = [0, 0, 0, 0];
          const own = [...printOf(event), run].join();
          for (const [low, high, by, word] of apart)
            if ([low, high, by].join() === own) sums[word! & 3]! += word! >> 2;
          const [sent, unknown, intended, missing] = sums as [number, number, number, number];
          const known = { sent, unknown: unknown - missing, intended };
          expect(known).toEqual({
            sent: of.sent,
            unknown: of.unknown - of.missing,
            intended: of.intended,
          });
        }
        const [name] = readdirSync(folder);
        const inOrder = entries.toSorted(
          (a, b) =>
            (a[1]! >>> 0) - (b[1]! >>> 0) ||
            (a[0]! >>> 0) - (b[0]! >>> 0) ||
            a[2]! - b[2]! ||
            (a[3]! & 3) - (b[3]! & 3),
        );
        expect(name ? entriesOf(path.join(folder, name)) : []).toEqual(inOrder);
        rmSync(folder, { recursive: true });
      }),
      { numRuns: runs(150) },
    );
  });

  it('agrees with what archives of inputs have in common, and with their division', async () => {
    const inputs = fc.array(fc.array(eventNumbers, { minLength: 1, maxLength: 20 }), {
      minLength: 2,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(inputs, async (contents) => {
        const folder = mkdtempSync(path.join(tmpdir(), 'engagectl-inputs-'));
        const files: string[] = [];
        for (const [index, events] of contents.entries()) {
          const own = path.join(folder, `${index}`);
          mkdirSync(own);
          const sorter = new EventSorter(own);
          sorter.add(Int32Array.from(events.flatMap((event) => printOf(event))));
          files.push(await sorter.finish());
          sorter.close();
        }
        const copiesOf = (of: readonly number[]) => (event: number) =>
          of.filter((one) => one === event).length;
        const [own, ...others] = contents.map((of) => [0, 1, 2, 3, 4, 5, 6, 7].map(copiesOf(of)));
        const archive = new EventArchive(files[0]!);
        const matched = own!.map(() => 0);
        for (const [index, other] of others.entries()) {
          const more = own!.map((copies, event) =>
            Math.min(copies - matched[event]!, other[event]!),
          );
          for (const [event, count] of more.entries()) matched[event]! += count;
          const compared = new EventArchive(files[index + 1]!, { isFiltered: false });
          const total = more.reduce((sum, count) => sum + count, 0);
          expect(await matchCopies(archive, compared)).toBe(total);
          compared.close();
        }
        const names = { rest: path.join(folder, 'rest'), matched: path.join(folder, 'matched') };
        await splitMatched(archive, names);
        archive.close();
        const inFile = (file: string) =>
          (existsSync(file) ? entriesOf(file) : []).map(([low, high, , copies]) => [
            low,
            high,
            copies,
          ]);
        const inModel = (counts: readonly number[]) =>
          counts.flatMap((count, event) => (count > 0 ? [[...printOf(event), 4 * count]] : []));
        const lowFirst = (entries: unknown[][]) => entries.map(String).toSorted();
        const rest = own!.map((copies, event) => copies - matched[event]!);
        expect(lowFirst(inFile(names.rest))).toEqual(lowFirst(inModel(rest)));
        expect(lowFirst(inFile(names.matched))).toEqual(lowFirst(inModel(matched)));
        rmSync(folder, { recursive: true });
      }),
      { numRuns: runs(150) },
    );
  });
});

it('finds each of thousands of recent events, and no others', () => {
  // Neighbors, so that the last places of a table are taken and looking on goes to its start.
  for (const [first, count] of [
    [700, 500],
    [0, 10_000],
  ] as const) {
    const recent = new RecentEvents();
    const fingerprints = Int32Array.from({ length: 2 * count }, (_, at) =>
      at % 2 === 0 ? 0 : first + (at >> 1),
    );
    recent.add({ state: eventState.sent, run: 1, fingerprints });
    const all = Array.from({ length: first + count + 3000 }, (_, high) => high);
    expect(all.filter((high) => recent.has(0, high))).toEqual(all.slice(first, first + count));
    const found = all.flatMap((high) => [...recent.find(0, high)]);
    expect(found.every(({ run, sent }) => run === 1 && sent === 1)).toBe(true);
    expect(found).toHaveLength(count);
  }
});

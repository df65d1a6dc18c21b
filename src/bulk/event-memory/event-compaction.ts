import path from 'node:path';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { Breaks } from '../../event-loop.js';
import { temporaryPath, fsyncFolder } from '../../files/atomic-write.js';
import { fingerprintWords } from '../../text/record-hash.js';
import {
  archivedState,
  archiveWords,
  ArchiveWriter,
  CorruptArchive,
  entryBytes,
  EventArchive,
} from './event-archive.js';
import {
  blocksOf,
  EventLog,
  eventState,
  unlessDamaged,
  type EventBlock,
  type EventState,
  type RecentEvents,
} from './event-log.js';

/** The runs, as far as compaction depends on them. */
interface Runs {
  /** All runs with lower numbers have expired. */
  readonly first: number;
  /** Whether all events of the run were reported. */
  hasEnded(number: number): boolean;
}

/** Bytes of the log from which its events are moved to an archive (250,000 events). */
const logMaximum = 4 * 1024 * 1024;
/** Entries that are sorted at once (10 MB, and 4 MB for their order), in less than 100 ms. */
const sortedMaximum = 500_000;

/**
 * A file of events: an archive of the logs `from` to `to`, or a log. An archive replaces the logs and
 * archives within its range, which a kill may have left behind.
 */
interface EventFile {
  readonly name: string;
  readonly kind: 'archive' | 'log';
  readonly from: number;
  readonly to: number;
}

/** Throws CorruptArchive if one is not a file: a pipe would be waited for. */
export function eventFiles(folder: string): readonly EventFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((found) => {
    const { name } = found;
    if (/^(?:sent-|runs\.ndjson$)/.test(name) && !found.isFile()) {
      throw new CorruptArchive(`${name} is not a file`);
    }
    const archive = /^sent-(\d+)-(\d+)\.archive$/.exec(name);
    if (archive) {
      return { name, kind: 'archive', from: Number(archive[1]), to: Number(archive[2]) };
    }
    const log = /^sent-(\d+)\.log$/.exec(name);
    return log ? { name, kind: 'log', from: Number(log[1]), to: Number(log[1]) } : [];
  });
}

/** Splits the files into those that count, archives first, and those that others replace. */
export function currentFiles(folder: string) {
  const files = eventFiles(folder);
  const isReplaced = (file: EventFile) =>
    files.some(
      (other) =>
        other !== file &&
        other.kind === 'archive' &&
        other.from <= file.from &&
        other.to >= file.to,
    );
  const current = files.filter((file) => !isReplaced(file));
  const ofKind = (kind: EventFile['kind']) =>
    current.filter((file) => file.kind === kind).toSorted((a, b) => a.from - b.from);
  return { archives: ofKind('archive'), logs: ofKind('log'), replaced: files.filter(isReplaced) };
}

const archiveName = (from: number, to: number): string => `sent-${from}-${to}.archive`;
export const logName = (number: number): string => `sent-${number}.log`;

export interface CompactionOptions {
  /** Runs whose events are dropped. */
  readonly expired: ReadonlySet<number>;
  /** Rewrite all files, and not only where it pays. */
  readonly isPruning?: boolean;
  /** Called with a log of which a part is damaged, before the rest is archived. Default: it stays as it is. */
  readonly onDamage?: (log: string) => void;
}

/**
 * Moves the events of a long log to an archive, and merges archives so that each is more than twice as
 * large as the next. Returns how many events of expired runs it dropped. No other process may use the
 * files.
 */
export async function compact(
  folder: string,
  runs: Runs,
  options: CompactionOptions,
): Promise<number> {
  const { expired, isPruning = false, onDamage } = options;
  removeReplaced(folder);
  const log = currentFiles(folder).logs.at(-1);
  const bytes = log ? statSync(path.join(folder, log.name)).size : 0;
  if (log && bytes > (isPruning ? 0 : logMaximum))
    await archiveLog(folder, log, runs, onDamage).catch(unlessDamaged);
  const merged = (files: readonly EventFile[]) => mergeArchives(folder, files, { runs, expired });
  if (isPruning) return merged(currentFiles(folder).archives);
  let removed = 0;
  for (;;) {
    const last = currentFiles(folder).archives.slice(-2);
    const [first = 0, second = 0] = last.map(({ name }) => statSync(path.join(folder, name)).size);
    if (last.length < 2 || first > 2 * second) return removed;
    removed += await merged(last);
  }
}

/** Removes the files that a killed compaction left behind. */
function removeReplaced(folder: string): void {
  for (const { name } of currentFiles(folder).replaced) rmSync(path.join(folder, name));
  for (const name of readdirSync(folder)) {
    if (/^\.engagectl-.*\.tmp$/.test(name)) rmSync(path.join(folder, name));
  }
}

/** Replaces a log by an archive. Without `onDamage`, throws DamagedLog for a damaged one, and changes nothing. */
async function archiveLog(
  folder: string,
  { name, from, to }: Pick<EventFile, 'name' | 'from' | 'to'>,
  runs: Pick<Runs, 'hasEnded'>,
  onDamage?: CompactionOptions['onDamage'],
): Promise<void> {
  const log = path.join(folder, name);
  const blocks = () => blocksOf(log, onDamage);
  await writeArchive(path.join(folder, archiveName(from, to)), blocks, runs);
  rmSync(log);
  fsyncFolder(folder);
}

/** Events of a log in an archive that only this process has. */
export interface EndedEvents {
  readonly archive: EventArchive;
  /** It has the events of the runs that have ended, up to this position in the log. */
  readonly position: number;
}

/**
 * Archives the events of ended runs in a long log for this process alone, because other processes use the log.
 * Undefined if the log is short, has none, or the disk has no room. The file has no name any more.
 */
export async function archiveEnded(log: string, runs: Runs): Promise<EndedEvents | undefined> {
  const until = statSync(log).size;
  if (until <= logMaximum) return undefined;
  const file = temporaryPath(log);
  let position = 0;
  const blocks = function* () {
    const opened = new EventLog(log);
    try {
      for (const block of opened.read(until)) {
        ({ position } = opened);
        if (runs.hasEnded(block.run)) yield block;
      }
    } finally {
      opened.close();
    }
  };
  try {
    if (!(await writeArchive(file, blocks, runs))) return undefined;
    return { archive: new EventArchive(file), position };
  } catch (error) {
    if (error instanceof Error && 'errno' in error) return undefined;
    throw error;
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * Archives events that have an outcome, for this process alone: the file is open and removed from its folder. They are
 * sorted in `sorted`, which is used again. Throws an error of the file system.
 */
export async function archiveCompleted(
  log: string,
  events: RecentEvents,
  sorted: SortedEvents,
): Promise<EventArchive | undefined> {
  const file = temporaryPath(log);
  const writer = new ArchiveWriter(file, events.count);
  try {
    sorted.clear();
    const breaks = new Breaks();
    for (const event of events.entries()) {
      if (breaks.areDue(4 * sortedWords)) await breaks.take();
      const { low, high, run } = event;
      for (const state of ['sent', 'unknown', 'intended', 'missing'] as const) {
        if (event[state] !== 0) sorted.put(low, high, run, eventState[state], event[state]);
      }
    }
    await sorted.writeTo(writer, { hasEnded: () => false }, (count) => count('intended'));
    return (await writer.finish()) ? new EventArchive(file) : undefined; // all of them were taken back
  } finally {
    writer.discard();
    rmSync(file, { force: true });
  }
}

/** Writes the events of blocks, which are read once for each range of fingerprints that is sorted in memory. Returns whether there are any. */
async function writeArchive(
  target: string,
  blocks: () => Iterable<EventBlock>,
  runs: Pick<Runs, 'hasEnded'>,
): Promise<boolean> {
  const { most, entries } = await countEvents(blocks());
  const writer = new ArchiveWriter(target, most);
  try {
    const parts = Math.ceil(entries / sortedMaximum) || 1;
    const sorted = new SortedEvents(entries / parts);
    const breaks = new Breaks();
    let isDamaged = false;
    for (let part = 0; part < parts; part += 1) {
      sorted.clear();
      for (const block of blocks()) {
        isDamaged ||= block.isAfterDamage === true;
        sorted.add(block, startOf(part, parts), startOf(part + 1, parts));
        if (breaks.areDue(4 * block.fingerprints.length)) await breaks.take();
      }
      await sorted.writeTo(writer, runs, isDamaged ? openInDamaged : openIn);
    }
    return await writer.finish();
  } finally {
    writer.discard();
  }
}

/** Sorts the events of one input into an archive, in a folder of its own. Memory does not depend on their number. */
export class EventSorter {
  readonly #folder: string;
  readonly #log: EventLog;

  /** Throws an error of the file system, like `add` and `finish`. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#log = new EventLog(path.join(folder, logName(1)));
  }

  add(fingerprints: Int32Array): void {
    this.#log.append(eventState.intended, 1, fingerprints);
  }

  /** Returns the archive's path, with one entry for each event. There must be events. */
  async finish(): Promise<string> {
    await archiveLog(this.#folder, { name: logName(1), from: 1, to: 1 }, { hasEnded: () => true });
    return path.join(this.#folder, archiveName(1, 1));
  }

  close(): void {
    this.#log.close();
  }
}

const startOf = (part: number, parts: number): number => Math.floor((2 ** 32 * part) / parts);

async function countEvents(blocks: Iterable<EventBlock>) {
  let [most, entries] = [0, 0];
  const breaks = new Breaks();
  for (const { state, fingerprints } of blocks) {
    const events = fingerprints.length / fingerprintWords;
    entries += events;
    if (state === eventState.intended || state === eventState.missing) most += events;
    if (state === eventState.unknown) most += events; // its intent may be in an older archive
    if (breaks.areDue(4 * fingerprints.length)) await breaks.take();
  }
  return { most, entries };
}

/** Maximum index that fits beside 32 bits of fingerprint into the 53 bits of a number. */
const indexes = 2 ** 21;

/** Lower and upper half of the fingerprint, run, state in the log, and how many copies there are. */
const sortedWords = 5;

/** Sorts the events of a log in one range of fingerprints. */
export class SortedEvents {
  #words: Int32Array;
  #order = new Float64Array(0);
  #count = 0;

  /** `expected` is an estimate of their number. */
  constructor(expected: number) {
    this.#words = new Int32Array(sortedWords * (Math.ceil(1.05 * expected) + 1024));
  }

  clear(): void {
    this.#count = 0;
  }

  /** Adds those whose upper half is in the range. */
  add({ state, run, fingerprints }: EventBlock, from: number, to: number): void {
    for (let index = 0; index < fingerprints.length; index += fingerprintWords) {
      const high = fingerprints[index + 1]! >>> 0;
      if (high < from || high >= to) continue;
      this.put(fingerprints[index]!, fingerprints[index + 1]!, run, state, 1);
    }
  }

  // oxlint-disable-next-line max-params -- called for each event
  put(low: number, high: number, run: number, state: EventState, copies: number): void {
    if (this.#count === indexes) this.#merge();
    const at = sortedWords * this.#count;
    if (at === this.#words.length) this.#grow();
    this.#words[at] = low;
    this.#words[at + 1] = high;
    this.#words[at + 2] = run;
    this.#words[at + 3] = state;
    this.#words[at + 4] = copies;
    this.#count += 1;
  }

  /** Sorts the entries, and counts equal ones in one: an input may have a million equal events. */
  #merge(): void {
    const words = this.#words;
    const merged = new Int32Array(words.length);
    let end = 0;
    for (const at of this.#sorted()) {
      const before = end - sortedWords;
      const isEqual =
        end > 0 && [0, 1, 2, 3].every((word) => merged[before + word] === words[at + word]);
      if (isEqual) merged[before + 4]! += words[at + 4]!;
      else {
        merged.set(words.subarray(at, at + sortedWords), end);
        end += sortedWords;
      }
    }
    this.#words = merged;
    this.#count = end / sortedWords;
    if (this.#count === indexes) throw new RangeError(`${this.#count} events are too many`);
  }

  /** Writes how many copies of each event are in each state, in order. `open` returns those without an outcome. */
  async writeTo(writer: ArchiveWriter, runs: Pick<Runs, 'hasEnded'>, open: typeof openIn) {
    const words = this.#words;
    let states = new Map<number, number>();
    const count: CountOf = (state) => states.get(eventState[state]) ?? 0;
    let last: number | undefined;
    const write = () => {
      if (last === undefined) return;
      const [low, high, run] = [words[last]!, words[last + 1]!, words[last + 2]!];
      const copies = [count('sent'), count('unknown'), open(count), count('missing')] as const;
      writeCopies(writer, [low, high, run], withKnownOutcomes(copies, runs.hasEnded(run)));
    };
    const breaks = new Breaks();
    for (const at of this.#sorted()) {
      if (breaks.areDue(4 * sortedWords)) await breaks.take();
      const isSame =
        last !== undefined && [0, 1, 2].every((word) => words[last! + word] === words[at + word]);
      if (!isSame) {
        write();
        states = new Map();
      }
      last = at;
      const state = words[at + 3]!;
      states.set(state, (states.get(state) ?? 0) + words[at + 4]!);
    }
    write();
  }

  /** Yields the positions of the entries in the order of fingerprint, run and state. */
  *#sorted(): Generator<number> {
    const words = this.#words;
    if (this.#order.length < this.#count) this.#order = new Float64Array(this.#count);
    const order = this.#order.subarray(0, this.#count);
    for (let index = 0; index < order.length; index += 1) {
      order[index] = (words[sortedWords * index + 1]! >>> 0) * indexes + index;
    }
    order.sort();
    for (let first = 0, next = 0; first < order.length; first = next) {
      const high = Math.floor(order[first]! / indexes);
      while (next < order.length && order[next]! < (high + 1) * indexes) next += 1;
      if (next === first + 1) {
        yield sortedWords * (order[first]! - high * indexes);
        continue;
      }
      const same = Array.from(
        order.subarray(first, next),
        (number) => sortedWords * (number - high * indexes),
      );
      yield* same.sort(
        (a, b) =>
          (words[a]! >>> 0) - (words[b]! >>> 0) ||
          words[a + 2]! - words[b + 2]! ||
          words[a + 3]! - words[b + 3]!,
      );
    }
  }

  #grow(): void {
    const larger = new Int32Array(2 * this.#words.length);
    larger.set(this.#words);
    this.#words = larger;
  }
}

/** Copies of an event of one run in each `archivedState`, by its number. */
type Copies = readonly [sent: number, unknown: number, intended: number, missing: number];

/** Returns the number of entries of an event in a state. */
type CountOf = (state: keyof typeof eventState) => number;

/**
 * Returns how many copies of an event in a log have no outcome. The number is negative for those that were reported and
 * whose intents are in an older archive, so that the sum is right.
 */
const openIn = (count: CountOf): number =>
  count('intended') - count('sent') - count('unknown') - count('retracted');

/** The same for a damaged log, in which intents may be lost. */
const openInDamaged = (count: CountOf): number => Math.max(0, openIn(count));

/** Counts the intended copies of a run that has ended as unknown, and removes unknown ones that are missing. */
function withKnownOutcomes([sent, unknown, intended, missing]: Copies, hasEnded: boolean): Copies {
  const all = hasEnded ? unknown + intended : unknown;
  const found = Math.min(all, missing);
  return [sent, all - found, hasEnded ? 0 : intended, missing - found];
}

const entry = new Int32Array(archiveWords);

function writeCopies(
  writer: ArchiveWriter,
  [low, high, run]: readonly [number, number, number],
  copies: Copies,
): void {
  for (const [state, count] of copies.entries()) {
    if (count === 0) continue;
    entry.set([low, high, run, count * 4 + state]);
    writer.add(entry, 0);
  }
}

/** Merges archives of neighboring ranges to one, without expired runs. Returns how many events it dropped. */
async function mergeArchives(
  folder: string,
  files: readonly EventFile[],
  { runs, expired }: { readonly runs: Runs; readonly expired: ReadonlySet<number> },
): Promise<number> {
  if (files.length === 0) return 0;
  const archives = files.map(
    ({ name }) => new EventArchive(path.join(folder, name), { isFiltered: false }),
  );
  const name = archiveName(files[0]!.from, files.at(-1)!.to);
  const total = archives.reduce((sum, { count }) => sum + count, 0);
  const writer = new ArchiveWriter(path.join(folder, name), total);
  let dropped = 0;
  const { first: firstRun } = runs;
  const breaks = new Breaks();
  try {
    const cursors = archives.map((archive) => new ArchiveCursor(archive));
    for (;;) {
      const first = cursors.reduce((a, b) => (order(b, a) < 0 ? b : a));
      if (first.isAtEnd) break;
      if (breaks.areDue(entryBytes)) await breaks.take();
      const key = [first.words[first.at]!, first.words[first.at + 1]!, first.run] as const;
      const copies: [number, number, number, number] = [0, 0, 0, 0];
      for (const cursor of cursors) {
        for (; cursor.isOf(key); cursor.next()) copies[cursor.state]! += cursor.copies;
      }
      if (expired.has(key[2]) || key[2] < firstRun)
        dropped += copies[archivedState.sent] + copies[archivedState.unknown];
      else writeCopies(writer, key, withKnownOutcomes(copies, runs.hasEnded(key[2])));
    }
    if (!(await writer.finish())) rmSync(path.join(folder, name), { force: true });
  } finally {
    writer.discard();
    for (const archive of archives) archive.close();
  }
  for (const file of files) if (file.name !== name) rmSync(path.join(folder, file.name));
  return dropped;
}

/** Iterates over the entries of an archive. */
class ArchiveCursor {
  words: Int32Array = new Int32Array(0);
  at = 0;
  isAtEnd = false;
  readonly #buckets: Generator<Int32Array>;

  constructor(archive: EventArchive) {
    this.#buckets = archive.all();
    this.#fill();
  }

  get run(): number {
    return this.words[this.at + 2]!;
  }

  get state(): number {
    return this.words[this.at + 3]! & 3;
  }

  get copies(): number {
    return this.words[this.at + 3]! >> 2;
  }

  isOf([low, high, run]: readonly [number, number, number]): boolean {
    const { words, at } = this;
    return !this.isAtEnd && words[at] === low && words[at + 1] === high && words[at + 2] === run;
  }

  next(): void {
    this.at += archiveWords;
    if (this.at === this.words.length) this.#fill();
  }

  #fill(): void {
    this.at = 0;
    do {
      const next = this.#buckets.next();
      this.isAtEnd = next.done === true;
      this.words = next.done ? new Int32Array(0) : next.value;
    } while (this.words.length === 0 && !this.isAtEnd);
  }
}

/** Orders two cursors by the entry that they are at; one at its end is last. */
function order(a: ArchiveCursor, b: ArchiveCursor): number {
  if (a.isAtEnd || b.isAtEnd) return Number(a.isAtEnd) - Number(b.isAtEnd);
  const word = (cursor: ArchiveCursor, index: number) => cursor.words[cursor.at + index]! >>> 0;
  return word(a, 1) - word(b, 1) || word(a, 0) - word(b, 0) || a.run - b.run;
}

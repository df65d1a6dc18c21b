import { closeSync, fdatasync, fstatSync, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { Breaks, nextTurn } from '../../event-loop.js';
import { openToAppend } from '../../files/atomic-write.js';
import { bytesOf } from '../change-tracking/baseline-file.js';
import { fingerprintWords } from '../../text/record-hash.js';

const syncData = promisify(fdatasync);

/** State of the events of a block. */
export const eventState = {
  /** They are about to be sent. */
  intended: 1,
  /** The service accepted them. */
  sent: 2,
  /** No answer showed whether the service processed them, and a run reported that. */
  unknown: 3,
  /** Provably not processed: the intent is taken back. */
  retracted: 4,
  /** They were unknown, and a look-up found them missing. */
  missing: 5,
} as const;

export type EventState = (typeof eventState)[keyof typeof eventState];

export interface EventBlock {
  readonly state: EventState;
  /** Number of the run. */
  readonly run: number;
  /** Two numbers each; valid until the next block is read. */
  readonly fingerprints: Int32Array;
  /** A damaged block comes before it, so that the intent of its events may be lost. */
  readonly isAfterDamage?: boolean;
}

/** Numbers before the fingerprints: signature, state, run, count, checksum of the fingerprints, of the head. */
const headWords = 6;
const headBytes = 4 * headWords;
const fingerprintBytes = 4 * fingerprintWords;
const magic = 0x45_56_4c_31;
const magicBytes = Buffer.from(Uint32Array.of(magic).buffer);

/**
 * The log that all runs of an account append to. Each block is appended by one write, so all processes
 * see the blocks in the same order, and of two that intend the same event the first one sends it.
 * A block that a full disk or a power cut tore is skipped: its events were not sent.
 */
export class EventLog {
  /** Whether a block was skipped that had been written as a whole, so its events may have been sent. */
  isDamaged = false;
  readonly #file: number;
  /** Everything before it was read. */
  #position = 0;

  /** Opens the log, and creates it if needed. Throws an error of the file system. */
  constructor(path: string) {
    this.#file = openToAppend(path);
  }

  get bytes(): number {
    return fstatSync(this.#file).size;
  }

  /** Appends a block. Throws if not all of it was written. */
  append(state: EventState, run: number, fingerprints: Int32Array): void {
    const payload = bytesOf(fingerprints);
    const count = fingerprints.length / fingerprintWords;
    const head = Uint32Array.of(magic, state, run, count, crc32(payload), 0);
    head[headWords - 1] = crc32(bytesOf(head).subarray(0, headBytes - 4));
    const block = Buffer.concat([bytesOf(head), payload]);
    const written = writeSync(this.#file, block);
    if (written === block.length) return;
    // The rest would report why, but may follow the block of another process.
    writeSync(this.#file, block, written);
    throw new Error('the event memory was not written as a whole');
  }

  /** Resolves when everything appended so far is on disk. */
  async sync(): Promise<void> {
    await syncData(this.#file);
  }

  /** End of the block that was read last. */
  get position(): number {
    return this.#position;
  }

  /** Yields the blocks that were appended since the last call, by any process, and that end within `until` bytes. */
  *read(until = Number.POSITIVE_INFINITY): Generator<EventBlock> {
    const size = Math.min(until, this.bytes);
    const head = Buffer.alloc(headBytes);
    let room = Buffer.alloc(0);
    while (this.#position + headBytes <= size) {
      this.#fill(head, this.#position);
      const block = headOf(head);
      const end = block && this.#position + headBytes + fingerprintBytes * block.count;
      const bytes = block && end! <= size ? end! - this.#position - headBytes : 0;
      if (bytes > room.length) room = Buffer.alloc(bytes);
      const payload = block && end! <= size ? room.subarray(0, bytes) : undefined;
      if (payload) this.#fill(payload, this.#position + headBytes);
      if (!block || (payload && crc32(payload) !== block.sum)) {
        const next = this.#nextBlock(this.#position + 1, size);
        this.isDamaged ||= next >= (end ?? this.#position + headBytes); // a torn block is shorter
        this.#position = next;
        continue;
      }
      if (!payload) {
        // Still being written, or torn, if an intact block follows.
        const next = this.#nextBlock(this.#position + 1, size);
        if (next + headBytes > size) return;
        this.#position = next;
        continue;
      }
      this.#position = end!;
      const { state, run } = block;
      const words = new Int32Array(payload.buffer, payload.byteOffset, payload.length / 4);
      yield { state, run, fingerprints: words, isAfterDamage: this.isDamaged };
    }
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Returns the position of the next intact head; `size` if there is none. */
  #nextBlock(from: number, size: number): number {
    const chunk = Buffer.alloc(64 * 1024);
    const head = Buffer.alloc(headBytes);
    for (let at = from; at < size; at += chunk.length - headBytes) {
      const read = readSync(this.#file, chunk, 0, chunk.length, at);
      const part = chunk.subarray(0, read);
      for (
        let found = part.indexOf(magicBytes);
        found >= 0;
        found = part.indexOf(magicBytes, found + 1)
      ) {
        if (at + found + headBytes > size) break;
        this.#fill(head, at + found);
        if (headOf(head)) return at + found;
      }
    }
    return size;
  }

  #fill(bytes: Buffer, position: number): void {
    for (let at = 0; at < bytes.length;) {
      const read = readSync(this.#file, bytes, at, bytes.length - at, position + at);
      if (read === 0) throw new Error('the event memory became shorter while it was read');
      at += read;
    }
  }
}

class DamagedLog extends Error {}

function refuseDamage(log: string): never {
  throw new DamagedLog(`a part of ${log} is damaged`);
}

/** Yields the blocks of a log. Calls `onDamage` at its end if a part of it is damaged; by default, throws DamagedLog. */
export function* blocksOf(
  file: string,
  onDamage: (log: string) => void = refuseDamage,
): Generator<EventBlock> {
  const log = new EventLog(file);
  try {
    yield* log.read();
    if (log.isDamaged) onDamage(file);
  } finally {
    log.close();
  }
}

/** Rethrows any other error. */
export function unlessDamaged(error: unknown): void {
  if (!(error instanceof DamagedLog)) throw error;
}

function headOf(bytes: Buffer) {
  const word = (index: number) => bytes.readUInt32LE(4 * index);
  if (word(0) !== magic || word(headWords - 1) !== crc32(bytes.subarray(0, headBytes - 4))) {
    return undefined;
  }
  return { state: word(1) as EventState, run: word(2), count: word(3), sum: word(4) };
}

/** An event that was not found in the account. */
export interface AbsentEvent {
  /** JSON text. */
  readonly text: string;
  /** The account has no equal one: all copies that were sent, also by other attempts, are missing. */
  readonly hasNone: boolean;
}

/** Events that were found in the account, equal to the second. */
export interface ArrivedEvents {
  /** JSON texts of those that arrived, of those that were looked up. */
  readonly texts: readonly string[];
  /** How many the account has. */
  readonly times: number;
  /** Whether all that were looked up arrived. */
  readonly isWhole: boolean;
}

/** Copies of an event that a run sent. */
export interface RunCopies {
  readonly run: number;
  /** Copies that count as sent, … */
  readonly sent: number;
  /** … and those among them that a run reported as unknown. */
  readonly reported: number;
  /** Copies whose outcome is unknown. */
  readonly unknown: number;
  /** Copies of a killed run, which nobody has reported. */
  readonly unreported: number;
  /** Copies of unknown outcome that a look-up found missing, and that may have been found later. */
  readonly missing: number;
}

export interface MatchedCopies extends RunCopies {
  /** Copies that events of the input were matched with. */
  readonly used: number;
  readonly use: () => void;
}

/** Adds up the copies of an event by run: an outcome may be in another place than its intent. */
export function copiesByRun(places: readonly RecentEvent[]): readonly RecentEvent[] {
  if (places.length < 2) return places;
  const runs = new Map<number, RecentEvent>();
  for (const place of places) {
    const sum = runs.get(place.run);
    runs.set(place.run, sum ? sumOf(sum, place) : place);
  }
  return [...runs.values()];
}

const sumOf = (a: RecentEvent, b: RecentEvent): RecentEvent => ({
  ...a,
  intended: a.intended + b.intended,
  sent: a.sent + b.sent,
  unknown: a.unknown + b.unknown,
  missing: a.missing + b.missing,
  used: a.used + b.used,
});

/** Repeats the fingerprint of an event. */
export const repeated = ([low, high]: Int32Array, copies: number): Int32Array =>
  Int32Array.from({ length: fingerprintWords * copies }, (_, at) => (at % 2 === 0 ? low! : high!));

/** Counts copies of killed runs that are reported as unknown, by run and event (`low,high`). */
export class ReportedCopies {
  readonly #runs = new Map<number, Map<string, number>>();

  add(run: number, event: string): void {
    const events = this.#runs.get(run) ?? new Map<string, number>();
    this.#runs.set(run, events.set(event, this.copies(run, event) + 1));
  }

  copies(run: number, event: string): number {
    return this.#runs.get(run)?.get(event) ?? 0;
  }

  runs(): Iterable<number> {
    return this.#runs.keys();
  }

  /** Returns the fingerprints of a run, one for each copy. */
  fingerprints(run: number): Int32Array {
    const prints: number[] = [];
    for (const [event, copies] of this.#runs.get(run) ?? [])
      for (let copy = 0; copy < copies; copy += 1) prints.push(...event.split(',').map(Number));
    return Int32Array.from(prints);
  }
}

/** Numbers in a block of found events (512 KB). */
const foundMaximum = fingerprintWords * 65_536;
/** Cost of looking up an event; see Breaks. */
const eventUnits = 512;

/** Parts of a memory that FoundEvents needs. */
interface Remembered {
  /** Number of the run of events that no other run sent. */
  readonly own: number;
  /** Whether a process may be working on a run. */
  readonly isOpen: (run: number) => boolean;
  readonly printOf: (text: string) => Int32Array;
  readonly copiesOf: (low: number, high: number) => Iterable<RunCopies>;
}

/** Collects what is to be appended for events that were found, so that uploads do not send them again. */
export class FoundEvents {
  readonly #remembered: Remembered;
  /** Fingerprints by run: of copies that count as sent, and of those whose outcome was unknown before. */
  readonly #sent = new Map<number, number[]>();
  readonly #resolved = new Map<number, number[]>();

  constructor(remembered: Remembered) {
    this.#remembered = remembered;
  }

  /** Whether events belong to the own run. */
  get hasOwn(): boolean {
    return this.#sent.has(this.#remembered.own);
  }

  async add(all: Iterable<ArrivedEvents>): Promise<void> {
    const breaks = new Breaks();
    for (const events of all) {
      const equal = new Map<string, number>();
      for (const text of events.texts) {
        const print = this.#remembered.printOf(text).join();
        equal.set(print, (equal.get(print) ?? 0) + 1);
      }
      for (const [print, copies] of equal) this.#addEqual(print, copies, events);
      if (breaks.areDue(eventUnits * events.texts.length)) await breaks.take();
    }
  }

  /**
   * Adds copies of an event. Those that were found missing, also of other attempts, count as sent again, as many as the
   * account has; if no copy is remembered, they are new. Those of unknown outcome are resolved.
   */
  #addEqual(text: string, copies: number, { times, isWhole }: ArrivedEvents): void {
    const { own, isOpen, copiesOf } = this.#remembered;
    const [low = 0, high = 0] = text.split(',').map(Number);
    const put = (to: Map<number, number[]>, run: number, count: number) => {
      const prints = to.get(run) ?? [];
      for (let copy = 0; copy < count; copy += 1) prints.push(low, high);
      if (count > 0) to.set(run, prints);
    };
    const closed: RunCopies[] = [];
    let [known, missing, missingOf] = [0, 0, own];
    for (const one of copiesOf(low, high)) {
      known += one.sent + one.unreported;
      missing += one.missing;
      if (isOpen(one.run)) continue;
      if (one.missing > 0) missingOf = one.run;
      closed.push(one);
    }
    const most = Math.max(missing, known > 0 ? 0 : copies);
    const added = Math.max(0, Math.min(most, times - known));
    put(this.#sent, missingOf, added);
    let open = isWhole ? copies - added : 0; // else nobody knows which of equal events arrived
    for (const { run, unknown } of closed) {
      const resolved = Math.max(0, Math.min(open, unknown));
      put(this.#sent, run, resolved);
      put(this.#resolved, run, resolved);
      open -= resolved;
    }
  }

  /** Appends all events. If it is killed, an event rather counts twice than not at all. */
  async appendTo(log: EventLog): Promise<void> {
    const { intended, sent, missing } = eventState;
    for (const [events, ...states] of [
      [this.#sent, intended, sent],
      [this.#resolved, missing],
    ] as const)
      for (const [run, prints] of events)
        for (let from = 0; from < prints.length; from += foundMaximum) {
          const block = Int32Array.from(prints.slice(from, from + foundMaximum));
          for (const state of states) log.append(state, run, block);
          await nextTurn();
        }
  }
}

/** Numbers of an entry: fingerprint, run, copies in each of four states, and copies that were matched. */
const recentWords = 8;
const at = { run: 2, intended: 3, sent: 4, unknown: 5, missing: 6, used: 7 } as const;

/** The events of a log, by fingerprint and run: a hash table with open addressing. */
export class RecentEvents {
  #words = new Int32Array(recentWords * 1024);
  #count = 0;

  /** Number of entries. */
  get count(): number {
    return this.#count;
  }

  /** Applies a block. Outcomes of events whose intents are in an archive make `intended` negative. */
  add({ state, run, fingerprints, isAfterDamage = false }: EventBlock): void {
    for (let index = 0; index < fingerprints.length; index += fingerprintWords) {
      const entry = this.#entryOf(fingerprints[index]!, fingerprints[index + 1]!, run);
      const words = this.#words;
      if (state === eventState.intended) words[entry + at.intended]! += 1;
      else if (state === eventState.missing) words[entry + at.missing]! += 1;
      else {
        if (words[entry + at.intended]! > 0 || !isAfterDamage) words[entry + at.intended]! -= 1;
        if (state === eventState.sent) words[entry + at.sent]! += 1;
        if (state === eventState.unknown) words[entry + at.unknown]! += 1;
      }
    }
  }

  has(low: number, high: number): boolean {
    const words = this.#words;
    let entry = startOf(low, high, words.length);
    while (words[entry + at.run] !== 0) {
      if (words[entry] === low && words[entry + 1] === high) return true;
      entry = entry + recentWords === words.length ? 0 : entry + recentWords;
    }
    return false;
  }

  /** Returns the entries of an event, one for each run. */
  find(low: number, high: number): readonly RecentEvent[] {
    const found: RecentEvent[] = [];
    const words = this.#words;
    const end = words.length;
    let entry = startOf(low, high, end);
    for (
      ;
      words[entry + at.run] !== 0;
      entry = entry + recentWords === end ? 0 : entry + recentWords
    ) {
      if (words[entry] !== low || words[entry + 1] !== high) continue;
      const usedAt = entry + at.used;
      found.push({
        run: words[entry + at.run]!,
        intended: words[entry + at.intended]!,
        sent: words[entry + at.sent]!,
        unknown: words[entry + at.unknown]!,
        missing: words[entry + at.missing]!,
        used: words[usedAt]!,
        use: () => {
          words[usedAt]! += 1;
        },
      });
    }
    return found;
  }

  /**
   * Moves the copies without an outcome to `open`, and those that were taken back. No later block of the log changes
   * what is left.
   */
  moveOpen(open: RecentEvents): void {
    const words = this.#words;
    for (let entry = 0; entry < words.length; entry += recentWords) {
      if (words[entry + at.run] === 0) continue;
      const hasOutcome =
        words[entry + at.sent]! + words[entry + at.unknown]! + words[entry + at.missing]! > 0;
      const intended = Math.max(0, words[entry + at.intended]!);
      const used = hasOutcome ? 0 : words[entry + at.used]!;
      if (intended + used === 0) continue;
      const moved = open.#entryOf(words[entry]!, words[entry + 1]!, words[entry + at.run]!);
      open.#words[moved + at.intended] = intended;
      open.#words[moved + at.used] = used;
      words[entry + at.intended]! -= intended;
      words[entry + at.used]! -= used;
    }
  }

  /** Removes all entries, and keeps the memory for others. */
  clear(): void {
    this.#words.fill(0);
    this.#count = 0;
  }

  /** Yields all entries. */
  *entries(): Generator<RecentEntry> {
    const words = this.#words;
    for (let entry = 0; entry < words.length; entry += recentWords) {
      if (words[entry + at.run] === 0) continue;
      yield {
        low: words[entry]!,
        high: words[entry + 1]!,
        run: words[entry + at.run]!,
        sent: words[entry + at.sent]!,
        unknown: words[entry + at.unknown]!,
        missing: words[entry + at.missing]!,
        intended: words[entry + at.intended]!,
      };
    }
  }

  /** Returns the number of copies of an entry that were matched, and makes it 0. */
  takeUsed(low: number, high: number, run: number): number {
    const usedAt = freeEntry(this.#words, low, high, run) + at.used;
    const used = this.#words[usedAt]!;
    this.#words[usedAt] = 0;
    return used;
  }

  #entryOf(low: number, high: number, run: number): number {
    if (2 * recentWords * this.#count > this.#words.length) this.#grow();
    const words = this.#words;
    const entry = freeEntry(words, low, high, run);
    if (words[entry + at.run] === 0) {
      words[entry] = low;
      words[entry + 1] = high;
      words[entry + at.run] = run;
      this.#count += 1;
    }
    return entry;
  }

  #grow(): void {
    const words = new Int32Array(2 * this.#words.length);
    for (let entry = 0; entry < this.#words.length; entry += recentWords) {
      const [low, high, run] = [
        this.#words[entry]!,
        this.#words[entry + 1]!,
        this.#words[entry + 2]!,
      ];
      if (run === 0) continue;
      words.set(this.#words.subarray(entry, entry + recentWords), freeEntry(words, low, high, run));
    }
    this.#words = words;
  }
}

/** An entry, and how many copies have which outcome. */
export interface RecentEntry {
  readonly low: number;
  readonly high: number;
  readonly run: number;
  readonly sent: number;
  readonly unknown: number;
  readonly missing: number;
  /** Negative for copies whose intents are in an archive. */
  readonly intended: number;
}

export interface RecentEvent {
  readonly run: number;
  /** Negative for copies whose intents are in an archive. */
  readonly intended: number;
  readonly sent: number;
  readonly unknown: number;
  readonly missing: number;
  /** Copies that records of this input were matched with. */
  readonly used: number;
  /** Counts one more copy as matched. */
  readonly use: () => void;
}

const startOf = (low: number, high: number, end: number): number =>
  recentWords * (((Math.imul(low, 0x9e3779b1) ^ high) >>> 0) % (end / recentWords));

/** Returns the entry of this event and run, or the free one in which it belongs. */
function freeEntry(words: Int32Array, low: number, high: number, run: number): number {
  let entry = startOf(low, high, words.length);
  while (
    words[entry + at.run] !== 0 &&
    (words[entry] !== low || words[entry + 1] !== high || words[entry + at.run] !== run)
  ) {
    entry = entry + recentWords === words.length ? 0 : entry + recentWords;
  }
  return entry;
}

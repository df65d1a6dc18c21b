import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { EngagectlError } from '../../errors.js';
import { limitRecords, type RowBlock } from '../../input/row-block.js';
import { JsonParser } from '../../text/json-parser.js';
import { sourceRecord } from '../../mapping/rejects-input.js';
import { stringifyLossless } from '../../text/lossless-json.js';
import { sentMembers, SentAddress, SentUser, type SentRecord } from './sent-records.js';
import { keyParts } from '../../text/record-hash.js';
import type { Inputs } from '../../input/inputs.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import type { SentEvents } from './sent-events.js';

/** What is held in memory at most: distinct users or addresses, and distinct events. */
const mostKeys = 500_000;

interface Reading {
  readonly mapper: Mapper;
  /** What the records are. */
  readonly kind: 'upload' | 'subscribe';
  /** Users or addresses of the sample. */
  readonly size: number;
  readonly seed: number;
  /** Take the lines of a rejects file whose outcome is unknown, and no others. */
  readonly settle: boolean;
  readonly limit: number | undefined;
  readonly signal: AbortSignal;
}

/** What an input says was sent. */
export class SentInput {
  /** Records, unreadable ones included; of a rejects file those that are to be settled. */
  read = 0;
  /** Records that would not be sent. */
  rejected = 0;
  readonly users: KeySample<SentUser>;
  readonly addresses: KeySample<SentAddress>;
  readonly events: SentEvents;
  /** Records that cannot be looked for, by why. */
  readonly untold: { readonly record: SentRecord; readonly why: string }[] = [];
  readonly #reading: Reading;
  readonly #json = new JsonParser();

  constructor(reading: Reading, events: SentEvents) {
    this.#reading = reading;
    this.events = events;
    this.users = new KeySample<SentUser>(reading);
    this.addresses = new KeySample<SentAddress>(reading);
  }

  /** All that is looked for. */
  *records(): Generator<SentRecord> {
    for (const { record } of this.untold) yield record;
    for (const user of this.users.values()) yield* user.records;
    for (const address of this.addresses.values()) yield* address.records;
    for (const event of this.events.all()) yield* [event.record, ...(event.others ?? [])];
  }

  /** Reads all of it, once. Throws E-TOO-MANY for more than can be held. */
  async readAll(inputs: Inputs): Promise<void> {
    await this.#read(inputs, (rows) => {
      if (!this.#reading.settle) this.read += rows.count + rows.faults.length;
      if (!this.#reading.settle) this.rejected += rows.faults.length;
      this.#add(this.#reading.mapper.map(rows));
    });
  }

  /** Reads the events again, of days that had to wait. */
  async readEvents(inputs: Inputs): Promise<void> {
    await this.#read(inputs, (rows) => {
      const records = this.#reading.mapper.map(rows);
      for (let at = 0; at < records.count; at += 1) {
        if (records.kinds[at] !== 1 || this.#isOfOtherDay(records, at)) continue;
        this.#addEvent(this.#recordAt(records, at, undefined));
      }
    });
  }

  async #read(inputs: Inputs, add: (rows: RowBlock) => void): Promise<void> {
    const { limit, signal } = this.#reading;
    const blocks = inputs.blocks();
    const rows = limit === undefined ? blocks : limitRecords(blocks, limit);
    for await (const block of new PeekableIterator(rows).until(signal)) {
      add(block);
      this.#refuseTooMany();
    }
    signal.throwIfAborted();
  }

  #add(block: RecordBlock): void {
    for (const reject of block.rejects) this.#addReject(block.rows, reject);
    for (let at = 0; at < block.count; at += 1) {
      const isEvent = block.kinds[at] === 1;
      const isWanted = isEvent || this.#sample.wants(block.keys[at]!);
      if (isWanted) this.#addRecord(block, at, isEvent);
    }
  }

  #addReject(rows: RowBlock, { row, error }: RecordBlock['rejects'][number]): void {
    if (!this.#reading.settle) {
      this.rejected += 1;
      return;
    }
    const text = this.#openRow(rows, row);
    if (text === undefined) return;
    this.read += 1;
    this.untold.push({ record: { ...placeOf(rows, row), text: '{}', row: text }, why: error });
  }

  #addRecord(block: RecordBlock, at: number, isEvent: boolean): void {
    const { rows, row: rowOf } = block;
    const row = rowOf[at]!;
    const line = this.#reading.settle ? this.#openRow(rows, row) : undefined;
    if (this.#reading.settle && line === undefined) return;
    if (line !== undefined) this.read += 1;
    const record = this.#recordAt(block, at, line);
    const hash = block.keys[at]!;
    if (isEvent) {
      const why = this.#addEvent(record);
      if (why !== undefined) this.untold.push({ record, why });
      return;
    }
    const members = sentMembers(record);
    if (this.#reading.kind === 'upload') {
      const key = keyParts.find((name) => members.has(name)) ?? '';
      const user = `${key} ${stringifyLossless(members.get(key) ?? null)}`;
      this.users.of(user, hash, () => new SentUser()).add(record);
    } else {
      const [type = null, value = null] = ['type', 'value'].map((name) => members.get(name));
      const address = `${stringifyLossless(type)} ${stringifyLossless(value)}`;
      const sent = this.addresses.of(address, hash, () => new SentAddress(record));
      sent.add(record, sourceRecord(rows, row));
    }
  }

  #addEvent(record: SentRecord): string | undefined {
    return this.events.add(record, sentMembers(record));
  }

  /** Told without reading the whole of it: most events of a reading are not of its days. */
  #isOfOtherDay({ json, bounds }: RecordBlock, at: number): boolean {
    const text = this.#json;
    if (!text.read(json, bounds[2 * at]!, bounds[2 * at + 1]!)) return false;
    const ts = text.find('ts');
    if (ts < 0) return false;
    const seconds = Number(json.toString('latin1', text.valueStart(ts), text.valueEnd(ts)));
    return this.events.isOfOtherDay(seconds);
  }

  #recordAt(
    { rows, row, json, bounds }: RecordBlock,
    at: number,
    line: string | undefined,
  ): SentRecord {
    const text = json.toString('utf8', bounds[2 * at], bounds[2 * at + 1]);
    return { ...placeOf(rows, row[at]!), text, row: line };
  }

  get #sample(): KeySample<unknown> {
    return this.#reading.kind === 'upload' ? this.users : this.addresses;
  }

  /** The line of a rejects file, if its outcome is unknown. */
  #openRow({ bytes, bounds }: RowBlock, row: number): string | undefined {
    const line = bytes.toString('utf8', bounds[2 * row], bounds[2 * row + 1]).trim();
    return isUnknown(line) ? line : undefined;
  }

  #refuseTooMany(): void {
    if (this.#sample.count <= mostKeys && this.events.size <= mostKeys) return;
    throw new EngagectlError('E-TOO-MANY', `more than ${mostKeys} different records to compare`, {
      why: 'they are held in memory: of events in a file, one day at a time',
      fix: 'compare a sample of the users; give events as files, and not by a pipe',
    });
  }
}

function placeOf({ source, lines }: RowBlock, row: number) {
  return { source, line: lines[row] ?? 0 };
}

/** Whether it is a line of a rejects file whose outcome is unknown. */
function isUnknown(line: string): boolean {
  try {
    return (JSON.parse(line) as { readonly stage?: unknown } | null)?.stage === 'unknown';
  } catch {
    return false;
  }
}

/** What was kept of one key. */
interface Kept<T> {
  readonly key: string;
  readonly priority: number;
  readonly value: T;
}

/**
 * A random sample of the distinct keys of a stream, with everything that came of each: the keys whose
 * hash under the seed is smallest. A key that is in the end was in from its first record on, since the
 * bar only falls; so one pass is enough, and a key that comes often is not likelier to be in.
 */
export class KeySample<T> {
  readonly #size: number;
  readonly #seed: number;
  #kept = new Map<string, Kept<T>>();
  #bar = Number.POSITIVE_INFINITY;

  /** `size`: keys in the end; twice as many are held on the way. */
  constructor({ size, seed }: { readonly size: number; readonly seed: number }) {
    this.#size = size;
    this.#seed = seed;
  }

  /** Whether no key was left out. */
  get isWhole(): boolean {
    return this.#bar === Number.POSITIVE_INFINITY && this.#kept.size <= this.#size;
  }

  get count(): number {
    return this.#kept.size;
  }

  /** Whether a key of this hash may be in the sample; `hash` has 31 bits or more. */
  wants(hash: number): boolean {
    return this.#priorityOf(hash) <= this.#bar;
  }

  /** What is kept of a key that is wanted; `make` begins it. */
  of(key: string, hash: number, make: () => T): T {
    const found = this.#kept.get(key);
    if (found) return found.value;
    const made = { key, priority: this.#priorityOf(hash), value: make() };
    this.#kept.set(key, made);
    if (this.#kept.size >= 2 * this.#size) this.#lowerBar();
    return made.value;
  }

  /** The sample, in an order that is random as well: a part of it from the beginning is a sample, too. */
  values(): T[] {
    return this.#sorted()
      .slice(0, this.#size)
      .map(({ value }) => value);
  }

  /** Keys that share the last priority stay: one of them, dropped now, might come back without its past. */
  #lowerBar(): void {
    const sorted = this.#sorted();
    this.#bar = sorted[this.#size - 1]!.priority;
    this.#kept = new Map(
      sorted.filter(({ priority }) => priority <= this.#bar).map((kept) => [kept.key, kept]),
    );
  }

  #sorted(): Kept<T>[] {
    return [...this.#kept.values()].toSorted(
      (a, b) => a.priority - b.priority || (a.key < b.key ? -1 : 1),
    );
  }

  /** The finalizer of MurmurHash3: every bit of hash and seed changes half of the bits. */
  #priorityOf(hash: number): number {
    let mixed = hash ^ this.#seed;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }
}

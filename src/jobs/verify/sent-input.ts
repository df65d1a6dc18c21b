import { PeekableIterator } from '../../bulk/peekable-iterator.js';
import { EngagectlError } from '../../errors.js';
import { ordinalOfParseError, ordinalOfRow } from '../../bulk/outcomes/ordinal-set.js';
import { limitRecords, type RowBlock } from '../../input/row-block.js';
import { JsonParser } from '../../text/json-parser.js';
import {
  jsonValue,
  rowText,
  sourceRecord,
  unknownLine,
  wasNotSent,
} from '../../mapping/rejects-input.js';
import { isMap, stringifyLossless, type LosslessJson } from '../../text/lossless-json.js';
import {
  plainAddress,
  sentMembers,
  SentAddress,
  SentUser,
  type SentRecord,
} from './sent-records.js';
import { keyParts } from '../../text/record-hash.js';
import type { Inputs } from '../../input/inputs.js';
import type { Mapper, RecordBlock } from '../../mapping/record-block.js';
import type { SentEvents } from './sent-events.js';

/** Maximum distinct users or addresses, and maximum distinct events, in memory. */
const mostKeys = 500_000;
/** Maximum characters of their records for a sample of so many: 64 Mi, and 512 for each. */
const mostCharacters = (size: number): number => 2 ** 26 + 512 * Math.min(size, mostKeys);
/** Characters of records that are read before those in memory are counted again. */
const countedEach = 2 ** 24;

interface Reading {
  readonly mapper: Mapper;
  /** Type of write that sent the records. */
  readonly kind: 'upload' | 'subscribe';
  /** Sample size in users or addresses. */
  readonly size: number;
  readonly seed: number;
  /** Use only the lines of unknown outcome of a rejects file. */
  readonly settle: boolean;
  readonly limit: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Refuses to look for an event row among the profiles: it would count as not found, and to resend it would double the
 * event. Throws E-USAGE.
 */
function refuseEvent({ source, line }: SentRecord, data: LosslessJson | undefined): void {
  if (!isMap(data)) return;
  const column = ['evtName', 'ts'].find((name) => data.has(name));
  if (column === undefined) return;
  throw new EngagectlError('E-USAGE', `line ${line} of ${source} would be looked up as a profile`, {
    why: `it has the column "${column}" of events`,
    fix: `add --type event, as in the upload; or --drop ${column}, if it is a profile`,
  });
}

interface UntoldRecords {
  readonly records: readonly SentRecord[];
  readonly why: string;
  count: number;
}

/** The records of an input that were sent. */
export class SentInput {
  /** Records read, including unreadable ones; with `settle`, only those of unknown outcome. */
  read = 0;
  /** Number of records that would not be sent. */
  rejected = 0;
  /** With `settle`, number of records of a rejects file that are still to be sent. */
  notSent = 0;
  readonly users: KeySample<SentUser>;
  readonly addresses: KeySample<SentAddress>;
  readonly events: SentEvents;
  /** Records that cannot be checked, by cause; those to settle one by one. */
  readonly untold: UntoldRecords[] = [];
  readonly #reading: Reading;
  readonly #json = new JsonParser();
  /** Characters of the records read since those in memory were counted. */
  #uncounted = 0;

  constructor(reading: Reading, events: SentEvents) {
    this.#reading = reading;
    this.events = events;
    this.users = new KeySample<SentUser>(reading);
    this.addresses = new KeySample<SentAddress>(reading);
  }

  /** Yields all records to check. */
  *records(): Generator<SentRecord> {
    for (const { records } of this.untold) yield* records;
    for (const user of this.users.values()) yield* user.records;
    for (const address of this.addresses.values()) yield* address.records;
    for (const event of this.events.all()) yield* [event.record, ...(event.others ?? [])];
  }

  /** Reads the input once. Throws E-TOO-MANY for more records than fit in memory. */
  async readAll(inputs: Inputs): Promise<void> {
    await this.#read(inputs, (rows) => {
      if (this.#reading.settle) {
        for (const failed of rows.parseErrors) {
          const ordinal = ordinalOfParseError(rows, failed);
          const place = { source: rows.source, line: failed.line, ordinal };
          this.#addUnreadable(place, failed.raw.toString(), failed.error);
        }
      } else {
        this.read += rows.count + rows.parseErrors.length;
        this.rejected += rows.parseErrors.length;
      }
      this.#add(this.#reading.mapper.map(rows));
    });
  }

  /** Reads the input again for the events of days that had to wait. */
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
      const isSampled = isEvent || this.#sample.wants(block.keys[at]!);
      if (isSampled) this.#addRecord(block, at, isEvent);
    }
  }

  #addReject(rows: RowBlock, { row, error }: RecordBlock['rejects'][number]): void {
    if (!this.#reading.settle) {
      this.rejected += 1;
      return;
    }
    const place = placeOf(rows, row);
    const text = unknownLine(rows, row, this.#reading.mapper);
    if (text === undefined) {
      const line = rowText(rows, row);
      if (!rows.cells && jsonValue(line) === undefined) this.#addUnreadable(place, line, error);
      return;
    }
    this.read += 1;
    this.#addUntold({ ...place, text: '{}', row: text }, error);
  }

  /** Adds a damaged line of a rejects file, whose outcome may be unknown. */
  #addUnreadable(place: ReturnType<typeof placeOf>, text: string, error: string): void {
    this.read += 1;
    const { source, line } = place;
    const row = JSON.stringify({ source, line, record: text });
    this.#addUntold({ ...place, text: '{}', row }, `its line cannot be read: ${error}`);
  }

  /** Only records to settle are kept. */
  #addUntold(record: SentRecord, why: string): void {
    const { settle } = this.#reading;
    const known = settle ? undefined : this.untold.find((each) => each.why === why);
    if (known) known.count += 1;
    else this.untold.push({ records: settle ? [record] : [], why, count: 1 });
  }

  #addRecord(block: RecordBlock, at: number, isEvent: boolean): void {
    const { rows, row: rowOf } = block;
    const row = rowOf[at]!;
    const line = this.#reading.settle ? unknownLine(rows, row, this.#reading.mapper) : undefined;
    if (this.#reading.settle && line === undefined) {
      if (wasNotSent(rows, row)) this.notSent += 1;
      return;
    }
    if (line !== undefined) this.read += 1;
    const record = this.#recordAt(block, at, line);
    const hash = block.keys[at]!;
    if (isEvent) {
      const why = this.#addEvent(record);
      if (why !== undefined) this.#addUntold(record, why);
      return;
    }
    const members = sentMembers(record);
    if (line !== undefined) refuseEvent(record, members.get('profileData'));
    if (this.#reading.kind === 'upload') {
      const key = keyParts.find((name) => members.has(name)) ?? '';
      const user = `${key} ${stringifyLossless(members.get(key) ?? null)}`;
      this.users.of(user, hash, () => new SentUser()).add(record);
    } else {
      const [type = '', value = ''] = ['type', 'value'].map((name) => members.get(name) as string);
      const address = `${type} ${plainAddress(value)}`;
      const sent = this.addresses.of(address, hash, () => new SentAddress(record));
      sent.add(record, sourceRecord(rows, row));
    }
  }

  #addEvent(record: SentRecord): string | undefined {
    return this.events.add(record, sentMembers(record));
  }

  /** Reads only `ts`, since most events of a pass belong to other days. */
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
    this.#uncounted += text.length;
    return { ...placeOf(rows, row[at]!), text, row: line };
  }

  get #sample(): KeySample<unknown> {
    return this.#reading.kind === 'upload' ? this.users : this.addresses;
  }

  #refuseTooMany(): void {
    const held = [this.#sample.count, this.events.size, this.untold.length];
    if (held.some((count) => count > mostKeys))
      throw tooMany(`more than ${mostKeys} distinct records to compare`);
    if (this.#uncounted <= countedEach) return;
    this.#uncounted = 0;
    let characters = 0;
    for (const { text } of this.records()) characters += text.length;
    if (characters > mostCharacters(this.#reading.size))
      throw tooMany('the records to compare are too long');
  }
}

const tooMany = (what: string): EngagectlError =>
  new EngagectlError('E-TOO-MANY', what, {
    why: 'distinct records are kept in memory; events of a file one day at a time',
    fix: 'compare a smaller sample of the users, or read events from files instead of a pipe',
  });

const placeOf = (rows: RowBlock, row: number) => ({
  source: rows.source,
  line: rows.lines[row] ?? 0,
  ordinal: ordinalOfRow(rows, row),
});

/** A key in the sample. */
interface Kept<T> {
  readonly key: string;
  readonly priority: number;
  readonly value: T;
}

/**
 * Random sample of the distinct keys of a stream, with all records of each: the keys with the
 * smallest seeded hash (bottom-k sampling). The threshold only falls, so a key of the final sample
 * was in it from its first record on. One pass is enough, and frequent keys are not preferred.
 */
export class KeySample<T> {
  readonly #size: number;
  readonly #seed: number;
  #kept = new Map<string, Kept<T>>();
  #bar = Number.POSITIVE_INFINITY;

  /** `size` is the final number of keys; up to twice as many are kept meanwhile. */
  constructor({ size, seed }: { readonly size: number; readonly seed: number }) {
    this.#size = size;
    this.#seed = seed;
  }

  /** Whether the sample contains all keys. */
  get isWhole(): boolean {
    return this.#bar === Number.POSITIVE_INFINITY && this.#kept.size <= this.#size;
  }

  get count(): number {
    return this.#kept.size;
  }

  /** Whether a key with this hash (at least 31 bits) may be in the sample. */
  wants(hash: number): boolean {
    return this.#priorityOf(hash) <= this.#bar;
  }

  /** Returns the value of a key, created by `make` if it is new. */
  of(key: string, hash: number, make: () => T): T {
    const found = this.#kept.get(key);
    if (found) return found.value;
    const made = { key, priority: this.#priorityOf(hash), value: make() };
    this.#kept.set(key, made);
    if (this.#kept.size >= 2 * this.#size) this.#lowerBar();
    return made.value;
  }

  /** Returns the sample in random order, so each prefix is a sample as well. */
  values(): T[] {
    return this.#sorted()
      .slice(0, this.#size)
      .map(({ value }) => value);
  }

  /** Keeps all keys of the last priority: a dropped one could return without its earlier records. */
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

  /** Mixes hash and seed with the finalizer of MurmurHash3. */
  #priorityOf(hash: number): number {
    let mixed = hash ^ this.#seed;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85eb_ca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  }
}

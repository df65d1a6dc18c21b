import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { RecordBlock } from '../../mapping/records.js';
import { hashWords, keySpaces, recordKinds, RecordHashes } from '../../text/record-hashes.js';
import { CommitQueue } from '../journal/commit-queue.js';
import { Bits } from './bits.js';
import { ChangeLog } from './change-log.js';
import { DoubtfulFile, EntryFile, entryWords, type EntryHead } from './entry-file.js';
import { EntryWriter } from './entry-writer.js';
import { fold } from './fold.js';
import { onDisk, onDiskLater } from './on-disk.js';
import { keyOfRecord, nameLine, NamesFile, type KeyName } from './names-file.js';

/** What of an input is new, changed, as it was, and not in it any more. */
export interface Plan {
  new: number;
  changed: number;
  unchanged: number;
  gone: number;
}

export interface MemoryOptions {
  readonly folder: string;
  /** What its records are, also the name of its files. */
  readonly kind: keyof typeof recordKinds;
  readonly owner: EntryHead['owner'];
  readonly seed: EntryHead['seed'];
  /** Everything is sent. */
  readonly full: boolean;
  /** Says why nothing is known any more. */
  readonly doubt: (why: string) => void;
  /** Entries held in memory at most. */
  readonly residents?: number;
}

/** Records as they are sent: texts of `json`. */
interface Texts {
  readonly json: Buffer;
  readonly count: number;
  readonly bounds: Int32Array;
}

/**
 * What an account last accepted from us, of one kind of record and one stream: 16 bytes for each
 * key. A key whose record is about to be sent is in doubt, on the disk, before the request goes
 * out, until its acceptance is committed: so whatever the memory says was accepted, was, and was
 * the last. It is written to a log, which is folded into the base at the end, or by the next run.
 */
export class AcceptedMemory {
  readonly plan: Plan = { new: 0, changed: 0, unchanged: 0, gone: 0 };
  readonly #options: MemoryOptions;
  #base: EntryFile | undefined;
  readonly #about: Pick<EntryHead, 'seed' | 'owner'>;
  readonly #hashes: RecordHashes;
  readonly #names: NamesFile;
  /** Of the base: keys that the input holds, and those of which this run sent a record. */
  readonly #seen: Bits;
  readonly #sent: Bits;
  readonly #syncs = new CommitQueue(async () => this.#log?.sync());
  #log: ChangeLog | undefined;

  /** To be opened under the lock of its folder. Throws E-FILE-WRITE. */
  constructor(options: MemoryOptions) {
    const { owner, seed } = options;
    this.#options = options;
    this.#names = new NamesFile(this.#file('names'));
    this.#base = onDisk(options.folder, () => this.#open());
    this.#about = { owner, seed: this.#base?.head.seed ?? seed };
    this.#hashes = new RecordHashes(this.#about.seed);
    const count = this.#base?.head.count ?? 0;
    this.#seen = new Bits(count);
    this.#sent = new Bits(count);
  }

  /** Something is remembered. */
  get isKnown(): boolean {
    return this.#base !== undefined;
  }

  /** 1 for each record that this account accepted as it is, and nothing else of its key since. */
  unchanged({ count, ...block }: Texts & Pick<RecordBlock, 'converges'>): Uint8Array {
    const { plan } = this;
    const isUnchanged = new Uint8Array(count);
    const hashes = this.#hashesOf({ count, ...block });
    const isEvent = this.#options.kind === 'event';
    this.#base?.fetch(hashes);
    for (let index = 0, at = 0; index < count; index += 1, at += hashWords) {
      const found = this.#base?.find(hashes[at]!, hashes[at + 1]!) ?? -1;
      if (found < 0) {
        plan.new += 1;
        continue;
      }
      this.#seen.set(found);
      const { low, high } = this.#base!;
      const isSame = low === hashes[at + 2] && high === hashes[at + 3];
      const mayRest = isEvent || (block.converges[index] === 1 && !this.#sent.has(found));
      if (isSame && mayRest) {
        plan.unchanged += 1;
        isUnchanged[index] = this.#options.full ? 0 : 1;
      } else {
        plan.changed += 1;
        this.#sent.set(found);
      }
    }
    plan.gone = isEvent ? 0 : this.#seen.size - this.#seen.count;
    return isUnchanged;
  }

  /** Resolves when the disk knows that these records are about to be sent. Throws E-FILE-WRITE. */
  async intend(texts: Texts): Promise<void> {
    if (this.#options.kind === 'event') return; // what was accepted stays so, whatever is sent again
    const doubts = this.#hashesOf(texts).slice();
    for (let at = 0; at < doubts.length; at += entryWords) doubts[at + 2] = doubts[at + 3] = 0;
    return onDiskLater(this.#options.folder, async () => {
      this.#opened().write(doubts);
      await this.#syncs.commit();
    });
  }

  /** What `remember` takes when the acceptance of these records is committed. */
  entriesOf(texts: Texts, positions?: readonly number[]): Accepted {
    const hashes = this.#hashesOf(texts);
    const entries = positions ? picked(hashes, positions) : hashes.slice();
    return { entries, names: this.#newNames(texts, entries, positions) };
  }

  /** Notes what was accepted. Throws E-FILE-WRITE. */
  remember({ entries, names }: Accepted): void {
    onDisk(this.#options.folder, () => {
      this.#opened().write(entries);
      this.#names.add(names);
    });
  }

  /** Keys that are remembered, and that no record so far had. */
  async *gone(): AsyncGenerator<KeyName> {
    if (!this.#base) return;
    for await (const name of this.#names.all()) {
      const [low, high] = this.#hashes.ofKey(name.key, keySpaces[name.space]);
      const found = this.#base.find(low, high);
      if (found < 0 || this.#seen.has(found)) continue;
      this.#seen.set(found);
      yield name;
    }
  }

  /** Folds what was noted into the base; what throws here, the next run does. */
  close(): void {
    this.#names.close();
    this.#base?.close();
    this.#base = undefined;
    if (!this.#log) return;
    this.#log.close();
    const base = this.#openBase(0)!;
    try {
      this.#fold(base);
    } finally {
      base.close();
    }
  }

  /** Lines for keys that are not in the base. */
  #newNames({ json, bounds }: Texts, entries: Int32Array, positions?: readonly number[]): string {
    if (this.#options.kind === 'event') return '';
    let names = '';
    for (let index = 0, at = 0; at < entries.length; index += 1, at += entryWords) {
      const position = positions ? positions[index]! : index;
      const isNew = !this.#base || this.#base.find(entries[at]!, entries[at + 1]!) < 0;
      if (isNew) names += nameLine(json, bounds[2 * position]!, bounds[2 * position + 1]!);
    }
    return names;
  }

  #hashesOf({ json, count, bounds }: Texts): Int32Array {
    const kinds = new Uint8Array(count).fill(recordKinds[this.#options.kind]);
    const hashes = this.#hashes.ofRecords(json, { count, bounds, kinds });
    for (let index = 0; index < count; index += 1) {
      const at = hashWords * index;
      if (hashes[at] !== 0 || hashes[at + 1] !== 0) continue;
      // This looks for a key in the memory that the hashes are in.
      return this.#withKeys(hashes.slice(), { json, count, bounds });
    }
    return hashes;
  }

  /** Keys that were not found at once. */
  #withKeys(hashes: Int32Array, texts: Texts): Int32Array {
    for (let index = 0; index < texts.count; index += 1) {
      const at = hashWords * index;
      if (hashes[at] !== 0 || hashes[at + 1] !== 0) continue;
      const { space, key } = nameOf(texts, index);
      [hashes[at], hashes[at + 1]] = this.#hashes.ofKey(key, keySpaces[space]);
    }
    return hashes;
  }

  /** The log, for which there has to be a base: it says by what the hashes are made. */
  #opened(): ChangeLog {
    if (this.#log) return this.#log;
    const file = this.#file('base');
    if (!existsSync(file)) new EntryWriter(file).finish(this.#about);
    this.#log = new ChangeLog(this.#file('log'));
    return this.#log;
  }

  /** The base with what a run that was killed left; undefined where nothing is known. */
  #open(): EntryFile | undefined {
    let base: EntryFile | undefined;
    try {
      base = this.#openBase();
      if (!existsSync(this.#file('log'))) return base;
      // Without its seed nothing can be told of a log.
      if (!base) throw new DoubtfulFile('what the last run accepted belongs to nothing');
      this.#fold(base);
      base.close();
      return this.#openBase();
    } catch (error) {
      if (!(error instanceof DoubtfulFile)) throw error;
      base?.close();
      this.#options.doubt(error.message);
      for (const name of ['base', 'log', 'names']) rmSync(this.#file(name), { force: true });
      return undefined;
    }
  }

  /** Undefined where there is none. Throws DoubtfulFile. */
  #openBase(residents = this.#options.residents): EntryFile | undefined {
    const file = this.#file('base');
    if (!existsSync(file)) return undefined;
    const base = EntryFile.open(file, residents);
    const { owner } = this.#options;
    if (base.head.owner.every((word, index) => word === owner[index])) return base;
    base.close();
    throw new DoubtfulFile('it belongs to another account, host or stream');
  }

  #fold(base: EntryFile): void {
    const log = this.#file('log');
    fold({ path: this.#file('base'), log, base });
    rmSync(log);
  }

  #file(name: string): string {
    return path.join(this.#options.folder, `${this.#options.kind}.${name}`);
  }
}

/** What was accepted: entries, and lines for the keys that are new. */
export interface Accepted {
  readonly entries: Int32Array;
  readonly names: string;
}

function picked(hashes: Int32Array, positions: readonly number[]): Int32Array {
  const entries = new Int32Array(entryWords * positions.length);
  for (const [index, position] of positions.entries()) {
    const at = hashWords * position;
    entries.set(hashes.subarray(at, at + hashWords), entryWords * index);
  }
  return entries;
}

const nameOf = ({ json, bounds }: Texts, position: number): KeyName =>
  keyOfRecord(json.toString('utf8', bounds[2 * position], bounds[2 * position + 1]));

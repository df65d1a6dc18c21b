import {
  hashWords,
  keyNamespaces,
  recordKinds,
  RecordHasher,
  keyOfRecord,
  type RecordKey,
} from '../../text/record-hash.js';
import { GroupCommit } from '../journal/journal.js';
import {
  entryWords,
  matchKind,
  type BaselineHeader,
  type BaselineLookup,
} from './baseline-file.js';
import { BaselineStore, keyLine } from './baseline-store.js';
import { EngagectlError } from '../../errors.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { ChangeLog } from './change-log.js';
import type { Batch } from '../write/batch.js';

/** What of an input is new, changed, as it was, and not in it any more. */
export interface ChangeCounts {
  new: number;
  changed: number;
  unchanged: number;
  gone: number;
}

interface BaselineOptions {
  readonly folder: string;
  /** What its records are, also the name of its files. */
  readonly kind: keyof typeof recordKinds;
  readonly owner: BaselineHeader['owner'];
  readonly seed: BaselineHeader['seed'];
  /** Everything is sent. */
  readonly full: boolean;
  /** Says why nothing is known any more. */
  readonly doubt: (why: string) => void;
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
export class Baseline {
  readonly plan: ChangeCounts = { new: 0, changed: 0, unchanged: 0, gone: 0 };
  readonly #options: BaselineOptions;
  readonly #files: BaselineStore;
  readonly #seed: BaselineHeader['seed'];
  readonly #hashes: RecordHasher;
  readonly #syncs = new GroupCommit(async () => this.#log?.sync());
  /** What earlier runs remembered; `count` of them. */
  #known: BaselineLookup | undefined;
  readonly #count: number;
  #log: ChangeLog | undefined;

  /** To be opened under the lock of its folder. Throws E-FILE-WRITE. */
  constructor(options: BaselineOptions) {
    const { folder, kind, owner, doubt } = options;
    this.#options = options;
    this.#files = new BaselineStore(folder, kind);
    const base = withDiskErrors(folder, () => this.#files.open(owner, doubt));
    this.#known = base?.entries;
    this.#count = base?.head.count ?? 0;
    this.#seed = base?.head.seed ?? options.seed;
    this.#hashes = new RecordHasher(this.#seed);
  }

  /** Something is remembered. */
  get isKnown(): boolean {
    return this.#known !== undefined;
  }

  /** 1 for each record that this account accepted as it is, and nothing else of its key since. */
  unchanged({ idempotent, ...texts }: Texts & Pick<RecordBlock, 'idempotent'>): Uint8Array {
    const { plan } = this;
    const isUnchanged = new Uint8Array(texts.count);
    if (!this.#known) {
      plan.new += texts.count;
      return isUnchanged;
    }
    const { kind, full } = this.#options;
    const isEvent = kind === 'event';
    const mayRest = isEvent ? new Uint8Array(texts.count).fill(1) : idempotent;
    const all = this.#known.compare(this.#hashesOf(texts), mayRest);
    for (let index = 0; index < all.length; index += 1) {
      const how = all[index];
      if (how === matchKind.unknown) plan.new += 1;
      else if (how === matchKind.changed) plan.changed += 1;
      else {
        plan.unchanged += 1;
        isUnchanged[index] = full ? 0 : 1;
      }
    }
    plan.gone = isEvent ? 0 : this.#count - this.#known.seen;
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
    withDiskErrors(this.#options.folder, () => {
      this.#opened().write(entries);
      this.#files.names.add(names);
    });
  }

  /** Keys that are remembered, and that no record so far had. */
  async *gone(): AsyncGenerator<RecordKey> {
    if (!this.#known) return;
    for await (const name of this.#files.names.all()) {
      const key = this.#hashes.ofKey(name.key, keyNamespaces[name.space]);
      if (this.#known.isMissed(Int32Array.of(...key, 0, 0))) yield name;
    }
  }

  /** Folds what was noted into the base; what throws here, the next run does. */
  close(): void {
    this.#files.names.close();
    this.#known?.close();
    this.#known = undefined;
    if (!this.#log) return;
    this.#log.close();
    this.#files.fold(this.#options.owner);
  }

  /** Lines for keys that are not in the base. */
  #newNames({ json, bounds }: Texts, entries: Int32Array, positions?: readonly number[]): string {
    if (this.#options.kind === 'event') return '';
    let names = '';
    const known = this.#known?.has(entries);
    for (let index = 0; index < entries.length / entryWords; index += 1) {
      if (known?.[index] === 1) continue;
      const position = positions ? positions[index]! : index;
      names += keyLine(json, bounds[2 * position]!, bounds[2 * position + 1]!);
    }
    return names;
  }

  #hashesOf(texts: Texts): Int32Array {
    const { json, count, bounds } = texts;
    const kinds = new Uint8Array(count).fill(recordKinds[this.#options.kind]);
    const lent = this.#hashes.ofRecords(json, { count, bounds, kinds });
    let hashes = lent;
    for (let index = 0, at = 0; index < count; index += 1, at += hashWords) {
      if (hashes[at] !== 0 || hashes[at + 1] !== 0) continue;
      // The key was not found at once: to look for it takes the memory that the hashes are lent from.
      if (hashes === lent) hashes = lent.slice();
      const { space, key } = nameOf(texts, index);
      [hashes[at], hashes[at + 1]] = this.#hashes.ofKey(key, keyNamespaces[space]);
    }
    return hashes;
  }

  #opened(): ChangeLog {
    const { owner } = this.#options;
    this.#log ??= this.#files.startLog({ seed: this.#seed, owner });
    return this.#log;
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

const nameOf = ({ json, bounds }: Texts, position: number): RecordKey =>
  keyOfRecord(json.toString('utf8', bounds[2 * position], bounds[2 * position + 1]));

/** Opens what is remembered of one kind of record; called at most once for each. */
type OpenMemory = (holdsEvents: boolean) => Baseline;

/**
 * What an account last accepted of a stream: of users or addresses, and of events apart from them,
 * each opened when the input first holds one.
 */
export class ChangeTracker {
  readonly #open: OpenMemory;
  readonly #opened = new Map<boolean, Baseline>();
  readonly #isRehearsal: boolean;

  constructor(open: OpenMemory, { isRehearsal }: { readonly isRehearsal: boolean }) {
    this.#open = open;
    this.#isRehearsal = isRehearsal;
  }

  get plan(): ChangeCounts {
    const plan: ChangeCounts = { new: 0, changed: 0, unchanged: 0, gone: 0 };
    for (const memory of this.#opened.values()) {
      for (const name of ['new', 'changed', 'unchanged', 'gone'] as const) {
        plan[name] += memory.plan[name];
      }
    }
    return plan;
  }

  /** Whether any are remembered. */
  knows(holdsEvents: boolean): boolean {
    return this.#of(holdsEvents).isKnown;
  }

  /** 1 for each record of the block that need not be sent. */
  unchanged(block: RecordBlock): Uint8Array {
    const kinds = block.kinds.subarray(0, block.count);
    const hasEvents = kinds.includes(1);
    if (!hasEvents || !kinds.includes(0)) return this.#of(hasEvents).unchanged(block);
    const isUnchanged = new Uint8Array(block.count);
    for (const kind of [0, 1]) {
      const indexes = [...kinds.keys()].filter((index) => kinds[index] === kind);
      const part = this.#of(kind === 1).unchanged(partOf(block, indexes));
      for (const [at, index] of indexes.entries()) isUnchanged[index] = part[at]!;
    }
    return isUnchanged;
  }

  /** Must resolve before the first byte of the batch goes out. */
  async intend(batch: Batch): Promise<void> {
    if (!this.#isRehearsal) await this.#of(batch.holdsEvents).intend(textsOf(batch));
  }

  /** These records were accepted, all by default: to be called once that is committed. */
  accepted(batch: Batch, positions?: readonly number[]): () => void {
    if (this.#isRehearsal) return () => undefined;
    const memory = this.#of(batch.holdsEvents);
    const accepted: Accepted = memory.entriesOf(textsOf(batch), positions);
    return () => memory.remember(accepted);
  }

  /** Keys that no record so far had; of events there are none. */
  async *gone(): AsyncGenerator<RecordKey> {
    const memory = this.#opened.get(false);
    if (memory) yield* memory.gone();
  }

  close(): void {
    for (const memory of this.#opened.values()) memory.close();
  }

  #of(holdsEvents: boolean): Baseline {
    const opened = this.#opened.get(holdsEvents) ?? this.#open(holdsEvents);
    this.#opened.set(holdsEvents, opened);
    return opened;
  }
}

const textsOf = (batch: Batch) => ({
  json: batch.body(),
  count: batch.size,
  bounds: batch.bounds(),
});

function partOf({ json, bounds, idempotent }: RecordBlock, indexes: readonly number[]) {
  return {
    json,
    count: indexes.length,
    bounds: Int32Array.from(
      indexes.flatMap((index) => [bounds[2 * index]!, bounds[2 * index + 1]!]),
    ),
    idempotent: Uint8Array.from(indexes, (index) => idempotent[index]!),
  };
}

/** Work on the files of a memory. Throws E-FILE-WRITE for what the file system says. */
function withDiskErrors<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw notKept(folder, cause);
  }
}

/** The same for work that takes its time. */
const onDiskLater = async (folder: string, work: () => Promise<void>): Promise<void> =>
  work().catch((cause: unknown) => {
    throw notKept(folder, cause);
  });

function notKept(folder: string, cause: unknown): unknown {
  if (cause instanceof EngagectlError || !isOfFiles(cause)) return cause;
  return new EngagectlError('E-FILE-WRITE', `what was accepted cannot be kept in ${folder}`, {
    why: cause.message,
    fix: 'free space, or mend the disk; the same command with --resume goes on',
    resumes: true,
    file: folder,
    cause,
  });
}

const isOfFiles = (cause: unknown): cause is Error => cause instanceof Error && 'syscall' in cause;

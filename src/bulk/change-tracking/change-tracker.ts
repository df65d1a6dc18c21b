import {
  hashWords,
  keyNamespaces,
  recordKinds,
  RecordHasher,
  keyOfRecord,
  otherKeysOfRecord,
  type HashSecret,
  type RecordKey,
} from '../../text/record-hash.js';
import { GroupCommit } from '../journal/journal.js';
import {
  CorruptBaseline,
  entryWords,
  matchKind,
  type BaselineHeader,
  type BaselineLookup,
} from './baseline-file.js';
import {
  BaselineStore,
  TouchedLog,
  keyLine,
  lineOfKey,
  type FoundTouched,
} from './baseline-store.js';
import { EngagectlError } from '../../errors.js';
import { notSaved } from '../../files/file-errors.js';
import type { RecordBlock } from '../../mapping/record-block.js';
import type { ChangeLog } from './change-log.js';
import type { Batch } from '../write/batch.js';

/** Records of an input compared with the baseline. */
export interface ChangeCounts {
  new: number;
  changed: number;
  unchanged: number;
  gone: number;
}

interface BaselineOptions {
  readonly folder: string;
  /** Kind of its records, and the name of its files. */
  readonly kind: keyof typeof recordKinds;
  readonly owner: BaselineHeader['owner'];
  /** Secret of a new baseline. */
  readonly secret: HashSecret;
  /** Send everything (`--full`). */
  readonly full: boolean;
  /** Logs of the keys that runs sent which did not update this baseline. */
  readonly touched?: readonly FoundTouched[];
  /** Receives the reason if the files are damaged and were deleted. */
  readonly onDamage: (why: string) => void;
}

/** Records as they are sent: `bounds` delimits the JSON text of each in `json`. */
interface RecordTexts {
  readonly json: Buffer;
  readonly count: number;
  readonly bounds: Int32Array;
  /** Has the positions of the records with several keys. */
  readonly otherKeys?: ReadonlyMap<number, unknown> | undefined;
}

/** Entries of records: one for each, then one for each other key of those with several. */
interface RecordEntries {
  readonly entries: Int32Array;
  /** Key and record of each of the latter. */
  readonly others: readonly OtherKey[];
}

interface OtherKey {
  readonly position: number;
  readonly key: RecordKey;
}

/**
 * The records that an account last accepted, for one kind of record and one stream: 16 bytes per
 * key. A record with several keys is an entry of each of them. Before a request goes out, an intent on disk marks its keys as unknown until the acceptance
 * is known, so an entry of the baseline is always the last accepted record of its key. Changes
 * go to a log, which is merged into the base at the end of the run or by the next run.
 */
export class Baseline {
  readonly plan: ChangeCounts = { new: 0, changed: 0, unchanged: 0, gone: 0 };
  readonly #options: BaselineOptions;
  readonly #files: BaselineStore;
  readonly #secret: HashSecret;
  readonly #hashes: RecordHasher;
  readonly #syncs = new GroupCommit(async () => this.#log?.sync());
  /** The baseline of earlier runs, with `count` entries. */
  #base: BaselineLookup | undefined;
  readonly #count: number;
  #log: ChangeLog | undefined;
  readonly #hadLinkedKeys: boolean;
  #mayHideUsers = false;

  /** Requires the lock of the folder. Throws E-FILE-WRITE. */
  constructor(options: BaselineOptions) {
    const { folder, kind, owner } = options;
    this.#options = options;
    this.#files = new BaselineStore(folder, kind);
    const base = withDiskErrors(folder, () => this.#files.open(owner, options));
    this.#base = base?.entries;
    this.#count = base?.head.count ?? 0;
    this.#hadLinkedKeys = this.#files.hasLinkedKeys;
    this.#secret = base?.head.secret ?? options.secret;
    this.#hashes = new RecordHasher(this.#secret);
  }

  /**
   * Whether a user of the baseline may be in the input by another key: earlier records had several keys, and one of the input
   * has no identity.
   */
  get mayHideUsers(): boolean {
    return this.#mayHideUsers;
  }

  /** Whether earlier runs left a baseline. */
  get exists(): boolean {
    return this.#base !== undefined;
  }

  /** Returns 1 for each record that equals the last accepted one of each of its keys, and counts all in `plan`. */
  unchanged({ idempotent, ...texts }: RecordTexts & Pick<RecordBlock, 'idempotent'>): Uint8Array {
    const { plan } = this;
    const isUnchanged = new Uint8Array(texts.count);
    if (!this.#base) {
      plan.new += texts.count;
      return isUnchanged;
    }
    if (this.#hadLinkedKeys) this.#mayHideUsers ||= lacksIdentity(texts);
    const all = compareRecords(this.#base, this.#entriesOf(texts), idempotent);
    for (let index = 0; index < texts.count; index += 1) {
      const match = all[index];
      if (match === matchKind.unknown) plan.new += 1;
      else if (match === matchKind.changed) plan.changed += 1;
      else {
        plan.unchanged += 1;
        isUnchanged[index] = this.#options.full ? 0 : 1;
      }
    }
    plan.gone = this.#count - this.#base.seen;
    return isUnchanged;
  }

  /** Resolves when the intent to send these records is on disk. Throws E-FILE-WRITE. */
  async intend(texts: RecordTexts): Promise<void> {
    const intents = intentsOf(this.#entriesOf(texts));
    return withAsyncDiskErrors(this.#options.folder, async () => {
      this.#openLog().write(intents);
      await this.#syncs.commit();
    });
  }

  /** Adds accepted records. Throws E-FILE-WRITE. */
  add(texts: RecordTexts, positions?: readonly number[]): void {
    const all = this.#entriesOf(texts);
    const { entries, others } = positions
      ? picked(all, positions, texts.count)
      : { ...all, entries: all.entries.slice() };
    const names = this.#newNames(texts, { entries, others }, positions);
    withDiskErrors(this.#options.folder, () => {
      const log = this.#openLog();
      if (others.length > 0) this.#files.linkKeys();
      this.#files.names.add(names); // first: a key of the log without a name could never be listed as gone
      log.write(entries);
    });
  }

  /** Yields the keys of the baseline that no record had so far. */
  async *gone(): AsyncGenerator<RecordKey> {
    if (!this.#base) return;
    for await (const name of this.#files.names.all()) {
      const key = this.#hashes.ofKey(name.key, keyNamespaces[name.space]);
      if (this.#base.isMissed(Int32Array.of(...key, 0, 0))) yield name;
    }
  }

  /** Merges the log into the base. If this throws, the next run merges it. */
  close(): void {
    this.#files.names.close();
    this.#base?.close();
    this.#base = undefined;
    if (!this.#log) return;
    this.#log.close();
    this.#files.fold(this.#options.owner);
  }

  /** Returns the lines of keys that are not in the base. */
  #newNames(
    { json, bounds }: RecordTexts,
    { entries, others }: RecordEntries,
    positions?: readonly number[],
  ): string {
    let names = '';
    const isKnown = this.#base?.has(entries);
    const records = entries.length / entryWords - others.length;
    for (let index = 0; index < records; index += 1) {
      if (isKnown?.[index] === 1) continue;
      const position = positions ? positions[index]! : index;
      names += keyLine(json, bounds[2 * position]!, bounds[2 * position + 1]!);
    }
    const newOthers = others.filter((_, index) => isKnown?.[records + index] !== 1);
    return names + newOthers.map(({ key }) => lineOfKey(key)).join('');
  }

  #entriesOf(texts: RecordTexts): RecordEntries {
    return hashRecords(this.#hashes, this.#options.kind, texts);
  }

  #openLog(): ChangeLog {
    const { owner } = this.#options;
    this.#log ??= this.#files.startLog({ secret: this.#secret, owner });
    return this.#log;
  }
}

/** Returns the entries of records. They are valid until the next call. */
function hashRecords(
  hasher: RecordHasher,
  kind: BaselineOptions['kind'],
  texts: RecordTexts,
): RecordEntries {
  const { json, count, bounds } = texts;
  const kinds = new Uint8Array(count).fill(recordKinds[kind]);
  const borrowed = hasher.ofRecords(json, { count, bounds, kinds });
  let hashes = borrowed;
  for (let index = 0, at = 0; index < count; index += 1, at += hashWords) {
    if (hashes[at] !== 0 || hashes[at + 1] !== 0) continue;
    // The key was not found in the first pass. Hashing it overwrites the borrowed memory.
    if (hashes === borrowed) hashes = borrowed.slice();
    const { space, key } = keyOfRecord(textAt(texts, index));
    [hashes[at], hashes[at + 1]] = hasher.ofKey(key, keyNamespaces[space]);
  }
  const others = otherKeysOf(texts);
  return { entries: others.length === 0 ? hashes : withOthers(hasher, hashes, others), others };
}

/** Whether a record of a user has other keys only. */
function lacksIdentity(texts: RecordTexts): boolean {
  for (let index = 0; index < texts.count; index += 1)
    if (keyOfRecord(textAt(texts, index)).space !== 'identity') return true;
  return false;
}

/** Returns the keys besides the first one of the records that have several. */
function otherKeysOf(texts: RecordTexts): OtherKey[] {
  return [...(texts.otherKeys?.keys() ?? [])].flatMap((position) =>
    otherKeysOfRecord(textAt(texts, position)).map((key) => ({ position, key })),
  );
}

/** Returns the entries of records, followed by those of other keys with the same records. */
function withOthers(
  hasher: RecordHasher,
  hashes: Int32Array,
  others: readonly OtherKey[],
): Int32Array {
  const entries = new Int32Array(hashes.length + entryWords * others.length);
  entries.set(hashes); // hashing a key overwrites the borrowed memory
  for (const [index, { position, key }] of others.entries()) {
    const from = entryWords * position;
    const own = entries.subarray(from + 2, from + entryWords);
    const at = hashes.length + entryWords * index;
    entries.set([...hasher.ofKey(key.key, keyNamespaces[key.space]), ...own], at);
  }
  return entries;
}

/**
 * Compares records with a baseline: one with several keys is the same only if it is that for each of them. They are compared
 * one after another, because a record that is sent changes what follows for each of its keys.
 */
function compareRecords(
  base: BaselineLookup,
  { entries, others }: RecordEntries,
  idempotent: Uint8Array,
): Uint8Array {
  if (others.length === 0) return base.compare(entries, idempotent);
  const count = entries.length / entryWords - others.length;
  const kinds = new Uint8Array(count);
  for (let position = 0, other = 0; position < count; position += 1) {
    const indexes = [position];
    for (; others[other]?.position === position; other += 1) indexes.push(count + other);
    const own = entriesAt(entries, indexes);
    const mayRest = new Uint8Array(indexes.length).fill(idempotent[position]!);
    const all = base.compare(own, mayRest);
    kinds[position] = all[0]!;
    if (all.every((kind) => kind === matchKind.same)) continue;
    if (all[0] === matchKind.same) kinds[position] = matchKind.changed;
    base.compare(own, mayRest.fill(0)); // it is sent for all of its keys
  }
  return kinds;
}

/** Returns entries that mark the keys as unknown. */
function intentsOf({ entries }: RecordEntries): Int32Array {
  const intents = entries.slice();
  for (let at = 0; at < intents.length; at += entryWords) intents[at + 2] = intents[at + 3] = 0;
  return intents;
}

interface TouchedOptions {
  readonly kind: BaselineOptions['kind'];
  /** Id of the run. */
  readonly run: string;
  /** Returns the folders of these baselines, which other runs may add. */
  readonly streams: () => readonly string[];
}

/**
 * Marks the keys that a run sends as unknown in the baselines that it does not update, so that the next run
 * that uses one of these sends them again.
 */
export class TouchedKeys {
  readonly #options: TouchedOptions;
  readonly #logs = new Map<string, Promise<OpenTouched | undefined>>();
  /** Streams in which the keys of a batch were marked before its request. */
  readonly #marked = new WeakMap<Batch, readonly string[]>();

  constructor(options: TouchedOptions) {
    this.#options = options;
  }

  unchanged(): undefined {}

  accepted(): void {}

  /** Resolves when the batch may be sent. Throws E-FILE-WRITE. */
  async intend(batch: Batch): Promise<void> {
    if (batch.holdsEvents) return;
    const streams = this.#options.streams();
    this.#marked.set(batch, streams);
    await this.#mark(batch, streams);
  }

  /** Marks the keys in streams that other runs have begun since: the service may have processed this request after theirs. */
  async answered(batch: Batch): Promise<void> {
    const marked = this.#marked.get(batch);
    if (!marked) return;
    const begun = this.#options.streams().filter((stream) => !marked.includes(stream));
    await this.#mark(batch, begun);
  }

  async #mark(batch: Batch, streams: readonly string[]): Promise<void> {
    if (streams.length === 0) return;
    const { kind } = this.#options;
    const texts = textsOf(batch);
    for (const folder of streams) {
      await withAsyncDiskErrors(folder, async () => {
        const opened = await this.#open(folder);
        await opened?.log.write(intentsOf(hashRecords(opened.hasher, kind, texts)));
      });
    }
  }

  async close(): Promise<void> {
    for (const opening of this.#logs.values()) (await opening.catch(() => undefined))?.log.close();
  }

  async #open(folder: string): Promise<OpenTouched | undefined> {
    const opening = this.#logs.get(folder) ?? openTouched(folder, this.#options);
    this.#logs.set(folder, opening);
    const opened = await opening;
    if (!opened) this.#logs.delete(folder); // another run may create the baseline
    return opened;
  }
}

interface OpenTouched {
  readonly log: TouchedLog;
  readonly hasher: RecordHasher;
}

/** Undefined if the stream has no baseline, or a damaged one, which the next run discards. */
async function openTouched(
  folder: string,
  { kind, run }: TouchedOptions,
): Promise<OpenTouched | undefined> {
  try {
    const log = await TouchedLog.create(folder, kind, run);
    return { log, hasher: new RecordHasher(log.secret) };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing || error instanceof CorruptBaseline) return undefined;
    throw error;
  }
}

/** Returns the entries of the records at these positions, of `count`. */
function picked(all: RecordEntries, positions: readonly number[], count: number): RecordEntries {
  const are = all.others.length === 0 ? undefined : new Set(positions);
  const picks = [...positions];
  const others = all.others.filter(({ position }, index) => {
    const isPicked = are?.has(position) === true;
    if (isPicked) picks.push(count + index);
    return isPicked;
  });
  return { entries: entriesAt(all.entries, picks), others };
}

function entriesAt(all: Int32Array, indexes: readonly number[]): Int32Array {
  const entries = new Int32Array(entryWords * indexes.length);
  for (const [index, from] of indexes.entries()) {
    const at = entryWords * from;
    entries.set(all.subarray(at, at + entryWords), entryWords * index);
  }
  return entries;
}

const textAt = ({ json, bounds }: RecordTexts, position: number): string =>
  json.toString('utf8', bounds[2 * position], bounds[2 * position + 1]);

/** Compares the profiles or subscriptions of a write with a baseline, which is opened at the first one. */
export class ChangeTracker {
  readonly #open: () => Baseline;
  readonly #isRehearsal: boolean;
  #opened: Baseline | undefined;

  constructor(open: () => Baseline, { isRehearsal }: { readonly isRehearsal: boolean }) {
    this.#open = open;
    this.#isRehearsal = isRehearsal;
  }

  get plan(): ChangeCounts {
    return this.#opened?.plan ?? { new: 0, changed: 0, unchanged: 0, gone: 0 };
  }

  /** Whether a record was compared. */
  get isUsed(): boolean {
    return this.#opened !== undefined;
  }

  /** Returns 1 for each record of the block that need not be sent. The event memory judges events. */
  unchanged(block: RecordBlock): Uint8Array | undefined {
    const kinds = block.kinds.subarray(0, block.count);
    if (!kinds.includes(0)) return undefined;
    if (!kinds.includes(1)) return this.#baseline.unchanged(block);
    const isUnchanged = new Uint8Array(block.count);
    const indexes = [...kinds.keys()].filter((index) => kinds[index] === 0);
    const part = this.#baseline.unchanged(partOf(block, indexes));
    for (const [at, index] of indexes.entries()) isUnchanged[index] = part[at]!;
    return isUnchanged;
  }

  /** See Baseline. */
  get mayHideUsers(): boolean {
    return this.#opened?.mayHideUsers === true;
  }

  /** Resolves when the batch may be sent. */
  async intend(batch: Batch): Promise<void> {
    if (!this.#isRehearsal && !batch.holdsEvents) await this.#baseline.intend(textsOf(batch));
  }

  async answered(): Promise<void> {}

  /** Adds accepted records (default: all) to the baseline. Throws E-FILE-WRITE. */
  accepted(batch: Batch, positions?: readonly number[]): void {
    if (!this.#isRehearsal && !batch.holdsEvents) this.#baseline.add(textsOf(batch), positions);
  }

  /** Yields the keys that no record had so far. */
  async *gone(): AsyncGenerator<RecordKey> {
    if (this.#opened) yield* this.#opened.gone();
  }

  close(): void {
    this.#opened?.close();
  }

  get #baseline(): Baseline {
    return (this.#opened ??= this.#open());
  }
}

const textsOf = (batch: Batch) => ({
  json: batch.body(),
  count: batch.size,
  bounds: batch.bounds(),
  otherKeys: batch.otherKeys,
});

function partOf({ json, bounds, idempotent, otherKeys }: RecordBlock, indexes: readonly number[]) {
  return {
    json,
    otherKeys: new Map(
      indexes.flatMap((index, at) => (otherKeys?.has(index) ? [[at, index] as const] : [])),
    ),
    count: indexes.length,
    bounds: Int32Array.from(
      indexes.flatMap((index) => [bounds[2 * index]!, bounds[2 * index + 1]!]),
    ),
    idempotent: Uint8Array.from(indexes, (index) => idempotent[index]!),
  };
}

/** Runs file operations; file system errors become E-FILE-WRITE. */
function withDiskErrors<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw diskError(folder, cause);
  }
}

/** The same for asynchronous operations. */
const withAsyncDiskErrors = async (folder: string, work: () => Promise<void>): Promise<void> =>
  work().catch((cause: unknown) => {
    throw diskError(folder, cause);
  });

function diskError(folder: string, cause: unknown): unknown {
  if (cause instanceof EngagectlError || !isFileSystemError(cause)) return cause;
  return notSaved('accepted records', folder, { cause });
}

const isFileSystemError = (cause: unknown): cause is Error =>
  cause instanceof Error && 'syscall' in cause;

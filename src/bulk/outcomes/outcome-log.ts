import { GroupCommit, type Journal } from '../journal/journal.js';
import { zeroCommitted, type NonIdempotentKind, type CommittedCounts } from './outcome-counts.js';
import { OrdinalSet, toRanges } from './ordinal-set.js';
import type { RowBlock, Position, TextDigest } from '../../input/row-block.js';
import type { RejectsFile } from '../../output/rejects-file.js';
import type { WriteEntry } from './journal-entries.js';

/**
 * Commits the outcomes of a run, so that another process can resume it after a crash. If a commit
 * throws, the run stops and sends nothing more.
 */
export interface OutcomeLog {
  /** Registers a block that was read. */
  opened(rows: RowBlock): void;
  /** Records the outcome of `count` neighbors (default: 1). The next `commit` puts it on disk. */
  record(rows: RowBlock, ordinal: number, outcome: keyof CommittedCounts, count?: number): void;
  /** Skips records that have an outcome from an earlier attempt, or belong to another shard. */
  skipped(rows: RowBlock, count?: number): void;
  /** Commits the intent to send non-idempotent records. Await it before the request. */
  intend(ordinals: readonly number[], kind: NonIdempotentKind): Promise<void>;
  /** Kinds of non-idempotent records intended so far, including earlier attempts. */
  readonly nonIdempotent: ReadonlySet<NonIdempotentKind>;
  /** Retracts an intent, because the records were provably not processed. */
  retractIntent(ordinals: readonly number[]): Promise<void>;
  /** Writes recorded outcomes, so that they survive `kill -9`. Returns false if they must wait for `commit`. */
  write(): boolean;
  /** Writes outcomes to another file of the state directory; on a full disk, into the space reserved for them. */
  withReserve(write: () => void): void;
  /** Resolves when all outcomes recorded so far are on disk. Concurrent calls share one sync. */
  commit(): Promise<void>;
}

/** Writes only the rejects, for runs without a journal. */
export class MemoryOutcomes implements OutcomeLog {
  readonly nonIdempotent = new Set<NonIdempotentKind>();
  readonly #rejects: RejectsFile;
  readonly #commits: GroupCommit;

  constructor(rejects: RejectsFile) {
    this.#rejects = rejects;
    this.#commits = new GroupCommit(() => rejects.write());
  }

  opened(): void {}
  record(): void {}
  skipped(): void {}
  async intend(_ordinals: readonly number[], kind: NonIdempotentKind): Promise<void> {
    this.nonIdempotent.add(kind);
  }

  async retractIntent(): Promise<void> {}

  write(): boolean {
    return this.#rejects.missing === 0;
  }

  withReserve(write: () => void): void {
    write();
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }
}

interface JournaledOutcomesOptions {
  readonly journal: Journal<WriteEntry>;
  readonly rejects: RejectsFile;
  readonly digests: () => readonly TextDigest[];
  /** Position at which this attempt starts reading. */
  readonly start: Position;
  /** Kinds of non-idempotent records that earlier attempts intended. */
  readonly nonIdempotent: ReadonlySet<NonIdempotentKind>;
}

type Settlement = Extract<WriteEntry, { kind: 'settlement' }>;

/** Commits outcomes to the journal of a run. */
export class JournaledOutcomes implements OutcomeLog {
  readonly nonIdempotent: Set<NonIdempotentKind>;
  readonly #options: JournaledOutcomesOptions;
  readonly #watermark: HighWaterMark;
  readonly #ordinals = new OrdinalSet();
  readonly #commits = new GroupCommit(() => this.#commit());
  #counts = zeroCommitted();
  /** Digests of an intent for which the disk had no room. */
  #unwritten: readonly TextDigest[] = [];
  /** Rejects of a settlement are being synced; no later settlement may be written before it. */
  #isSyncingRejects = false;

  constructor(options: JournaledOutcomesOptions) {
    this.#options = options;
    this.#watermark = new HighWaterMark(options.start);
    this.nonIdempotent = new Set(options.nonIdempotent);
  }

  opened(rows: RowBlock): void {
    this.#watermark.opened(rows);
  }

  record(rows: RowBlock, ordinal: number, outcome: keyof CommittedCounts, count = 1): void {
    this.#watermark.completed(rows, count);
    this.#ordinals.addRun(ordinal, count);
    this.#counts[outcome] += count;
  }

  skipped(rows: RowBlock, count = 1): void {
    this.#watermark.completed(rows, count);
  }

  async intend(ordinals: readonly number[], kind: NonIdempotentKind): Promise<void> {
    this.nonIdempotent.add(kind);
    // With the text that the records are of: their ordinals mean nothing in a changed input.
    const digests = this.#takeDigests();
    this.#options.journal.writeIntent({
      kind: 'intent',
      records: toRanges(ordinals),
      of: kind,
      digests,
    });
    this.#unwritten = [];
    return this.commit();
  }

  async retractIntent(ordinals: readonly number[]): Promise<void> {
    this.#options.journal.write({ kind: 'unsent', records: toRanges(ordinals) });
    return this.commit();
  }

  write(): boolean {
    // A journal entry must never cover rejects that a power cut can lose.
    if (this.#isSyncingRejects || !this.#options.rejects.isSynced) return false;
    this.#write(this.#settlement());
    return true;
  }

  withReserve(write: () => void): void {
    this.#options.journal.withReserve(write);
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }

  async #commit(): Promise<void> {
    const { journal, rejects } = this.#options;
    const created = rejects.create();
    if (created) {
      await created;
      // Announced before it has lines, so that a resumed run recognizes the file that a crash leaves behind.
      await journal.append({ kind: 'rejectsBegun', file: rejects.file });
    }
    // Taken together with the lines of these outcomes, so that the mark covers no others.
    const settlement = this.#settlement();
    if (!rejects.isSynced) {
      this.#isSyncingRejects = true;
      await rejects.sync();
      this.#isSyncingRejects = false;
    }
    this.#write(settlement);
    await journal.sync();
  }

  /** Writes a settlement with the mark of the synced rejects file. */
  #write(settlement: Omit<Settlement, 'rejects'> | undefined): void {
    const { journal, rejects } = this.#options;
    if (settlement) journal.write({ ...settlement, rejects: rejects.mark });
  }

  /** Takes the outcomes recorded since the last settlement; undefined if there are none. */
  #settlement(): Omit<Settlement, 'rejects'> | undefined {
    if (this.#ordinals.isEmpty) return undefined;
    const counts = this.#counts;
    this.#counts = zeroCommitted();
    const digests = this.#takeDigests();
    this.#unwritten = [];
    return {
      kind: 'settlement',
      settled: this.#ordinals.take(),
      counts,
      watermark: this.#watermark.position,
      digests,
    };
  }

  #takeDigests(): readonly TextDigest[] {
    return (this.#unwritten = [...this.#unwritten, ...this.#options.digests()]);
  }
}

interface OpenBlock {
  left: number;
  readonly end: Position;
}

/** Tracks the position before which every record has an outcome, by whole blocks. */
class HighWaterMark {
  #position: Position;
  /** Blocks in reading order, from the first one with a record without an outcome. */
  readonly #open: OpenBlock[] = [];
  readonly #byBlock = new Map<RowBlock, OpenBlock>();

  constructor(start: Position) {
    this.#position = start;
  }

  get position(): Position {
    return this.#position;
  }

  opened(block: RowBlock): void {
    const open = { left: block.count + block.parseErrors.length, end: block.end };
    this.#open.push(open);
    if (open.left > 0) this.#byBlock.set(block, open);
  }

  completed(block: RowBlock, count = 1): void {
    const open = this.#byBlock.get(block);
    if (!open) return;
    open.left -= count;
    if (open.left > 0) return;
    // Frees the block, even if an earlier one is still open.
    this.#byBlock.delete(block);
    for (let first = this.#open[0]; first?.left === 0; first = this.#open[0]) {
      this.#position = first.end;
      this.#open.shift();
    }
  }
}

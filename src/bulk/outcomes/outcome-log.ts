import { GroupCommit, type Journal } from '../journal/journal.js';
import { zeroCommitted, type NonIdempotentKind, type CommittedCounts } from './outcome-counts.js';
import { OrdinalSet, toRanges } from './ordinal-set.js';
import type { RowBlock, Position, TextDigest } from '../../input/row-block.js';
import type { RejectsFile } from '../../output/rejects-file.js';
import type { WriteEntry } from './journal-entries.js';

/**
 * Where the outcomes of a run are committed, so that another process can go on after any crash.
 * What a commit throws stops the run: then nothing more may be sent.
 */
export interface OutcomeLog {
  opened(rows: RowBlock): void;
  /** Notes the outcome of one record or of neighbours; on the disk when the next `commit` resolves. */
  record(rows: RowBlock, ordinal: number, how: keyof CommittedCounts, count?: number): void;
  /** Records that an earlier part of the run settled, or that another shard accounts for. */
  skipped(rows: RowBlock, count?: number): void;
  /** Must resolve before the first byte of records that may not be sent twice goes out. */
  intend(ordinals: readonly number[], kind: NonIdempotentKind): Promise<void>;
  /** Kinds of records that were intended so far, by earlier parts of the run, too. */
  readonly once: ReadonlySet<NonIdempotentKind>;
  /** Takes an intent back: these records provably were not processed. */
  retractIntent(ordinals: readonly number[]): Promise<void>;
  /** Writes what was noted, so that it outlives the process; false when that has to wait for `commit`. */
  write(): boolean;
  /** Resolves when what was noted so far is on the disk; shared with whoever asks meanwhile. */
  commit(): Promise<void>;
}

/** Keeps nothing but the rejects: of a run that cannot be resumed. */
export class MemoryOutcomes implements OutcomeLog {
  readonly once = new Set<NonIdempotentKind>();
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
    this.once.add(kind);
  }

  async retractIntent(): Promise<void> {}

  write(): boolean {
    return this.#rejects.missing === 0;
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }
}

interface Kept {
  readonly journal: Journal<WriteEntry>;
  readonly rejects: RejectsFile;
  readonly digests: () => readonly TextDigest[];
  /** Where this part of the run begins. */
  readonly start: Position;
  /** Kinds of records that earlier parts intended. */
  readonly once: ReadonlySet<NonIdempotentKind>;
}

type Settled = Extract<WriteEntry, { kind: 'settlement' }>;

/** Commits outcomes to the journal of a run. */
export class JournaledOutcomes implements OutcomeLog {
  readonly once: Set<NonIdempotentKind>;
  readonly #kept: Kept;
  readonly #watermark: HighWaterMark;
  readonly #ordinals = new OrdinalSet();
  readonly #commits = new GroupCommit(() => this.#commit());
  #counts = zeroCommitted();
  /** Outcomes were taken whose rejects are on their way to the disk: no others may come before them. */
  #isAhead = false;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.#watermark = new HighWaterMark(kept.start);
    this.once = new Set(kept.once);
  }

  opened(rows: RowBlock): void {
    this.#watermark.opened(rows);
  }

  record(rows: RowBlock, ordinal: number, how: keyof CommittedCounts, count = 1): void {
    this.#watermark.settled(rows, count);
    this.#ordinals.addRun(ordinal, count);
    this.#counts[how] += count;
  }

  skipped(rows: RowBlock, count = 1): void {
    this.#watermark.settled(rows, count);
  }

  async intend(ordinals: readonly number[], kind: NonIdempotentKind): Promise<void> {
    this.once.add(kind);
    this.#kept.journal.write({ kind: 'intent', records: toRanges(ordinals), of: kind });
    return this.commit();
  }

  async retractIntent(ordinals: readonly number[]): Promise<void> {
    this.#kept.journal.write({ kind: 'unsent', records: toRanges(ordinals) });
    return this.commit();
  }

  write(): boolean {
    // What the journal says of the rejects must stand in the file, also after a power cut.
    if (this.#isAhead || !this.#kept.rejects.isSynced) return false;
    this.#write(this.#settlement());
    return true;
  }

  async commit(): Promise<void> {
    return this.#commits.commit();
  }

  async #commit(): Promise<void> {
    const { journal, rejects } = this.#kept;
    // A rejects file is announced, so that what a crash leaves of it is known to be of this run.
    if (rejects.makeWay()) {
      await journal.append({ kind: 'rejectsBegun', file: rejects.file });
    }
    // Taken at once with the lines of these outcomes, so that the mark counts no others.
    const settlement = this.#settlement();
    if (!rejects.isSynced) {
      this.#isAhead = true;
      await rejects.sync();
      this.#isAhead = false;
    }
    this.#write(settlement);
    await journal.sync();
  }

  /** With the rejects file's mark, which is what is synced of it by now. */
  #write(settlement: Omit<Settled, 'rejects'> | undefined): void {
    const { journal, rejects } = this.#kept;
    if (settlement) journal.write({ ...settlement, rejects: rejects.mark });
  }

  /** Of what was noted since the last one; none when that is nothing. */
  #settlement(): Omit<Settled, 'rejects'> | undefined {
    if (this.#ordinals.isEmpty) return undefined;
    const counts = this.#counts;
    this.#counts = zeroCommitted();
    return {
      kind: 'settlement',
      settled: this.#ordinals.take(),
      counts,
      watermark: this.#watermark.position,
      digests: this.#kept.digests(),
    };
  }
}

interface OpenBlock {
  left: number;
  readonly end: Position;
}

/** The place up to which every record is settled, known to the block. */
class HighWaterMark {
  #position: Position;
  /** Blocks that are read, in order; the first ones may be settled, when one before is not. */
  readonly #open: OpenBlock[] = [];
  readonly #byBlock = new Map<RowBlock, OpenBlock>();

  constructor(start: Position) {
    this.#position = start;
  }

  get position(): Position {
    return this.#position;
  }

  opened(block: RowBlock): void {
    const open = { left: block.count + block.faults.length, end: block.end };
    this.#open.push(open);
    if (open.left > 0) this.#byBlock.set(block, open);
  }

  settled(block: RowBlock, count = 1): void {
    const open = this.#byBlock.get(block);
    if (!open) return;
    open.left -= count;
    if (open.left > 0) return;
    // A settled block behind an unsettled one does not stay in memory.
    this.#byBlock.delete(block);
    for (let first = this.#open[0]; first?.left === 0; first = this.#open[0]) {
      this.#position = first.end;
      this.#open.shift();
    }
  }
}

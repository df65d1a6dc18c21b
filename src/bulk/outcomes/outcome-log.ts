import { CommitQueue } from '../journal/commit-queue.js';
import { noOutcomes, type OnceKind, type OutcomeLog, type SettledCounts } from '../outcome-log.js';
import { OrdinalSet, rangesOf } from './ordinal-set.js';
import { Watermark } from '../write/watermark.js';
import type { Position, RowBlock, TextDigest } from '../../input/rows.js';
import type { RejectsFile } from '../../output/rejects-file.js';
import type { Journal } from '../journal/journal.js';
import type { WriteEntry } from './journal-entries.js';

interface Kept {
  readonly journal: Journal<WriteEntry>;
  readonly rejects: RejectsFile;
  readonly digests: () => readonly TextDigest[];
  /** Where this part of the run begins. */
  readonly start: Position;
  /** Kinds of records that earlier parts intended. */
  readonly once: ReadonlySet<OnceKind>;
}

type Settled = Extract<WriteEntry, { kind: 'settlement' }>;

/** Commits outcomes to the journal of a run. */
export class JournalledOutcomes implements OutcomeLog {
  readonly once: Set<OnceKind>;
  readonly #kept: Kept;
  readonly #watermark: Watermark;
  readonly #ordinals = new OrdinalSet();
  readonly #commits = new CommitQueue(() => this.#commit());
  #counts = noOutcomes();
  /** Outcomes were taken whose rejects are on their way to the disk: no others may come before them. */
  #isAhead = false;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.#watermark = new Watermark(kept.start);
    this.once = new Set(kept.once);
  }

  opened(rows: RowBlock): void {
    this.#watermark.opened(rows);
  }

  settled(rows: RowBlock, ordinal: number, how: keyof SettledCounts, count = 1): void {
    this.#watermark.settled(rows, count);
    this.#ordinals.addRun(ordinal, count);
    this.#counts[how] += count;
  }

  skipped(rows: RowBlock, count = 1): void {
    this.#watermark.settled(rows, count);
  }

  async intend(ordinals: readonly number[], kind: OnceKind): Promise<void> {
    this.once.add(kind);
    this.#kept.journal.write({ kind: 'intent', records: rangesOf(ordinals), of: kind });
    return this.commit();
  }

  async takeBack(ordinals: readonly number[]): Promise<void> {
    this.#kept.journal.write({ kind: 'unsent', records: rangesOf(ordinals) });
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
    this.#counts = noOutcomes();
    return {
      kind: 'settlement',
      settled: this.#ordinals.take(),
      counts,
      watermark: this.#watermark.position,
      digests: this.#kept.digests(),
    };
  }
}

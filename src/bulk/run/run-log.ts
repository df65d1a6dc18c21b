import type { Position, RowBlock, TextDigest } from '../../input/rows.js';
import type { Journal } from './journal.js';
import type { SettledCounts, Settlement, WriteEntry } from './settlement.js';
import { CollectedRanges, rangesOf } from './ranges.js';
import type { RejectsFile } from '../rejects.js';
import { Watermark } from './watermark.js';

/** How a record ended; one that was not sent is not settled. */
export type Settled = keyof SettledCounts;

/** What a run keeps of its outcomes, so that another process can go on after any crash. */
export interface RunLog {
  opened(rows: RowBlock): void;
  /** Notes the outcome of one record or of neighbours; on the disk when the next `commit` resolves. */
  settled(rows: RowBlock, ordinal: number, how: Settled, count?: number): void;
  /** A record that an earlier part of the run settled. */
  skipped(rows: RowBlock): void;
  /** Must resolve before the first byte of records that may not be sent twice goes out. */
  intend(ordinals: readonly number[]): Promise<void>;
  /** Takes an intent back: these records provably were not processed. */
  takeBack(ordinals: readonly number[]): Promise<void>;
  /**
   * Writes down what was noted, so that it outlives the process; false when that has to wait for
   * `commit`. Throws E-FILE-WRITE; then nothing more may be sent.
   */
  write(): boolean;
  /** The same, and resolves when the disk has it. */
  commit(): Promise<void>;
}

/** Writes outcomes to a journal. Commits asked for while one is under way share the next. */
export class JournalLog implements RunLog {
  readonly #journal: Journal<WriteEntry>;
  readonly #rejects: RejectsFile;
  readonly #digests: () => readonly TextDigest[];
  readonly #watermark: Watermark;
  readonly #ordinals = new CollectedRanges();
  #counts = noCounts();
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(options: {
    readonly journal: Journal<WriteEntry>;
    readonly rejects: RejectsFile;
    readonly digests: () => readonly TextDigest[];
    readonly start: Position;
  }) {
    this.#journal = options.journal;
    this.#rejects = options.rejects;
    this.#digests = options.digests;
    this.#watermark = new Watermark(options.start);
  }

  opened(rows: RowBlock): void {
    this.#watermark.opened(rows);
  }

  settled(rows: RowBlock, ordinal: number, how: Settled, count = 1): void {
    this.#watermark.settled(rows, count);
    this.#ordinals.add(ordinal, count);
    this.#counts[how] += count;
  }

  skipped(rows: RowBlock): void {
    this.#watermark.settled(rows);
  }

  async intend(ordinals: readonly number[]): Promise<void> {
    await this.#journal.append({ intent: rangesOf(ordinals) });
  }

  async takeBack(ordinals: readonly number[]): Promise<void> {
    await this.#journal.append({ unsent: rangesOf(ordinals) });
  }

  write(): boolean {
    // What the journal says of the rejects must stand in the file, also after a power cut.
    if (!this.#rejects.isSynced) return false;
    this.#writeSettlement();
    return true;
  }

  async commit(): Promise<void> {
    this.#next ??= this.#commitAfter(this.#current);
    return this.#next;
  }

  async #commitAfter(current: Promise<void>): Promise<void> {
    await current;
    // A rejects file is announced, so that what a crash leaves of it is known to be of this run.
    if (this.#rejects.makeWay()) await this.#journal.append({ rejectsFile: this.#rejects.file });
    // From here to the mark nothing is waited for: it counts the lines of this settlement and no others.
    this.#current = this.#next ?? current;
    this.#next = undefined;
    // The rejects first: what the journal says of them must stand in the file.
    this.#rejects.sync();
    this.#writeSettlement();
    await this.#journal.sync();
  }

  #writeSettlement(): void {
    if (this.#ordinals.isEmpty) return;
    this.#journal.write({ ...this.#takeSettlement(), rejects: this.#rejects.mark });
  }

  #takeSettlement(): Omit<Settlement, 'rejects'> {
    const settlement = {
      settled: this.#ordinals.take(),
      counts: this.#counts,
      watermark: this.#watermark.position,
      digests: this.#digests(),
    };
    this.#counts = noCounts();
    return settlement;
  }
}

const noCounts = (): Record<Settled, number> => ({
  accepted: 0,
  rejected: 0,
  unknown: 0,
  duplicates: 0,
});

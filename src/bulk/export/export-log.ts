import { CommitQueue } from '../journal/commit-queue.js';
import { replay } from '../journal/entry-table.js';
import { exportEntries, type ExportEntry } from './export-journal.js';
import { ExportProgress } from './export-progress.js';
import type { Journal } from '../journal/journal.js';

/** What an entry says of a file is true once that is on the disk. */
interface Target {
  sync(): Promise<void>;
}

/**
 * Commits how far an export came, always after what it says has become true: the data is on the
 * disk before the entry that names it. Without a journal nothing is kept, and nothing synced.
 */
export class ExportLog {
  /** Of earlier processes; what this one adds is not in it. */
  readonly earlier: ExportProgress;
  readonly #journal: Journal<ExportEntry> | undefined;
  readonly #commits = new CommitQueue(() => this.#commit());
  #noted: ExportEntry[] = [];
  readonly #targets = new Set<Target>();
  #isEmpty: boolean;

  constructor(
    journal: Journal<ExportEntry> | undefined,
    entries: readonly ExportEntry[],
    documentOf: (slice: number) => number,
  ) {
    this.#journal = journal;
    this.earlier = replay(exportEntries, entries, new ExportProgress(documentOf));
    this.#isEmpty = entries.every(({ kind }) => kind === 'plan');
  }

  /** Whether another process could go on where this one ends. */
  get resumable(): boolean {
    return this.#journal !== undefined;
  }

  /** Whether there is something to go on with. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /**
   * Resolves when the entry is on the disk, after the target it speaks of. `refused` comes before
   * the pages are taken back: a file shorter than its entry would look damaged.
   */
  async note(entry: ExportEntry, target?: Target): Promise<void> {
    if (!this.#journal) return;
    this.#isEmpty = false;
    this.#noted.push(entry);
    if (target) this.#targets.add(target);
    return this.#commits.commit();
  }

  async #commit(): Promise<void> {
    const entries = this.#noted;
    const targets = [...this.#targets];
    this.#noted = [];
    this.#targets.clear();
    await Promise.all(targets.map((target) => target.sync()));
    await this.#journal?.append(...entries);
  }
}

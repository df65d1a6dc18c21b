import { GroupCommit, type Journal } from '../journal/journal.js';
import { replay, type EntryOf } from '../journal/journal-format.js';
import type { DayRange } from '../../contract/dates.js';
import type { Checkpoint, FileMark } from '../../output/output.js';

/** A file that must be synced before the journal may refer to its content. */
interface Target {
  sync(): Promise<void>;
}

/**
 * Commits the progress of an export: data is synced before the entry that refers to it. Without a
 * journal nothing is written or synced.
 */
export class ExportJournal {
  /** State left by earlier processes. */
  readonly earlier: ExportResumeState;
  readonly #journal: Journal<ExportEntry> | undefined;
  readonly #commits = new GroupCommit(() => this.#commit());
  #noted: ExportEntry[] = [];
  readonly #targets = new Set<Target>();
  #isEmpty: boolean;

  /** `documentOf`: the document of each planned slice. */
  constructor(
    journal: Journal<ExportEntry> | undefined,
    entries: readonly ExportEntry[],
    documentOf: readonly number[],
  ) {
    this.#journal = journal;
    this.earlier = replay(exportEntries, entries, new ExportResumeState(documentOf));
    this.#isEmpty = entries.every(({ kind }) => kind === 'plan' || kind === 'sliced');
  }

  /** Whether another process can resume the run. */
  get resumable(): boolean {
    return this.#journal !== undefined;
  }

  /** Whether there is nothing to resume. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /**
   * Resolves when the target and then the entry are synced. Write `refused` and `divided` before the
   * pages are truncated: a file shorter than its entry would look damaged.
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

/** A range of days of an event, and the file of its records; undefined is stdout. */
export interface FileSlice {
  readonly eventName: string;
  readonly from: number;
  readonly to: number;
  readonly file: string | undefined;
  /** Replaces the existing file when complete. */
  readonly replaces?: boolean;
}

/** Options and range that a resume must repeat; `options` by flag. */
export interface ExportPlan {
  readonly options: Readonly<Record<string, unknown>>;
  /** File names as typed, and their numbers of slices. */
  readonly documents: readonly { readonly file: string; readonly slices: number }[];
  readonly from: number;
  readonly to: number;
  /** Chosen slices with absolute paths (`--missing`); absent if all of the range. */
  readonly chosen?: readonly FileSlice[];
}

interface OfSlice {
  readonly slice: number;
}
interface OfDocument {
  readonly document: number;
}

/** A synced page; `next` is null after the last. */
interface CommittedPage extends OfSlice {
  readonly next: string | null;
  readonly records: number;
  /** Hash of the records; absent without records, and in runs of earlier versions. */
  readonly hash?: string;
  /** Checkpoint of the slice's target after the page. */
  readonly at: Checkpoint;
}

/**
 * Entries of an export's journal. Slices and documents are numbered over the whole run, from 0.
 */
export const exportEntries = {
  /**
   * First entry: the request with relative dates resolved. Resuming with `--missing` may add
   * another plan, whose documents follow the earlier ones.
   */
  plan(_: ExportResumeState, __: { readonly plan: ExportPlan }): void {},
  /**
   * The range of each slice of an event, so that a resume keeps them whatever its concurrency.
   * Without this entry, each slice is a day or the whole range.
   */
  sliced(_: ExportResumeState, __: { readonly ranges: readonly DayRange[] }): void {},
  /** A cursor was opened; the slice's pages go to its document, or to its spill. */
  opened(
    progress: ExportResumeState,
    { slice, cursor, spilled }: OfSlice & { readonly cursor: string; readonly spilled: boolean },
  ): void {
    const start = spilled ? emptyCheckpoint : progress.document(progress.documentOf[slice]!).at;
    const [seen, hashes] = [new Set([cursor]), new Set<string>()];
    const initial = { start, at: start, spilled, merged: false, records: 0, pages: 0 };
    progress.slices.set(slice, { ...initial, cursor, seen, hashes });
  },
  page(progress: ExportResumeState, { slice, next, records, hash, at }: CommittedPage): void {
    progress.changeSlice(slice, (was) => {
      if (!was.spilled) progress.advance(slice, at);
      if (next !== null) was.seen.add(next);
      if (hash !== undefined) was.hashes.add(hash);
      return { at, cursor: next, records: was.records + records, pages: was.pages + 1 };
    });
  },
  /** The cursor was refused: the slice's pages are dropped, and it restarts. */
  refused(progress: ExportResumeState, { slice }: OfSlice): void {
    progress.dropPages(slice);
  },
  /**
   * The slice proved large: its pages are dropped, it restarts with the first range, and new slices
   * for the others follow it. They get the next free numbers.
   */
  divided(progress: ExportResumeState, division: SliceDivision): void {
    progress.dropPages(division.slice);
    progress.divisions.push(division);
    const document = progress.documentOf[division.slice]!;
    progress.documentOf.push(...division.ranges.slice(1).map(() => document));
  },
  /** The slice's spill was copied to its document. */
  merged(progress: ExportResumeState, { slice, at }: OfSlice & { readonly at: Checkpoint }): void {
    progress.changeSlice(slice, () => {
      progress.advance(slice, at);
      return { merged: true };
    });
  },
  /** The document is complete and synced under its partial name. */
  sealed(
    progress: ExportResumeState,
    { document, mark }: OfDocument & { readonly mark: FileMark },
  ): void {
    progress.changeDocument(document, { sealed: mark });
  },
  /** The document has too few records and is not published. */
  short(progress: ExportResumeState, { document }: OfDocument): void {
    progress.changeDocument(document, { short: true });
  },
  /** The document has its final name. */
  published(progress: ExportResumeState, { document }: OfDocument): void {
    progress.changeDocument(document, { published: true });
  },
};

export type ExportEntry = EntryOf<typeof exportEntries>;

/** A slice, and the consecutive ranges that it was divided into. */
export interface SliceDivision extends OfSlice {
  readonly ranges: readonly DayRange[];
}

export interface SliceProgress {
  /** Checkpoint of the target before the first page. */
  readonly start: Checkpoint;
  /** Checkpoint of the target now. */
  readonly at: Checkpoint;
  readonly spilled: boolean;
  readonly merged: boolean;
  /** Next cursor; null after the last page; undefined if a new one must be opened. */
  readonly cursor: string | null | undefined;
  /** All cursors so far. */
  readonly seen: Set<string>;
  /** Hashes of the pages so far. */
  readonly hashes: Set<string>;
  readonly records: number;
  readonly pages: number;
}

interface DocumentProgress {
  readonly at: Checkpoint;
  readonly sealed?: FileMark;
  readonly published?: true;
  readonly short?: true;
}

export const emptyCheckpoint: Checkpoint = { bytes: 0, crc: 0, records: 0 };

/** Progress of a run, replayed from its journal. */
export class ExportResumeState {
  readonly slices = new Map<number, SliceProgress>();
  readonly documents = new Map<number, DocumentProgress>();
  /** Document of each slice, including those that a division added. */
  readonly documentOf: number[];
  /** Divisions in the order in which they were made. */
  readonly divisions: SliceDivision[] = [];

  constructor(documentOf: readonly number[]) {
    this.documentOf = [...documentOf];
  }

  /** Counts of records and pages in documents and spills. */
  get counts(): { records: number; pages: number; slicesDone: number } {
    const slices = [...this.slices.values()];
    return {
      slicesDone: slices.filter(({ cursor }) => cursor === null).length,
      records: slices.reduce((sum, { records }) => sum + records, 0),
      pages: slices.reduce((sum, { pages }) => sum + pages, 0),
    };
  }

  document(index: number): DocumentProgress {
    return this.documents.get(index) ?? { at: emptyCheckpoint };
  }

  changeDocument(index: number, change: Partial<DocumentProgress>): void {
    this.documents.set(index, { ...this.document(index), ...change });
  }

  changeSlice(slice: number, change: (progress: SliceProgress) => Partial<SliceProgress>): void {
    const progress = this.slices.get(slice);
    if (progress) this.slices.set(slice, { ...progress, ...change(progress) });
  }

  /** Drops the pages of a slice, which then needs a new cursor. */
  dropPages(slice: number): void {
    this.changeSlice(slice, ({ start, spilled }) => {
      if (!spilled) this.advance(slice, start);
      const nothing = { seen: new Set<string>(), hashes: new Set<string>(), records: 0, pages: 0 };
      return { at: start, cursor: undefined, ...nothing };
    });
  }

  /** Sets the checkpoint of the slice's document. */
  advance(slice: number, at: Checkpoint): void {
    this.changeDocument(this.documentOf[slice]!, { at });
  }
}

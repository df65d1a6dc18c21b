import { GroupCommit, type Journal } from '../journal/journal.js';
import { replay, type EntryOf } from '../journal/journal-format.js';
import type { Checkpoint, FileMark } from '../../output/output.js';

/** What an entry says of a file is true once that is on the disk. */
interface Target {
  sync(): Promise<void>;
}

/**
 * Commits how far an export came, always after what it says has become true: the data is on the
 * disk before the entry that names it. Without a journal nothing is kept, and nothing synced.
 */
export class ExportJournal {
  /** Of earlier processes; what this one adds is not in it. */
  readonly earlier: ExportResumeState;
  readonly #journal: Journal<ExportEntry> | undefined;
  readonly #commits = new GroupCommit(() => this.#commit());
  #noted: ExportEntry[] = [];
  readonly #targets = new Set<Target>();
  #isEmpty: boolean;

  constructor(
    journal: Journal<ExportEntry> | undefined,
    entries: readonly ExportEntry[],
    documentOf: (slice: number) => number,
  ) {
    this.#journal = journal;
    this.earlier = replay(exportEntries, entries, new ExportResumeState(documentOf));
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

/** A range of days of an event, and the file that its records go to; undefined: stdout. */
export interface FileSlice {
  readonly eventName: string;
  readonly from: number;
  readonly to: number;
  readonly file: string | undefined;
  /** The file is there, and is replaced when this one is whole. */
  readonly replaces?: boolean;
}

/** What must be the same when the export is resumed; `options` by flag, as typed. */
export interface ExportPlan {
  readonly options: Readonly<Record<string, unknown>>;
  /** The files as they are named, and how many slices each of them holds. */
  readonly documents: readonly { readonly file: string; readonly slices: number }[];
  readonly from: number;
  readonly to: number;
  /** Those that were chosen, by absolute paths, of an export that leaves out what is there; else all of the range. */
  readonly chosen?: readonly FileSlice[];
}

interface OfSlice {
  readonly slice: number;
}
interface OfDocument {
  readonly document: number;
}

/** A page is on the disk; `next` is null after the last. */
interface CommittedPage extends OfSlice {
  readonly next: string | null;
  readonly records: number;
  /** Where the slice's target stood after it. */
  readonly at: Checkpoint;
}

/**
 * What the journal of an export can say. Slices and documents are numbered over the whole run,
 * from 0.
 */
export const exportEntries = {
  /**
   * First of all: what was asked for, with relative dates resolved. A resume of an export that leaves
   * out what is there may add another one, with documents that come after those before.
   */
  plan(_: ExportResumeState, __: { readonly plan: ExportPlan }): void {},
  /** A cursor was given; the slice's pages go to its document, or to a spill of its own. */
  opened(
    progress: ExportResumeState,
    { slice, cursor, spilled }: OfSlice & { readonly cursor: string; readonly spilled: boolean },
  ): void {
    const start = spilled ? emptyCheckpoint : progress.document(progress.documentOf(slice)).at;
    const seen = new Set([cursor]);
    const begun = { start, at: start, spilled, merged: false, records: 0, pages: 0 };
    progress.slices.set(slice, { ...begun, cursor, seen });
  },
  page(progress: ExportResumeState, { slice, next, records, at }: CommittedPage): void {
    progress.changeSlice(slice, (was) => {
      if (!was.spilled) progress.advance(slice, at);
      if (next !== null) was.seen.add(next);
      return { at, cursor: next, records: was.records + records, pages: was.pages + 1 };
    });
  },
  /** The cursor was refused: the slice's pages are void, it begins again. */
  refused(progress: ExportResumeState, { slice }: OfSlice): void {
    progress.changeSlice(slice, ({ start, spilled }) => {
      if (!spilled) progress.changeDocument(progress.documentOf(slice), { at: start });
      return { at: start, cursor: undefined, seen: new Set<string>(), records: 0, pages: 0 };
    });
  },
  /** All of the slice's spill stands in its document. */
  merged(progress: ExportResumeState, { slice, at }: OfSlice & { readonly at: Checkpoint }): void {
    progress.changeSlice(slice, () => {
      progress.advance(slice, at);
      return { merged: true };
    });
  },
  /** The document is complete under its partial name, and on the disk. */
  sealed(
    progress: ExportResumeState,
    { document, mark }: OfDocument & { readonly mark: FileMark },
  ): void {
    progress.changeDocument(document, { sealed: mark });
  },
  /** The document has too few records, and is not wanted. */
  short(progress: ExportResumeState, { document }: OfDocument): void {
    progress.changeDocument(document, { short: true });
  },
  /** The document has its final name. */
  published(progress: ExportResumeState, { document }: OfDocument): void {
    progress.changeDocument(document, { published: true });
  },
};

export type ExportEntry = EntryOf<typeof exportEntries>;

export interface SliceProgress {
  /** Where its target stood before its first page. */
  readonly start: Checkpoint;
  /** Where its target stands. */
  readonly at: Checkpoint;
  readonly spilled: boolean;
  readonly merged: boolean;
  /** The cursor to go on with; null when all pages are there; undefined when it needs a new one. */
  readonly cursor: string | null | undefined;
  /** All cursors so far. */
  readonly seen: Set<string>;
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

/** How far a run came, from its journal. */
export class ExportResumeState {
  readonly slices = new Map<number, SliceProgress>();
  readonly documents = new Map<number, DocumentProgress>();
  readonly documentOf: (slice: number) => number;

  constructor(documentOf: (slice: number) => number) {
    this.documentOf = documentOf;
  }

  /** What stands in documents and spills. */
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

  /** More stands in the slice's document. */
  advance(slice: number, at: Checkpoint): void {
    this.changeDocument(this.documentOf(slice), { at });
  }
}

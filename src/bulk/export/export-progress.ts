import type { Checkpoint, FileMark } from '../../output/output.js';
import type { ExportEntry, PageEntry } from './export-entries.js';

type SliceEntry = Extract<ExportEntry, { slice: number }>;

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

export interface DocumentProgress {
  readonly at: Checkpoint;
  readonly sealed?: FileMark;
  readonly published?: true;
}

export const emptyCheckpoint: Checkpoint = { bytes: 0, crc: 0, records: 0 };

/** How far a run came, from its journal. */
export class ExportProgress {
  readonly slices = new Map<number, SliceProgress>();
  readonly documents = new Map<number, DocumentProgress>();
  readonly #documentOf: (slice: number) => number;

  constructor(documentOf: (slice: number) => number) {
    this.#documentOf = documentOf;
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

  add(entry: ExportEntry): void {
    if ('document' in entry) {
      const { document, ...step } = entry;
      this.documents.set(document, { ...this.document(document), ...step });
    } else if ('slice' in entry) {
      this.#addToSlice(entry);
    }
  }

  #addToSlice(entry: SliceEntry): void {
    const { slice } = entry;
    const document = this.#documentOf(slice);
    if ('opened' in entry) {
      const { spilled, opened } = entry;
      const start = spilled ? emptyCheckpoint : this.document(document).at;
      const begun = { start, at: start, spilled, merged: false, records: 0, pages: 0 };
      this.slices.set(slice, { ...begun, cursor: opened, seen: new Set([opened]) });
      return;
    }
    const progress = this.slices.get(slice);
    if (progress === undefined) return;
    if ('merged' in entry) {
      this.#advance(document, entry.merged);
      this.slices.set(slice, { ...progress, merged: true });
    } else if ('refused' in entry) {
      const { start, spilled } = progress;
      if (!spilled) this.documents.set(document, { ...this.document(document), at: start });
      const again = { at: start, cursor: undefined, seen: new Set<string>(), records: 0, pages: 0 };
      this.slices.set(slice, { ...progress, ...again });
    } else {
      this.#addPage(document, progress, entry);
    }
  }

  #addPage(
    document: number,
    progress: SliceProgress,
    { slice, next, records, at }: PageEntry,
  ): void {
    const known = withColumns(at, progress.at);
    if (!progress.spilled) this.#advance(document, known);
    if (next !== null) progress.seen.add(next);
    this.slices.set(slice, {
      ...progress,
      at: known,
      cursor: next,
      records: progress.records + records,
      pages: progress.pages + 1,
    });
  }

  #advance(document: number, at: Checkpoint): void {
    const progress = this.document(document);
    this.documents.set(document, { ...progress, at: withColumns(at, progress.at) });
  }
}

/** Columns are written down only when there are new ones. */
const withColumns = (at: Checkpoint, earlier: Checkpoint): Checkpoint =>
  at.columns || !earlier.columns ? at : { ...at, columns: earlier.columns };

import { emptyCheckpoint, type ExportProgress } from './export-progress.js';
import type { Checkpoint, FileMark } from '../../output/output.js';
import type { EntryOf } from '../journal/entry-table.js';

/** A range of days of an event, and the file that its records go to; undefined: stdout. */
export interface SliceOfFile {
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
  readonly chosen?: readonly SliceOfFile[];
}

interface OfSlice {
  readonly slice: number;
}
interface OfDocument {
  readonly document: number;
}

/** A page is on the disk; `next` is null after the last. */
export interface WrittenPage extends OfSlice {
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
  plan(_: ExportProgress, __: { readonly plan: ExportPlan }): void {},
  /** A cursor was given; the slice's pages go to its document, or to a spill of its own. */
  opened(
    progress: ExportProgress,
    { slice, cursor, spilled }: OfSlice & { readonly cursor: string; readonly spilled: boolean },
  ): void {
    const start = spilled ? emptyCheckpoint : progress.document(progress.documentOf(slice)).at;
    const seen = new Set([cursor]);
    const begun = { start, at: start, spilled, merged: false, records: 0, pages: 0 };
    progress.slices.set(slice, { ...begun, cursor, seen });
  },
  page(progress: ExportProgress, { slice, next, records, at }: WrittenPage): void {
    progress.changeSlice(slice, (was) => {
      if (!was.spilled) progress.advance(slice, at);
      if (next !== null) was.seen.add(next);
      return { at, cursor: next, records: was.records + records, pages: was.pages + 1 };
    });
  },
  /** The cursor was refused: the slice's pages are void, it begins again. */
  refused(progress: ExportProgress, { slice }: OfSlice): void {
    progress.changeSlice(slice, ({ start, spilled }) => {
      if (!spilled) progress.changeDocument(progress.documentOf(slice), { at: start });
      return { at: start, cursor: undefined, seen: new Set<string>(), records: 0, pages: 0 };
    });
  },
  /** All of the slice's spill stands in its document. */
  merged(progress: ExportProgress, { slice, at }: OfSlice & { readonly at: Checkpoint }): void {
    progress.changeSlice(slice, () => {
      progress.advance(slice, at);
      return { merged: true };
    });
  },
  /** The document is complete under its partial name, and on the disk. */
  sealed(
    progress: ExportProgress,
    { document, mark }: OfDocument & { readonly mark: FileMark },
  ): void {
    progress.changeDocument(document, { sealed: mark });
  },
  /** The document has too few records, and is not wanted. */
  short(progress: ExportProgress, { document }: OfDocument): void {
    progress.changeDocument(document, { short: true });
  },
  /** The document has its final name. */
  published(progress: ExportProgress, { document }: OfDocument): void {
    progress.changeDocument(document, { published: true });
  },
};

export type ExportEntry = EntryOf<typeof exportEntries>;

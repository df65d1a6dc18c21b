import type { Checkpoint, FileMark } from '../../output/output.js';

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
  readonly short?: true;
}

export const emptyCheckpoint: Checkpoint = { bytes: 0, crc: 0, records: 0 };

/** How far a run came, from its journal. */
export class ExportProgress {
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

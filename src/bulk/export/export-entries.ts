import type { Checkpoint, FileMark } from '../../output/output.js';

/**
 * What the journal of an export says, in the order in which it became true. Slices and
 * documents are numbered over the whole run, from 0.
 */
export type ExportEntry =
  /** First line: what was asked for, with relative dates resolved. */
  | { readonly plan: ExportPlan }
  /** A cursor was given; the slice's pages go to its document, or to a spill of its own. */
  | { readonly slice: number; readonly opened: string; readonly spilled: boolean }
  | PageEntry
  /** The cursor was refused: the slice's pages are void, it begins again. */
  | { readonly slice: number; readonly refused: true }
  /** All of the slice's spill stands in its document. */
  | { readonly slice: number; readonly merged: Checkpoint }
  /** The document is complete under its partial name, and on the disk. */
  | { readonly document: number; readonly sealed: FileMark }
  /** The document has its final name. */
  | { readonly document: number; readonly published: true };

/** A page is on the disk; `next` is null after the last. */
export interface PageEntry {
  readonly slice: number;
  readonly next: string | null;
  readonly records: number;
  /** Where the slice's target stood after it. */
  readonly at: Checkpoint;
}

/** What must be the same when the export is resumed; `options` by flag, as typed. */
export interface ExportPlan {
  readonly options: Readonly<Record<string, unknown>>;
  /** The files as they are named, and how many slices each of them holds. */
  readonly documents: readonly { readonly file: string; readonly slices: number }[];
  readonly from: number;
  readonly to: number;
}

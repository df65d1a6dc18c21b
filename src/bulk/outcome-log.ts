import type { RowBlock } from '../input/rows.js';

/** How records ended; one that was not sent is not settled. */
export type SettledCounts = ReturnType<typeof noOutcomes>;

export const noOutcomes = () => ({
  accepted: 0,
  rejected: 0,
  unknown: 0,
  duplicates: 0,
  /** The account accepted them as they are in an earlier run: they were not sent. */
  unchanged: 0,
});

/** Records that do harm when sent twice; `other` are demerges, and profiles with operators. */
export type OnceKind = 'event' | 'other';

/**
 * Where the outcomes of a run are committed, so that another process can go on after any crash.
 * What a commit throws stops the run: then nothing more may be sent.
 */
export interface OutcomeLog {
  opened(rows: RowBlock): void;
  /** Notes the outcome of one record or of neighbours; on the disk when the next `commit` resolves. */
  settled(rows: RowBlock, ordinal: number, how: keyof SettledCounts, count?: number): void;
  /** Records that an earlier part of the run settled, or that another shard accounts for. */
  skipped(rows: RowBlock, count?: number): void;
  /** Must resolve before the first byte of records that may not be sent twice goes out. */
  intend(ordinals: readonly number[], kind: OnceKind): Promise<void>;
  /** Kinds of records that were intended so far, by earlier parts of the run, too. */
  readonly once: ReadonlySet<OnceKind>;
  /** Takes an intent back: these records provably were not processed. */
  takeBack(ordinals: readonly number[]): Promise<void>;
  /** Writes what was noted, so that it outlives the process; false when that has to wait for `commit`. */
  write(): boolean;
  /** Resolves when what was noted so far is on the disk; shared with whoever asks meanwhile. */
  commit(): Promise<void>;
}

import type { Position, TextDigest } from '../../input/rows.js';
import type { Ranges } from './ranges.js';
import type { RejectsMark } from '../rejects.js';

/** Outcomes that were settled together. */
export interface Settlement {
  readonly settled: Ranges;
  readonly counts: SettledCounts;
  /** The rejects file, once all of this stands in it. */
  readonly rejects: RejectsMark;
  /** All records before it are settled. */
  readonly watermark: Position;
  /** Of each input read since the last settlement. */
  readonly digests: readonly TextDigest[];
}

export interface SettledCounts {
  readonly accepted: number;
  readonly rejected: number;
  readonly unknown: number;
  readonly duplicates: number;
}

/** Records that are about to be sent and must not be sent twice. */
export interface Intent {
  readonly intent: Ranges;
}

/** Records of an intent that provably were not processed: they may be sent after all. */
export interface Unsent {
  readonly unsent: Ranges;
}

/** The absolute path of the rejects file, which is about to be created. */
export interface RejectsBegun {
  readonly rejectsFile: string;
}

/** A line of the journal of a write. */
export type WriteEntry = Settlement | Intent | Unsent | RejectsBegun;

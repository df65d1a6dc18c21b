import { replay, type EntryOf } from '../journal/journal-format.js';
import { zeroCommitted, type NonIdempotentKind, type CommittedCounts } from './outcome-counts.js';
import { OrdinalSet, type Ranges } from './ordinal-set.js';
import type { Position, TextDigest } from '../../input/row-block.js';
import type { FileCheckpoint } from '../../output/checkpoint-file.js';

/** What the earlier parts of a run came to, as its journal tells. */
export type ResumeState = ReturnType<typeof nothingYet>;

const nothingYet = () => ({
  counts: zeroCommitted(),
  settled: new OrdinalSet(),
  /** Sent, as far as is known, and without an outcome. */
  intended: new OrdinalSet(),
  /** Kinds of records that were sent, or may have been, and must not be sent twice. */
  once: new Set<NonIdempotentKind>(),
  watermark: { input: 0, offset: 0, line: 1, ordinal: 0 } as Position,
  /** By input. */
  digests: new Map<number, TextDigest>(),
  /** The rejects file once it was begun, and what is known to stand in it. */
  rejectsFile: undefined as string | undefined,
  rejects: { bytes: 0, crc: 0 } as FileCheckpoint,
  /** It ended because too much was rejected. */
  isRefused: false,
});

/** Outcomes that were settled together. */
interface Settlement {
  readonly settled: Ranges;
  readonly counts: CommittedCounts;
  /** The rejects file, once all of this stands in it. */
  readonly rejects: FileCheckpoint;
  /** All records before it are settled. */
  readonly watermark: Position;
  /** Of each input read since the last settlement. */
  readonly digests: readonly TextDigest[];
}

/** What the journal of a write can say. */
export const writeEntries = {
  settlement(parts: ResumeState, entry: Settlement): void {
    parts.settled.add(entry.settled);
    parts.intended.delete(entry.settled);
    for (const how of Object.keys(parts.counts) as (keyof CommittedCounts)[]) {
      parts.counts[how] += entry.counts[how];
    }
    for (const digest of entry.digests) parts.digests.set(digest.input, digest);
    parts.watermark = entry.watermark;
    parts.rejects = entry.rejects;
    parts.isRefused = false;
  },
  /** The run ended because too much was rejected: mostly its input is corrected then, and sent anew. */
  refused(parts: ResumeState, _entry: object): void {
    parts.isRefused = true;
  },
  /** Records that are about to be sent and must not be sent twice. */
  intent(
    parts: ResumeState,
    { records, of }: { readonly records: Ranges; readonly of: NonIdempotentKind },
  ): void {
    parts.intended.add(records);
    parts.once.add(of);
  },
  /** Records of an intent that provably were not processed: they may be sent after all. */
  unsent(parts: ResumeState, { records }: { readonly records: Ranges }): void {
    parts.intended.delete(records);
  },
  /** The absolute path of the rejects file, which is about to be created. */
  rejectsBegun(parts: ResumeState, { file }: { readonly file: string }): void {
    parts.rejectsFile = file;
  },
};

export type WriteEntry = EntryOf<typeof writeEntries>;

/** Replays the journal of a write. */
export const replayWrite = (entries: readonly WriteEntry[]): ResumeState =>
  replay(writeEntries, entries, nothingYet());

/** Something of it may have reached the service, so that it matters whether a run goes on or begins anew. */
export const hasSent = ({ counts, intended }: ResumeState): boolean =>
  counts.accepted + counts.unknown > 0 || !intended.isEmpty;

/** Nothing of it was sent; or it ended by its rejects, and to send all of it again does no harm. */
export const mayRestart = (parts: ResumeState): boolean =>
  !hasSent(parts) || (parts.isRefused && parts.once.size === 0);

/** False for the first part of a run: it need not look up each of its records. */
export const hasCommitted = ({ settled, intended }: ResumeState): boolean =>
  !settled.isEmpty || !intended.isEmpty;

/** Of a shard: records before the watermark, behind which reading goes on, that others account for. */
export const otherShardsBefore = ({ watermark, settled }: ResumeState): number =>
  watermark.ordinal - settled.countBefore(watermark.ordinal);

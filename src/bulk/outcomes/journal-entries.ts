import { replay, type EntryOf } from '../journal/journal-format.js';
import { zeroCommitted, type NonIdempotentKind, type CommittedCounts } from './outcome-counts.js';
import { OrdinalSet, type Ranges } from './ordinal-set.js';
import type { Position, TextDigest } from '../../input/row-block.js';
import type { RejectsMark } from '../../output/rejects-file.js';

/** State of a run, rebuilt from its journal. */
export type ResumeState = ReturnType<typeof emptyState>;

const emptyState = () => ({
  counts: zeroCommitted(),
  settled: new OrdinalSet(),
  /** Records that may have been sent, without an outcome. */
  intended: new OrdinalSet(),
  /** Kinds of non-idempotent records that may have been sent. */
  nonIdempotent: new Set<NonIdempotentKind>(),
  watermark: { input: 0, offset: 0, line: 1, ordinal: 0 } as Position,
  /** The highest watermark: an attempt that reads the inputs from the beginning again starts with a lower one. */
  farthest: { input: 0, offset: 0, line: 1, ordinal: 0 } as Position,
  /** Digest of the consumed text of each input, by index of the input. */
  digests: new Map<number, TextDigest>(),
  /** Absolute path of the rejects file, if one was created. */
  rejectsFile: undefined as string | undefined,
  /** Synced length and checksum of the rejects file, and which file it is. */
  rejects: { bytes: 0, crc: 0 } as RejectsMark,
  /** Whether the run ended because of too many rejects. */
  hitRejectLimit: false,
  /** Whether records may have been sent before the run started over. */
  hasSentBefore: false,
});

/** Outcomes committed together. */
interface Settlement {
  readonly settled: Ranges;
  readonly counts: CommittedCounts;
  /** Mark of the rejects file, which contains the rejects of these outcomes. */
  readonly rejects: RejectsMark;
  /** Position before which every record has an outcome. */
  readonly watermark: Position;
  /** Digest of each input read since the last entry. */
  readonly digests: readonly TextDigest[];
}

interface Intent {
  readonly records: Ranges;
  readonly of: NonIdempotentKind;
  /** Digest of each input read since the last entry; earlier versions and a repair leave it out. */
  readonly digests?: readonly TextDigest[];
}

/** The entry types of a write's journal; each applies one entry to the state. */
export const writeEntries = {
  settlement(state: ResumeState, entry: Settlement): void {
    state.settled.add(entry.settled);
    state.intended.delete(entry.settled);
    for (const outcome of Object.keys(state.counts) as (keyof CommittedCounts)[]) {
      state.counts[outcome] += entry.counts[outcome] ?? 0; // earlier versions had fewer outcomes
    }
    for (const digest of entry.digests) state.digests.set(digest.input, digest);
    state.watermark = entry.watermark;
    if (entry.watermark.ordinal >= state.farthest.ordinal) state.farthest = entry.watermark;
    state.rejects = entry.rejects;
    state.hitRejectLimit = false;
  },
  /** The run ended because of too many rejects. Users usually correct the input and start a new run. */
  refused(state: ResumeState, _entry: object): void {
    state.hitRejectLimit = true;
  },
  /** Non-idempotent records that are about to be sent. */
  intent(state: ResumeState, { records, of, digests = [] }: Intent): void {
    state.intended.add(records);
    state.nonIdempotent.add(of);
    for (const digest of digests) state.digests.set(digest.input, digest);
  },
  /** Retracts the intent of records that were provably not processed. */
  unsent(state: ResumeState, { records }: { readonly records: Ranges }): void {
    state.intended.delete(records);
  },
  /** The run started over, from the beginning of an input whose records may be at other places now. */
  restarted(state: ResumeState, _entry: object): void {
    const { nonIdempotent } = state;
    Object.assign(state, emptyState(), { nonIdempotent, hasSentBefore: hasSent(state) });
  },
  /** Absolute path of the rejects file that was created. */
  rejectsBegun(state: ResumeState, { file }: { readonly file: string }): void {
    state.rejectsFile = file;
  },
};

export type WriteEntry = EntryOf<typeof writeEntries>;

/** Rebuilds the state of a run from its journal entries. */
export const replayWrite = (entries: readonly WriteEntry[]): ResumeState =>
  replay(writeEntries, entries, emptyState());

/** Whether records may have reached the service, so that a new run could resend them. */
export const hasSent = ({ counts, intended, hasSentBefore }: ResumeState): boolean =>
  hasSentBefore || counts.accepted + counts.unknown > 0 || !intended.isEmpty;

/** Nothing of it was sent; or it ended by its rejects, and to send all of it again does no harm. */
export const mayRestart = (state: ResumeState): boolean =>
  !hasSent(state) || (state.hitRejectLimit && state.nonIdempotent.size === 0);

/** Whether an earlier attempt committed anything, so that each record must be looked up. */
export const hasCommitted = ({ settled, intended }: ResumeState): boolean =>
  !settled.isEmpty || !intended.isEmpty;

/** Whether a record at this ordinal or a later one may have been sent. */
export const hasReached = ({ settled, intended }: ResumeState, ordinal: number): boolean =>
  settled.reaches(ordinal) || intended.reaches(ordinal);

/** Number of records of other shards before the watermark. */
export const otherShardsBefore = ({ watermark, settled }: ResumeState): number =>
  watermark.ordinal - settled.countBefore(watermark.ordinal);

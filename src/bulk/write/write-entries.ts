import type { Position, TextDigest } from '../../input/rows.js';
import type { FileMark } from '../../output/marked-file.js';
import { replay, type EntryOf } from '../journal/entry-table.js';
import { noOutcomes, type OnceKind, type SettledCounts } from '../outcome-log.js';
import { OrdinalSet, type Ranges } from './ranges.js';

/** What the earlier parts of a run came to, as its journal tells. */
export interface EarlierParts {
  readonly counts: SettledCounts;
  readonly settled: OrdinalSet;
  /** Sent, as far as is known, and without an outcome. */
  readonly intended: OrdinalSet;
  /** Kinds of records that were sent, or may have been, and must not be sent twice. */
  readonly once: Set<OnceKind>;
  watermark: Position;
  /** By input. */
  readonly digests: Map<number, TextDigest>;
  /** The rejects file once it was begun, and what is known to stand in it. */
  rejectsFile: string | undefined;
  rejects: FileMark;
  /** It ended because too much was rejected. */
  isRefused: boolean;
}

/** Outcomes that were settled together. */
interface Settlement {
  readonly settled: Ranges;
  readonly counts: SettledCounts;
  /** The rejects file, once all of this stands in it. */
  readonly rejects: FileMark;
  /** All records before it are settled. */
  readonly watermark: Position;
  /** Of each input read since the last settlement. */
  readonly digests: readonly TextDigest[];
}

interface Intent {
  readonly records: Ranges;
  /** Journals of earlier versions do not say it. */
  readonly of?: OnceKind;
}

/** What the journal of a write can say. */
export const writeEntries = {
  settlement(parts: EarlierParts, entry: Settlement): void {
    parts.settled.add(entry.settled);
    parts.intended.delete(entry.settled);
    parts.counts.accepted += entry.counts.accepted;
    parts.counts.rejected += entry.counts.rejected;
    parts.counts.unknown += entry.counts.unknown;
    parts.counts.duplicates += entry.counts.duplicates;
    parts.counts.unchanged += entry.counts.unchanged ?? 0; // journals of earlier versions
    for (const digest of entry.digests) parts.digests.set(digest.input, digest);
    parts.watermark = entry.watermark;
    parts.rejects = entry.rejects;
    parts.isRefused = false;
  },
  /** The run ended because too much was rejected: mostly its input is corrected then, and sent anew. */
  refused(parts: EarlierParts, _entry: object): void {
    parts.isRefused = true;
  },
  /** Records that are about to be sent and must not be sent twice. */
  intent(parts: EarlierParts, { records, of = 'other' }: Intent): void {
    parts.intended.add(records);
    parts.once.add(of);
  },
  /** Records of an intent that provably were not processed: they may be sent after all. */
  unsent(parts: EarlierParts, { records }: { readonly records: Ranges }): void {
    parts.intended.delete(records);
  },
  /** The absolute path of the rejects file, which is about to be created. */
  rejectsBegun(parts: EarlierParts, { file }: { readonly file: string }): void {
    parts.rejectsFile = file;
  },
};

export type WriteEntry = EntryOf<typeof writeEntries>;

/** Replays the journal of a write. */
export const earlierParts = (entries: readonly WriteEntry[]): EarlierParts =>
  replay(writeEntries, entries, {
    counts: noOutcomes(),
    settled: new OrdinalSet(),
    intended: new OrdinalSet(),
    once: new Set(),
    watermark: { input: 0, offset: 0, line: 1, ordinal: 0 },
    digests: new Map(),
    rejectsFile: undefined,
    rejects: { bytes: 0, crc: 0 },
    isRefused: false,
  });

/** Something of it may have reached the service, so that it matters whether a run goes on or begins anew. */
export const hasSent = ({ counts, intended }: EarlierParts): boolean =>
  counts.accepted + counts.unknown > 0 || !intended.isEmpty;

/** Nothing of it was sent; or it ended by its rejects, and to send all of it again does no harm. */
export const mayBeginAnew = (parts: EarlierParts): boolean =>
  !hasSent(parts) || (parts.isRefused && parts.once.size === 0);

/** False for the first part of a run: it need not look up each of its records. */
export const hasRecords = ({ settled, intended }: EarlierParts): boolean =>
  !settled.isEmpty || !intended.isEmpty;

/** Of a shard: records before the watermark, behind which reading goes on, that others account for. */
export const elsewhereBefore = ({ watermark, settled }: EarlierParts): number =>
  watermark.ordinal - settled.countBefore(watermark.ordinal);

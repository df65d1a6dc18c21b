import type { Position, TextDigest } from '../../input/rows.js';
import type { SettledCounts, WriteEntry } from './settlement.js';
import { OrdinalSet } from './ranges.js';
import type { RejectsMark } from '../rejects.js';

/** What the earlier parts of a run came to, as its journal tells. */
export interface EarlierParts {
  readonly counts: SettledCounts;
  readonly settled: OrdinalSet;
  /** Sent, as far as is known, and without an outcome. */
  readonly intended: OrdinalSet;
  readonly watermark: Position;
  readonly digests: readonly TextDigest[];
  /** The rejects file once it was begun, and what is known to stand in it. */
  readonly rejectsFile: string | undefined;
  readonly rejects: RejectsMark;
}

const start: Position = { input: 0, offset: 0, line: 1, ordinal: 0 };

/** False for the first part of a run: it need not look up each of its records. */
export const hasRecords = ({ settled, intended }: EarlierParts): boolean =>
  !settled.isEmpty || !intended.isEmpty;

/** Replays a journal. */
export function earlierParts(entries: readonly WriteEntry[]): EarlierParts {
  const counts = { accepted: 0, rejected: 0, unknown: 0, duplicates: 0 };
  const settled = new OrdinalSet();
  const intended = new OrdinalSet();
  const digests = new Map<number, TextDigest>();
  let watermark = start;
  let rejectsFile: string | undefined;
  let rejects: RejectsMark = { bytes: 0, crc: 0 };
  for (const entry of entries) {
    if ('intent' in entry) intended.add(entry.intent);
    else if ('unsent' in entry) intended.delete(entry.unsent);
    else if ('rejectsFile' in entry) ({ rejectsFile } = entry);
    else {
      settled.add(entry.settled);
      intended.delete(entry.settled);
      counts.accepted += entry.counts.accepted;
      counts.rejected += entry.counts.rejected;
      counts.unknown += entry.counts.unknown;
      counts.duplicates += entry.counts.duplicates;
      for (const digest of entry.digests) digests.set(digest.input, digest);
      ({ watermark, rejects } = entry);
    }
  }
  return {
    counts,
    settled,
    intended,
    watermark,
    digests: [...digests.values()],
    rejectsFile,
    rejects,
  };
}

import { replay } from '../journal/entry-table.js';
import { noOutcomes } from '../outcome-log.js';
import { OrdinalSet } from './ranges.js';
import { writeEntries, type EarlierParts, type WriteEntry } from './write-entries.js';

/** Replays the journal of a write. */
export const earlierParts = (entries: readonly WriteEntry[]): EarlierParts =>
  replay(writeEntries, entries, {
    counts: noOutcomes(),
    settled: new OrdinalSet(),
    intended: new OrdinalSet(),
    watermark: { input: 0, offset: 0, line: 1, ordinal: 0 },
    digests: new Map(),
    rejectsFile: undefined,
    rejects: { bytes: 0, crc: 0 },
  });

/** False for the first part of a run: it need not look up each of its records. */
export const hasRecords = ({ settled, intended }: EarlierParts): boolean =>
  !settled.isEmpty || !intended.isEmpty;

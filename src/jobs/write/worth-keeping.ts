import {
  earlierParts,
  hasRecords,
  hasSent,
  type WriteEntry,
} from '../../bulk/outcomes/journal-entries.js';
import type { OpenRun } from '../run/open-run.js';

/**
 * An outcome, an intent or the beginning of a rejects file was written down; or the journal cannot
 * be read now, and may be readable later. A run that its rejects ended before anything was sent has
 * nothing to go on with.
 */
export function isWorthKeeping({ kept }: OpenRun<WriteEntry>): boolean {
  if (!kept) return false;
  try {
    const earlier = earlierParts(kept.read());
    if (earlier.isRefused && !hasSent(earlier)) return false;
    return hasRecords(earlier) || earlier.rejectsFile !== undefined;
  } catch {
    return true;
  }
}

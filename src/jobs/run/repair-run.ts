import { existsSync, readFileSync } from 'node:fs';
import { Journal, readJournal } from '../../bulk/journal/journal.js';
import { addLine, noChecksum, salvageLines } from '../../bulk/journal/journal-format.js';
import { replayWrite, writeEntries, type WriteEntry } from '../../bulk/outcomes/journal-entries.js';
import { OrdinalSet } from '../../bulk/outcomes/ordinal-set.js';
import { EngagectlError, unnamedOption } from '../../errors.js';
import { lockRun } from '../../files/file-lock.js';
import { journalPath, lockPath, type RunFolder } from './run-folder.js';
import type { CommittedCounts } from '../../bulk/outcomes/outcome-counts.js';

/**
 * Repairs the journal of an unfinished write: keeps the outcomes before the first damaged line, and
 * marks all other records as possibly sent, so that resuming reports them as unknown and sends none
 * of them. Returns the counts of the kept outcomes; undefined if the journal is intact. Call while
 * holding the run's lock or lease. Throws E-JOURNAL for a journal of another version, E-FILE-WRITE.
 */
export function repairJournal(run: RunFolder): CommittedCounts | undefined {
  const path = journalPath(run);
  if (isIntact(path)) return undefined;
  const found = existsSync(path)
    ? salvageLines(readFileSync(path), { path, kinds: writeEntries })
    : { entries: [], good: Buffer.alloc(0), lines: 0, last: noChecksum, epoch: 0 };
  const { counts, settled, nonIdempotent } = replayWrite(found.entries as readonly WriteEntry[]);
  const unproven = new OrdinalSet();
  unproven.addRun(0, Number.MAX_SAFE_INTEGER - 1);
  unproven.delete(settled.take());
  const [of = 'other'] = nonIdempotent;
  // One rename replaces the journal: a kill leaves it damaged or repaired, never without the intent.
  const intent: WriteEntry = { kind: 'intent', records: unproven.take(), of };
  const repaired = addLine(found, [intent]);
  Journal.open<WriteEntry>(path, writeEntries, unnamedOption, repaired).journal.close();
  return counts;
}

function isIntact(path: string): boolean {
  try {
    readJournal<WriteEntry>(path, writeEntries);
    return true;
  } catch (error) {
    if (error instanceof EngagectlError && error.id === 'E-JOURNAL') return false;
    throw error;
  }
}

/** Repairs a run while holding its lock. Throws E-USAGE for an export, E-RUN-LOCKED, and as `repairJournal`. */
export async function repairRun(
  root: string,
  run: RunFolder,
): Promise<CommittedCounts | undefined> {
  if (run.header.command.startsWith('export-')) {
    throw new EngagectlError('E-USAGE', `run ${run.header.run} is an export`, {
      why: 'only writes are repaired; an export can be restarted without harm',
      fix: 'rerun its command with --fresh',
    });
  }
  const lock = await lockRun(lockPath(root, run.header.key));
  try {
    return repairJournal(run);
  } finally {
    lock.release();
  }
}

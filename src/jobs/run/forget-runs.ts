import { EngagectlError } from '../../errors.js';
import { lockRun } from '../../files/file-lock.js';
import { removePartials } from '../export/export-leftovers.js';
import { lockOf, removeRun, journalOf, type RunFolder } from './run-folder.js';
import { readJournal } from '../../bulk/journal/journal.js';
import {
  earlierParts,
  writeEntries,
  type WriteEntry,
} from '../../bulk/outcomes/journal-entries.js';
import type { Words } from '../job-context.js';
import type { SettledCounts } from '../../bulk/outcomes/outcome-counts.js';

/**
 * Forgets unfinished runs, with the partial files of exports. A run that a process works on stays,
 * and is told to `busy`.
 */
export async function forgetRuns(
  runs: readonly RunFolder[],
  {
    root,
    words,
    busy,
  }: { readonly root: string; readonly words: Words; readonly busy: (run: string) => void },
) {
  const pruned: string[] = [];
  /** Files of unfinished exports that are gone with them, and those that are not as the export left them. */
  const removed: string[] = [];
  const left: string[] = [];
  for (const run of runs) {
    const { key, run: id } = run.header;
    const lock = await lockRun(lockOf(root, key)).catch(undefinedIfHeld);
    if (!lock) {
      busy(id);
      continue;
    }
    try {
      const files = await removePartials(run);
      removed.push(...files.removed);
      left.push(...files.left);
      removeRun(run, words);
      pruned.push(id);
    } finally {
      lock.release();
    }
  }
  return { pruned, removed, left };
}

function undefinedIfHeld(error: unknown): undefined {
  if (!(error instanceof EngagectlError && error.id === 'E-RUN-LOCKED')) throw error;
}

/** How far an unfinished write came. Undefined for an export, and where the journal cannot be read. */
export function progressOf(run: RunFolder): Readonly<SettledCounts> | undefined {
  if (run.header.command.startsWith('export-')) return undefined;
  try {
    const entries = readJournal<WriteEntry>(journalOf(run), writeEntries);
    return earlierParts(entries).counts;
  } catch {
    return undefined;
  }
}

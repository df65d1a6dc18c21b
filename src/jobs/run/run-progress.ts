import type { SettledCounts } from '../../bulk/outcome-log.js';
import { readJournal } from '../../bulk/journal/journal.js';
import { earlierParts, writeEntries, type WriteEntry } from '../../bulk/write/write-entries.js';
import { journalOf, type RunFolder } from './run-folder.js';

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

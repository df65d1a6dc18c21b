import {
  exportEntries,
  emptyCheckpoint,
  ExportProgress,
  type ExportEntry,
} from '../../bulk/export/export-journal.js';
import { replay } from '../../bulk/journal/journal-format.js';
import { readJournal } from '../../bulk/journal/journal.js';
import { journalOf, type RunFolder } from '../run/run-folder.js';
import { removeLeftovers, type Leftovers } from '../../output/partial-file.js';

/**
 * Removes the partial files of an unfinished export, which nobody can go on with once it is
 * forgotten, and which would be in the way of the next one. To be called while holding its lock.
 */
export async function removePartials(run: RunFolder): Promise<Leftovers> {
  const { header } = run;
  if (!header.command.startsWith('export-')) return { removed: [], left: [] };
  const entries = entriesOf(journalOf(run));
  const documents = entries.flatMap((entry) => (entry.kind === 'plan' ? entry.plan.documents : []));
  const documentOf = documents.flatMap(({ slices }, index) => Array<number>(slices).fill(index));
  const progress = replay(
    exportEntries,
    entries,
    new ExportProgress((slice) => documentOf[slice] ?? 0),
  );

  const removed: string[] = [];
  const left: string[] = [];
  for (const [index, { file }] of documents.entries()) {
    const { at, sealed, published } = progress.document(index);
    if (published) continue;
    const spilled = [...progress.slices]
      .filter(([slice, { spilled }]) => spilled && documentOf[slice] === index)
      .toSorted(([a], [b]) => a - b);
    const found = await removeLeftovers({
      path: file,
      cwd: header.cwd,
      marks: [at, sealed ?? emptyCheckpoint],
      spills: new Map(spilled.map(([slice, { at }]) => [slice, at])),
    });
    removed.push(...found.removed);
    left.push(...found.left);
  }
  return { removed, left };
}

/** None when it is damaged: then nobody can tell what the export wrote, and its files stay. */
function entriesOf(file: string): readonly ExportEntry[] {
  try {
    return readJournal<ExportEntry>(file, exportEntries);
  } catch {
    return [];
  }
}

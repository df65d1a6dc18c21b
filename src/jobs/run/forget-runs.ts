import { countOf, EngagectlError } from '../../errors.js';
import { hasLines, setAsideOwn } from '../../output/rejects-file.js';
import { tryLockRun } from '../../files/file-lock.js';
import { lockPath, removeRun, journalPath, type RunFolder, type RunPlace } from './run-folder.js';
import { appendDiscarded, ledgerPath, readLedger } from './sent-files-ledger.js';
import { isFinished } from './resume.js';
import { readJournal } from '../../bulk/journal/journal.js';
import {
  hasSent,
  replayWrite,
  type ResumeState,
  writeEntries,
  type WriteEntry,
} from '../../bulk/outcomes/journal-entries.js';
import {
  exportEntries,
  emptyCheckpoint,
  ExportResumeState,
  type ExportEntry,
} from '../../bulk/export/export-journal.js';
import { replay } from '../../bulk/journal/journal-format.js';
import { removePartialFiles, type Leftovers } from '../../output/partial-file.js';
import type { OpenRun } from './open-run.js';
import type { JobContext, Wording } from '../job-context.js';
import type { Runtime } from '../../runtime.js';
import type { CommittedCounts, NonIdempotentKind } from '../../bulk/outcomes/outcome-counts.js';

/**
 * Deletes unfinished runs and the partial files of exports. Keeps runs that another process holds,
 * and reports them to `busy`. Reports to `inFlight` those that were killed with records in flight, to `unreadable` writes
 * whose journal cannot be read, and to `resent` those of demerges or operators.
 */
export async function forgetRuns(
  runs: readonly RunFolder[],
  {
    root,
    words,
    now,
    uid,
    busy,
    inFlight,
    unreadable,
    resent,
  }: {
    readonly root: string;
    readonly words: Wording;
    /** Milliseconds since 1970. */
    readonly now: () => number;
    /** The process's user. */
    readonly uid: Runtime['uid'];
    readonly busy: (run: string) => void;
    readonly inFlight: (run: string) => void;
    readonly unreadable: (run: string) => void;
    readonly resent: (run: string) => void;
  },
) {
  const pruned: string[] = [];
  /** Partial files that were removed, and those kept because they changed since the export. */
  const removed: string[] = [];
  const left: string[] = [];
  for (const run of runs) {
    const { key, run: id } = run.header;
    const lock = await tryLockRun(lockPath(root, key));
    if (!lock) {
      busy(id);
      continue;
    }
    try {
      const files = await removePartialExports(run, uid);
      removed.push(...files.removed);
      left.push(...files.left);
      const state = writeStateOf(run);
      const isResent = sentOperators(root, run);
      recordDiscarded(root, run, now());
      removeRun(run, words);
      pruned.push(id);
      // It was killed before it listed these as unknown.
      if (state?.intended.isEmpty === false) inFlight(id);
      if (!state && !isExport(run)) unreadable(id);
      if (isResent) resent(id);
    } finally {
      lock.release();
    }
  }
  return { pruned, removed, left };
}

/**
 * Records in the ledger that an unfinished write will not be resumed, before its folder is removed or it starts over. Its
 * events stay known, because they may be given again with other options. Throws E-FILE-WRITE.
 */
export function recordDiscarded(root: string, run: RunPlace, now: number): void {
  const { open, damage } = readLedger(root, { matches: () => false });
  // The start of a finished run protects what it sent: a limit let it leave a part of its input unread.
  if (!open.unfinished.some((start) => start.run === run.header.run && !start.isFinished)) return;
  const discarded = { run: run.header.run, sentEvents: mayHaveSentEvents(run), now };
  try {
    appendDiscarded(root, discarded, { isDamaged: damage !== undefined });
  } catch (cause) {
    const what = `run ${run.header.run} cannot be discarded: ${ledgerPath(root)} was not written`;
    throw new EngagectlError('E-FILE-WRITE', what, {
      why: (cause as Error).message,
      fix: 'free space, or make the state directory writable, and repeat it',
      file: ledgerPath(root),
      cause,
    });
  }
}

/** Tells of records of unknown outcome of a run that is discarded: a later run counts its events as sent. */
export function warnOfUnknown(run: RunPlace, { messages }: Pick<JobContext, 'messages'>): void {
  const state = writeStateOf(run);
  if (!state || state.counts.unknown === 0) return;
  const { rejectsFile, rejects, counts } = state;
  const isListed = rejectsFile !== undefined && hasLines(rejectsFile, rejects);
  const where = isListed ? `${rejectsFile} lists them` : lostRejects;
  messages.warn(
    `run ${run.header.run} is discarded; the outcome of ${countOf(counts.unknown, 'record')} that it sent is unknown: ${where}`,
  );
}

const lostRejects = 'nothing lists them, because its rejects file was removed or changed';

type KeptRun = NonNullable<OpenRun<WriteEntry>['kept']>;

/**
 * Lets a run start over. It keeps its id, by which the event memory knows what it sent also with `again`, and its folder
 * until all of its input has an outcome, however often it is interrupted. The state is that of the journal.
 */
export async function startOver(
  kept: KeptRun,
  { rejectsFile, rejects, counts, intended }: ResumeState,
  context: JobContext,
): Promise<KeptRun> {
  const { run } = kept.folder.header;
  // The input may not have the rejected records any more.
  const aside = rejectsFile === undefined ? undefined : setAsideOwn(rejectsFile, rejects);
  if (!intended.isEmpty)
    context.messages.warn(
      `run ${run} was killed while it sent events: of those in flight, no rejects file lists the ones that are not in the input any more, and their outcome is unknown`,
    );
  if (counts.unknown > 0) {
    const where = aside === undefined ? lostRejects : `${aside} lists them`;
    context.messages.warn(
      `run ${run} starts over; the outcome of ${countOf(counts.unknown, 'record')} that it sent before is unknown: ${where}, and the events among them that are in the input are reported once more`,
    );
  }
  recordDiscarded(context.runsFolder(), kept.folder, context.runtime.now());
  const entry = { kind: 'restarted' } as const;
  await kept.journal.append(entry);
  return { ...kept, entries: [...kept.entries, entry], resumed: false };
}

/** Returns what the journal of a write says; undefined if it is damaged, or that of an export. */
function writeStateOf(run: RunPlace): ResumeState | undefined {
  try {
    return replayWrite(readJournal<WriteEntry>(journalPath(run), writeEntries));
  } catch {
    return undefined;
  }
}

function mayHaveSentEvents(run: RunPlace): boolean {
  const state = writeStateOf(run);
  return !state || hasSentOnce(state, 'event');
}

/** Whether a write sent records of a kind that is not idempotent. */
const hasSentOnce = (state: ResumeState, kind: NonIdempotentKind): boolean =>
  state.nonIdempotent.has(kind) && hasSent(state);

/**
 * Whether a write sent demerges or operators, which only its folder knows: without it, they are sent again. Events stay
 * known, and so do records of a run that finished. If its journal cannot be read, the ledger says whether it was about to.
 */
export function sentOperators(root: string, run: RunPlace): boolean {
  if (isFinished(root, run.header.run)) return false;
  const state = writeStateOf(run);
  if (state) return hasSentOnce(state, 'other');
  const { unfinished } = readLedger(root, { matches: () => false }).open;
  return unfinished.some((start) => start.run === run.header.run && start.kind === 'other');
}

/** Returns the counts of an unfinished write; undefined for exports and unreadable journals. */
export const unfinishedProgress = (run: RunFolder): Readonly<CommittedCounts> | undefined =>
  isExport(run) ? undefined : writeStateOf(run)?.counts;

const isExport = ({ header }: RunFolder): boolean => header.command.startsWith('export-');

/**
 * Removes the partial files of an unfinished export, which would block the next one. Call while
 * holding the run's lock.
 */
async function removePartialExports(run: RunFolder, uid: Runtime['uid']): Promise<Leftovers> {
  const { header } = run;
  if (!isExport(run)) return { removed: [], left: [] };
  const entries = entriesOf(journalPath(run));
  const documents = entries.flatMap((entry) => (entry.kind === 'plan' ? entry.plan.documents : []));
  const documentOf = documents.flatMap(({ slices }, index) => Array<number>(slices).fill(index));
  const progress = replay(exportEntries, entries, new ExportResumeState(documentOf));

  const removed: string[] = [];
  const left: string[] = [];
  for (const [index, { file }] of documents.entries()) {
    const { at, sealed, published } = progress.document(index);
    if (published) continue;
    const spilled = [...progress.slices]
      .filter(([slice, { spilled }]) => spilled && progress.documentOf[slice] === index)
      .toSorted(([a], [b]) => a - b);
    const found = await removePartialFiles({
      path: file,
      cwd: header.cwd,
      uid,
      marks: [at, sealed ?? emptyCheckpoint],
      spills: new Map(spilled.map(([slice, { at }]) => [slice, at])),
    });
    removed.push(...found.removed);
    left.push(...found.left);
  }
  return { removed, left };
}

/** Reads the journal of an export; empty if it is damaged, so that no file is removed. */
function entriesOf(file: string): readonly ExportEntry[] {
  try {
    return readJournal<ExportEntry>(file, exportEntries);
  } catch {
    return [];
  }
}

import {
  EngagectlError,
  interruptionError,
  countOf,
  groupDigits,
  type ErrorId,
} from '../../errors.js';
import { readSlice } from './slice.js';
import type { PlannedSlice, ExportDocument, ExportJob } from './export-job.js';
import type { Output } from '../../output/output.js';
import type { SpillFile } from '../../output/spill-file.js';
import type { ExportJournal } from './export-journal.js';

/** Writes all documents in order. Errors leave partial files behind. */
export async function exportDocuments(job: ExportJob): Promise<void> {
  const { documents, log, signal, state } = job;
  const { most } = job.budget;
  const slices = documents.flatMap((document) => document.slices).filter(isOpen(log));
  const ahead = new ReadAhead({
    slices,
    width: most,
    // A slow reader of stdout must not fill the disk with spilled pages.
    window: log.resumable ? slices.length : most,
    read: (planned, left) =>
      readAhead(planned, { ...job, signal: AbortSignal.any([signal, left]) }),
  });
  state.slices = documents.reduce((sum, document) => sum + document.slices.length, 0);
  let late: EngagectlError | undefined;
  try {
    for (const [index, document] of documents.entries()) {
      const failure = await exportDocument({ document, index, ahead, job });
      late ??= failure;
    }
  } catch (error) {
    throw error === signal.reason ? interruptionError(error) : error;
  } finally {
    await ahead.close();
  }
  if (late) throw late;
}

/** Whether some records of a slice are not yet in its document. */
const isOpen =
  ({ earlier }: ExportJournal) =>
  ({ index }: PlannedSlice): boolean => {
    const progress = earlier.slices.get(index);
    return !progress || (progress.spilled ? !progress.merged : progress.cursor !== null);
  };

interface DocumentJob {
  readonly document: ExportDocument;
  readonly index: number;
  readonly ahead: ReadAhead;
  readonly job: ExportJob;
}

/** Returns the error of single slices that kept the document from being completed. */
async function exportDocument(documentJob: DocumentJob): Promise<EngagectlError | undefined> {
  const { document, index, job } = documentJob;
  const { state, warn } = job;
  const { at, sealed, published, short } = job.log.earlier.document(index);
  if (short) return drop(documentJob);
  if (sealed) state.bytes += sealed.bytes;
  if (sealed && !published) {
    await document.publish(sealed);
    await document.tidy();
    await job.log.note({ kind: 'published', document: index });
  }
  if (sealed) {
    state.published.add(index);
    return undefined;
  }
  const output = await document.open(job.resumed ? at : undefined);
  const earlier = state.bytes;
  try {
    const failure = await writeSlices(documentJob, output);
    if (failure) return failure;
    if (output.checkpoint().records < job.minRecords) return await dropShort(documentJob, output);
    await job.log.note({ kind: 'sealed', document: index, mark: await output.seal() });
    await output.publish();
    if (job.resumed) await document.tidy();
    await job.log.note({ kind: 'published', document: index });
    state.published.add(index);
  } finally {
    await output.abort();
    state.bytes = earlier + (state.short.has(index) ? 0 : output.bytes);
  }
  for (const warning of output.warnings) warn(warning);
  return undefined;
}

async function dropShort(documentJob: DocumentJob, output: Output): Promise<undefined> {
  const { index, job } = documentJob;
  const { records } = output.checkpoint();
  job.warn(
    `${output.name}: ${countOf(records, 'record')}, fewer than ${groupDigits(job.minRecords)}; it is not put in place`,
  );
  await output.abort();
  await job.log.note({ kind: 'short', document: index });
  return drop(documentJob);
}

async function drop({ document, index, job }: DocumentJob): Promise<undefined> {
  job.state.short.add(index);
  await document.discard();
}

/** Errors that concern one slice only. */
const ofOneDay = new Set<ErrorId>(['E-PENDING', 'E-CURSOR']);

/** Writes the open slices. After a slice fails, the later ones are still read into their spills. */
async function writeSlices(
  { document, ahead, job }: DocumentJob,
  output: Output,
): Promise<EngagectlError | undefined> {
  const { log, state, limit } = job;
  const earlier = state.bytes;
  let late: EngagectlError | undefined;
  for (const planned of document.slices.filter(isOpen(log))) {
    if (state.records >= limit) break;
    const spilled = late !== undefined || log.earlier.slices.get(planned.index)?.spilled === true;
    try {
      const spill = await ahead.take(planned, { spilled });
      if (!spill) await readSlice({ planned, target: output, spilled: false, job });
      else if (!late) {
        for await (const page of spill.pages()) await output.writePage(page);
        const { index: slice } = planned;
        await log.note({ kind: 'merged', slice, at: output.checkpoint() }, output);
        const left = await spill.discard();
        if (left !== undefined) job.warn(left);
      }
    } catch (error) {
      // With a limit, the first records are undefined once a slice failed.
      const isWanted = log.resumable && limit === Number.POSITIVE_INFINITY;
      if (!isWanted || !(error instanceof EngagectlError) || !ofOneDay.has(error.id)) {
        throw error;
      }
      late ??= error;
    }
    state.bytes = earlier + output.bytes;
  }
  return late;
}

async function readAhead(planned: PlannedSlice, job: ExportJob): Promise<SpillFile> {
  const spill = await planned.openSpill(job.log.earlier.slices.get(planned.index)?.at);
  try {
    await readSlice({ planned, target: spill, spilled: true, job });
    return spill;
  } catch (error) {
    await spill.close();
    throw error;
  }
}

interface AheadOptions {
  /** Those still to be read, in order. */
  readonly slices: readonly PlannedSlice[];
  /** Most slices that are read at the same time, the one whose turn it is included. */
  readonly width: number;
  /** Most slices that may wait for their turn. */
  readonly window: number;
  /** Reads a whole slice; fails only for reasons of its own, or when `signal` is aborted. */
  readonly read: (planned: PlannedSlice, signal: AbortSignal) => Promise<SpillFile>;
}

/** Reads later slices into spills while an earlier one is written, so that no slice blocks another. */
class ReadAhead {
  readonly #options: AheadOptions;
  readonly #begun = new Map<PlannedSlice, Promise<SpillFile>>();
  readonly #stop = new AbortController();
  #turn = 0;
  #reading = 0;

  constructor(options: AheadOptions) {
    this.#options = options;
  }

  /**
   * Returns the spill of the slice whose turn it is, and reads the slices after it. Undefined if
   * the slice was not started and need not be `spilled`: the caller reads it directly.
   */
  take(
    slice: PlannedSlice,
    { spilled }: { readonly spilled: boolean },
  ): Promise<SpillFile> | undefined {
    this.#turn = this.#options.slices.indexOf(slice);
    if (spilled && !this.#begun.has(slice)) this.#begin(slice);
    const begun = this.#begun.get(slice);
    this.#fill(begun ? 0 : 1);
    return begun;
  }

  /** Aborts reading and closes the spills that were not taken. */
  async close(): Promise<void> {
    this.#stop.abort();
    const left = await Promise.allSettled(this.#begun.values());
    for (const spill of left) if (spill.status === 'fulfilled') await spill.value.close();
  }

  #fill(others: number): void {
    const { slices, width, window } = this.#options;
    for (const next of slices.slice(this.#turn + 1, this.#turn + window)) {
      if (this.#reading + others >= width || this.#stop.signal.aborted) return;
      if (!this.#begun.has(next)) this.#begin(next);
    }
  }

  #begin(slice: PlannedSlice): void {
    this.#reading += 1;
    const spill = this.#options.read(slice, this.#stop.signal);
    this.#begun.set(slice, spill);
    const ended = () => {
      this.#reading -= 1;
      this.#fill(1);
    };
    spill.then(ended, ended); // `take` passes the error on
  }
}

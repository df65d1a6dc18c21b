import {
  EngagectlError,
  interruptionError,
  countOf,
  groupDigits,
  type ErrorId,
} from '../../errors.js';
import { digestOf } from './cursor.js';
import { readSlice, type SliceSlots } from './slice.js';
import {
  divideSlice,
  type PlannedSlice,
  type ExportDocument,
  type ExportJob,
} from './export-job.js';
import type { DayRange } from '../../contract/dates.js';
import type { Output } from '../../output/output.js';
import type { SpillFile } from '../../output/spill-file.js';
import type { ExportJournal } from './export-journal.js';

/** Writes all documents in order. Errors leave partial files behind. */
export async function exportDocuments(job: ExportJob): Promise<void> {
  const { documents, log, pages, signal, state } = job;
  const planned = documents.flatMap(({ slices }) => slices);
  for (const slice of planned) {
    const { seen: [first] = [], hashes = [] } = log.earlier.slices.get(slice.index) ?? {};
    if (first !== undefined) pages.addCursor(slice, digestOf(first));
    for (const hash of hashes) pages.add(slice, BigInt(hash));
  }
  const ahead = new ReadAhead({
    slices: planned.filter(isOpen(log)),
    // A slow reader of stdout must not fill the disk with spilled pages.
    window: log.resumable ? Number.POSITIVE_INFINITY : job.limiter.most,
    job,
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
    `${output.name}: ${countOf(records, 'record')}, fewer than ${groupDigits(job.minRecords)}; the new file is not put in place`,
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
const ofOneSlice = new Set<ErrorId>(['E-PENDING', 'E-CURSOR']);

/** Writes the open slices. After a slice fails, the later ones are still read into their spills. */
async function writeSlices(
  { document, ahead, job }: DocumentJob,
  output: Output,
): Promise<EngagectlError | undefined> {
  const { log, state, limit } = job;
  const earlier = state.bytes;
  let late: EngagectlError | undefined;
  for (const planned of document.slices) {
    if (state.records >= limit) break;
    if (!isOpen(log)(planned)) continue;
    const spilled = late !== undefined || log.earlier.slices.get(planned.index)?.spilled === true;
    try {
      const spill = await ahead.take(planned, { spilled });
      if (!spill) await readSlice({ planned, target: output, spilled: false, job, slots: ahead });
      else if (!late) {
        for await (const page of spill.pages()) await output.writePage(page);
        const { index: slice } = planned;
        await log.note({ kind: 'merged', slice, at: output.checkpoint() }, output);
        const left = await spill.discard();
        if (left !== undefined) job.warn(left);
      }
    } catch (error) {
      // With a limit, the first records are undefined once a slice failed.
      const isResumable = log.resumable && limit === Number.POSITIVE_INFINITY;
      if (!isResumable || !(error instanceof EngagectlError) || !ofOneSlice.has(error.id)) {
        throw error;
      }
      late ??= error;
    }
    state.bytes = earlier + output.bytes;
  }
  return late;
}

interface ReadAheadOptions {
  /** Slices still to be read, in order; grows when one is divided. */
  readonly slices: PlannedSlice[];
  /** Maximum slices that may be spilled, and wait for their turn. */
  readonly window: number;
  readonly job: ExportJob;
}

/**
 * Reads later slices into spills while an earlier one is written, so that no slice blocks another.
 * No more slices are read at a time than requests may be in flight.
 */
class ReadAhead implements SliceSlots {
  readonly #options: ReadAheadOptions;
  readonly #started = new Map<PlannedSlice, Promise<SpillFile>>();
  readonly #stop = new AbortController();
  #turn = 0;
  /** Slices being read into spills, and whether the caller reads one directly. */
  #reading = 0;
  #isDirect = false;

  constructor(options: ReadAheadOptions) {
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
    if (spilled && !this.#started.has(slice)) this.#start(slice);
    const started = this.#started.get(slice);
    this.#isDirect = started === undefined;
    this.#fill();
    return started;
  }

  get idle(): number {
    return this.#waiting().length > 0 ? 0 : this.#free;
  }

  divide(slice: PlannedSlice, ranges: readonly DayRange[]): void {
    const { slices, job } = this.#options;
    const document = job.documents.find((one) => one.slices.includes(slice))!;
    const added = divideSlice(document, slice, { ranges, nextIndex: job.state.slices });
    slices.splice(slices.indexOf(slice) + 1, 0, ...added);
    job.state.slices += added.length;
    this.#fill();
  }

  /** Aborts reading and closes the spills that were not taken. */
  async close(): Promise<void> {
    this.#stop.abort();
    const left = await Promise.allSettled(this.#started.values());
    for (const spill of left) if (spill.status === 'fulfilled') await spill.value.close();
  }

  get #free(): number {
    const { limit } = this.#options.job.limiter;
    return limit - this.#reading - (this.#isDirect ? 1 : 0);
  }

  #waiting(): readonly PlannedSlice[] {
    const { slices, window } = this.#options;
    const next = slices.slice(this.#turn + 1, this.#turn + window);
    return next.filter((slice) => !this.#started.has(slice));
  }

  #fill(): void {
    for (const next of this.#waiting()) {
      if (this.#free <= 0 || this.#stop.signal.aborted) return;
      this.#start(next);
    }
  }

  #start(slice: PlannedSlice): void {
    this.#reading += 1;
    const spill = this.#read(slice);
    this.#started.set(slice, spill);
    const ended = () => {
      this.#reading -= 1;
      this.#fill();
    };
    spill.then(ended, ended); // `take` passes the error on
  }

  async #read(planned: PlannedSlice): Promise<SpillFile> {
    const { job } = this.#options;
    const spill = await planned.openSpill(job.log.earlier.slices.get(planned.index)?.at);
    const signal = AbortSignal.any([job.signal, this.#stop.signal]);
    const part = { planned, target: spill, spilled: true, job: { ...job, signal }, slots: this };
    try {
      await readSlice(part);
      return spill;
    } catch (error) {
      await spill.close();
      throw error;
    }
  }
}

import type { CursorQuery } from '../client/client.js';
import type { Output, RecordPage } from '../output/output.js';
import { SlicesAhead, type PageTarget, type PlannedSlice, type Spill } from './export-ahead.js';
import type { ExportContext } from './export-context.js';
import { CursorRefusedError, exportPages } from './export-pages.js';

/** One document and the cursors whose records it holds, in order. */
export interface ExportDocument {
  readonly open: () => Promise<Output>;
  /** Room for the pages of a slice that is read before its turn. */
  readonly openSpill: () => Promise<Spill>;
  readonly slices: readonly CursorQuery[];
}

export interface ExportJob {
  readonly documents: readonly ExportDocument[];
  /** Most requests in flight. */
  readonly concurrency: number;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (page: RecordPage, eventName: string) => RecordPage;
  /** Whether a slice whose cursor is refused is asked for again, once: days of events. */
  readonly restarts: boolean;
}

/** Writes every document, one after the other. What it throws leaves partial files behind. */
export async function runExport(job: ExportJob, context: ExportContext): Promise<void> {
  const ahead = new SlicesAhead({
    slices: job.documents.flatMap(({ slices, openSpill }) =>
      slices.map((slice) => ({ slice, openSpill })),
    ),
    width: job.concurrency,
    read: (planned, signal) => readAhead(planned, job, joined(context, signal)),
  });
  try {
    for (const document of job.documents) await exportDocument({ document, ahead, job, context });
  } finally {
    await ahead.close();
  }
}

const joined = (context: ExportContext, signal: AbortSignal): ExportContext => ({
  ...context,
  signal: AbortSignal.any([context.signal, signal]),
});

interface DocumentJob {
  readonly document: ExportDocument;
  readonly ahead: SlicesAhead;
  readonly job: ExportJob;
  readonly context: ExportContext;
}

async function exportDocument({ document, ahead, job, context }: DocumentJob): Promise<void> {
  const { state, warn } = context;
  const output = await document.open();
  const earlier = state.bytes;
  try {
    for (const slice of document.slices) {
      const spill = await ahead.take(slice);
      if (spill) await replay(spill, output);
      else await readSlice({ slice, target: output, job, context });
      state.bytes = earlier + output.bytes;
    }
    await output.finish();
  } finally {
    await output.abort();
    state.bytes = earlier + output.bytes;
  }
  for (const warning of output.warnings) warn(warning);
}

async function readAhead(
  { slice, openSpill }: PlannedSlice,
  job: ExportJob,
  context: ExportContext,
): Promise<Spill> {
  const spill = await openSpill();
  try {
    await readSlice({ slice, target: spill, job, context });
    return spill;
  } catch (error) {
    await spill.discard();
    throw error;
  }
}

async function replay(spill: Spill, output: Output): Promise<void> {
  try {
    for await (const page of spill.pages()) await output.writePage(page);
  } finally {
    await spill.discard();
  }
}

interface SliceJob {
  readonly slice: CursorQuery;
  readonly target: PageTarget;
  readonly job: ExportJob;
  readonly context: ExportContext;
}

/** Reads a slice whole. The pages of a cursor that was refused are taken back: no mixed snapshots. */
async function readSlice(sliceJob: SliceJob): Promise<void> {
  const { target, job, slice, context } = sliceJob;
  const start = target.checkpoint();
  const read = { records: 0, pages: 0 };
  try {
    await copyPages(sliceJob, read);
  } catch (error) {
    if (!(error instanceof CursorRefusedError) || !job.restarts) throw error;
    if (read.records > 0 && !target.rewindable) throw cannotTakeBack(error, target, read.records);
    if (read.records > 0) await target.rewind(start);
    context.state.records -= read.records;
    context.state.pages -= read.pages;
    context.warn(`${slice.eventName}, ${slice.from}: ${error.message}; starting this slice again`);
    await copyPages(sliceJob, read);
  }
}

function cannotTakeBack({ message }: Error, { name }: PageTarget, records: number) {
  const why = `${records} records of that cursor are written to ${name} and cannot be taken back`;
  return new CursorRefusedError(message, `${why}; with --output <file> it would start again`);
}

async function copyPages(
  { slice, target, job, context }: SliceJob,
  read: { records: number; pages: number },
): Promise<void> {
  const { state } = context;
  for await (const page of exportPages(slice, context)) {
    await target.writePage(job.prepare ? job.prepare(page, slice.eventName) : page);
    read.records += page.count;
    read.pages += 1;
    state.records += page.count;
    state.pages += 1;
    state.bytesReceived += page.bytes.length;
  }
}

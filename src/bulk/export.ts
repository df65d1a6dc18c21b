import type { CursorQuery } from '../client/client.js';
import type { Output, RecordPage } from '../output/output.js';
import type { ExportContext } from './export-context.js';
import { CursorRefusedError, exportPages } from './export-pages.js';

/** One document and the cursors whose records it holds, in order. */
export interface ExportDocument {
  readonly open: () => Promise<Output>;
  readonly slices: readonly CursorQuery[];
}

export interface ExportJob {
  readonly documents: readonly ExportDocument[];
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (page: RecordPage, eventName: string) => RecordPage;
  /** Whether a slice whose cursor is refused is asked for again, once: days of events. */
  readonly restarts: boolean;
}

/** Writes every document, one after the other. What it throws leaves partial files behind. */
export async function runExport(job: ExportJob, context: ExportContext): Promise<void> {
  const { state, warn } = context;
  for (const { open, slices } of job.documents) {
    const output = await open();
    const earlier = state.bytes;
    const show = () => {
      state.bytes = earlier + output.bytes;
    };
    try {
      for (const slice of slices) await exportSlice({ slice, output, job, context, show });
      await output.finish();
    } finally {
      await output.abort();
      show();
    }
    for (const warning of output.warnings) warn(warning);
  }
}

interface SliceJob {
  readonly slice: CursorQuery;
  readonly output: Output;
  readonly job: ExportJob;
  readonly context: ExportContext;
  /** Brings the state's bytes up to date. */
  readonly show: () => void;
}

/** Writes a slice whole. The pages of a cursor that was refused are taken back: no mixed snapshots. */
async function exportSlice(sliceJob: SliceJob): Promise<void> {
  const { output, job, slice, context } = sliceJob;
  const { state, warn } = context;
  const start = output.checkpoint();
  const { records, pages } = state;
  try {
    await copyPages(sliceJob);
  } catch (error) {
    if (!(error instanceof CursorRefusedError) || !job.restarts) throw error;
    const written = state.records - records;
    if (written > 0 && !output.rewindable) throw cannotTakeBack(error, output.name, written);
    if (written > 0) await output.rewind(start);
    Object.assign(state, { records, pages });
    warn(`${slice.eventName}, ${slice.from}: ${error.message}; starting this slice again`);
    await copyPages(sliceJob);
  }
}

function cannotTakeBack({ message }: Error, name: string, records: number): CursorRefusedError {
  const why = `${records} records of that cursor are written to ${name} and cannot be taken back`;
  return new CursorRefusedError(message, `${why}; with --output <file> it would start again`);
}

async function copyPages({ slice, output, job, context, show }: SliceJob): Promise<void> {
  for await (const page of exportPages(slice, context)) {
    await output.writePage(job.prepare ? job.prepare(page, slice.eventName) : page);
    context.state.records += page.count;
    context.state.pages += 1;
    show();
  }
}

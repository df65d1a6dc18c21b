import {
  ExportJournal,
  type ExportEntry,
  type FileSlice,
} from '../../bulk/export/export-journal.js';
import {
  discardOutput,
  openOutput,
  openSpill,
  prepareOutputs,
  publishSealed,
  cleanUpOutput,
} from '../../output/document-output.js';
import { limits } from '../../contract/limits.js';
import { unnamedOption } from '../../errors.js';
import {
  exportDefaults,
  type DayFileOptions,
  type ExportOptions,
  type Shard,
} from '../job-options.js';
import { outputOptions } from '../output-options.js';
import { shardPath } from '../shard.js';
import {
  divideSlice,
  type ExportDocument,
  type ExportJob,
  type PlannedSlice,
  type SlicePages,
} from '../../bulk/export/export-job.js';
import type { CursorQuery, ReadKind } from '../../client/client.js';
import type { TimeZone } from '../../time-zone.js';
import type { Output } from '../../output/output.js';
import type { DateRange } from '../date-range.js';
import type { OpenRun } from '../run/open-run.js';
import type { FileSlices } from './missing-days.js';
import type { JobHooks, ExportResult } from '../job-results.js';
import type { Connection, JobContext } from '../job-context.js';

/** Definition of a kind of export: profiles or events. */
export interface ExportKind {
  readonly name: 'export-profiles' | 'export-events';
  readonly reads: ReadKind;
  /** Options of this kind that decide what is written; fingerprinted. */
  readonly fingerprinted: Readonly<Record<string, unknown>>;
  /** Maximum requests in flight. */
  readonly concurrency: number;
  /** How the range is sliced: not at all, by days, or in as many parts as may be in flight. */
  readonly slicing: 'whole' | 'days' | 'parts';
  /** Plans the slices of these ranges, and the file of each (undefined is stdout). */
  readonly plan: (ranges: readonly DateRange[], output: string | undefined) => readonly FileSlice[];
  readonly restarts: boolean;
  /** Creates the function that checks or rewrites pages before they are written. */
  readonly prepare?: ((zone: TimeZone) => NonNullable<ExportJob['prepare']>) | undefined;
  /** Pages of the exports that belong together; default: of this one. */
  readonly pages?: SlicePages;
}

export interface ExportRequest extends ExportOptions, DayFileOptions {
  /** Output path; undefined is stdout unless `into` is set. */
  readonly output?: string | undefined;
  readonly into?: Output;
  /** Export only every n-th slice. */
  readonly shard?: Shard | undefined;
}

/** The part of an export job that concerns its output. */
export type ExportWork = Pick<
  ExportJob,
  'documents' | 'log' | 'resumed' | 'prepare' | 'restarts' | 'divides' | 'minRecords' | 'limit'
>;

/** Everything a running export works with. */
export interface ExportContext {
  readonly kind: ExportKind;
  readonly request: ExportRequest;
  readonly context: JobContext;
  readonly hooks: JobHooks<ExportResult>;
  readonly connection: Connection;
  /** Maximum requests in flight. */
  readonly slots: number;
}

/** Prepares the output documents of a run. Throws errors of any output. */
export async function prepareExport(
  exporting: ExportContext,
  files: readonly FileSlices[],
  run: OpenRun<ExportEntry>,
): Promise<ExportWork> {
  const { kind, request, connection, context } = exporting;
  const { restarts, prepare } = kind;
  const resumed = run.kept?.resumed === true;
  const documentOf = files.flatMap((slices, index) => slices.map(() => index));
  const { journal, entries = [] } = run.kept ?? {};
  const log = new ExportJournal(journal, entries, documentOf);
  const outputs = files.map((slices) => outputOfFile(slices, request, context));
  const isAhead = (_: unknown, index: number) => {
    const { sealed, short } = log.earlier.document(index);
    return sealed === undefined && short === undefined;
  };
  if (!request.into)
    await prepareOutputs(outputs.filter(isAhead), context.runtime, { ownPartials: resumed });
  const documents = documentsOf(exporting, files, run.kept !== undefined);
  let nextIndex = documentOf.length;
  for (const { slice, ranges } of log.earlier.divisions) {
    const document = documents[log.earlier.documentOf[slice]!]!;
    const planned = document.slices.find(({ index }) => index === slice)!;
    nextIndex += divideSlice(document, planned, { ranges, nextIndex }).length;
  }
  return {
    documents,
    log,
    resumed,
    restarts,
    divides: kind.slicing === 'parts',
    minRecords: request.minRecords ?? 0,
    limit: request.limit ?? Number.POSITIVE_INFINITY,
    ...fenced(prepare?.(connection.zone), context.ports?.fence),
  };
}

/** Adds the fence to the preparation of pages. */
function fenced(
  prepare: ExportJob['prepare'],
  fence: (() => void) | undefined,
): Pick<ExportJob, 'prepare'> {
  if (!fence) return { ...(prepare && { prepare }) };
  return {
    prepare: async (page, query) => {
      const prepared = (await prepare?.(page, query)) ?? page;
      fence();
      return prepared;
    },
  };
}

/** Returns the options that must not change on resume, under their names in the journal. */
export function exportFingerprint({
  kind: { fingerprinted },
  request,
  connection: { zone },
}: ExportContext) {
  const { format, gzip, columns, escapeFormulas, bom } = outputOptions(
    request.output,
    request,
    unnamedOption,
  );
  return {
    '--from': request.from,
    '--to': request.to,
    '--timezone': zone.name,
    '--batch-size': request.batchSize ?? exportDefaults.batchSize,
    '--app': request.app === true,
    '--no-event-summaries': request.eventSummaries === false,
    '--no-profile-properties': request.profileProperties === false,
    '--format': format,
    '--columns': columns ?? null,
    '--csv-formulas': escapeFormulas,
    '--bom': bom,
    '--missing': request.missing === true,
    gzip,
    ...(request.limit !== undefined && { '--limit': request.limit }),
    ...fingerprinted,
  };
}

/** Returns the journal entry about the files, from which pruning finds them. */
export const documentsPlanned = (files: readonly FileSlices[]) =>
  files.map((slices) => ({ file: slices[0]?.file ?? '', slices: slices.length }));

/**
 * Plans the slices of these ranges, or those of the shard. A file that several shards share is split
 * by shard.
 */
export function slicesOf(
  { plan }: ExportKind,
  { output, shard }: ExportRequest,
  ranges: readonly DateRange[],
): readonly FileSlice[] {
  const all = plan(ranges, output);
  if (!shard) return all;
  const isOurs = (at: number) => at % shard.count === shard.index - 1;
  const ours = all.filter((_, at) => isOurs(at));
  const others = new Set(all.filter((_, at) => !isOurs(at)).map(({ file }) => file));
  return ours.map((slice) =>
    slice.file === undefined || !others.has(slice.file)
      ? slice
      : { ...slice, file: shardPath(slice.file, shard) },
  );
}

/** Groups slices by file. */
export function filesOf(slices: readonly FileSlice[]): FileSlices[] {
  const files = new Map<string | undefined, FileSlice[]>();
  for (const slice of slices) files.set(slice.file, [...(files.get(slice.file) ?? []), slice]);
  return [...files.values()];
}

export const outputOfFile = ([first]: FileSlices, request: ExportRequest, { words }: JobContext) =>
  outputOptions(
    first?.file,
    first?.replaces === true ? { ...request, overwrite: true } : request,
    words.option,
  );

function documentsOf(
  { kind, request, context }: ExportContext,
  files: readonly FileSlices[],
  resumable: boolean,
): ExportDocument[] {
  let count = 0;
  const { into } = request;
  const { runtime } = context;
  return files.map((slices) => {
    const options = outputOfFile(slices, request, context);
    const newSlice = (index: number, query: CursorQuery): PlannedSlice => ({
      index,
      query,
      openSpill: (resume) => openSpill({ options, slice: index, resumable }, runtime, resume),
    });
    return {
      slices: slices.map(({ eventName, from, to }) =>
        newSlice(count++, { kind: kind.reads, eventName, from, to, ...parameters(request) }),
      ),
      newSlice,
      open: (resume) => (into ? Promise.resolve(into) : openOutput(options, runtime, resume)),
      publish: (sealed) => publishSealed(options, runtime, sealed),
      tidy: () => cleanUpOutput(options, runtime),
      discard: () => discardOutput(options, runtime),
    };
  });
}

const parameters = ({ app, eventSummaries, profileProperties, ...request }: ExportRequest) => ({
  batchSize: pageSize(request),
  ...(app && { app: true as const }),
  ...(eventSummaries === false && { events: false as const }),
  ...(profileProperties === false && { profile: false as const }),
});

/** Reduces the page size to the limit. */
function pageSize({
  batchSize = exportDefaults.batchSize,
  limit,
}: Pick<ExportOptions, 'batchSize' | 'limit'>): number {
  if (limit === undefined) return batchSize;
  const { batchStep } = limits;
  return Math.min(batchSize, batchStep * Math.ceil(limit / batchStep));
}

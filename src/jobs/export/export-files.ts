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
import type { ReadKind } from '../../client/client.js';
import type { ExportDocument, ExportJob, PlannedSlice } from '../../bulk/export/export-job.js';
import type { TimeZone } from '../../time-zone.js';
import type { Output } from '../../output/output.js';
import type { DateRange } from '../date-range.js';
import type { OpenRun } from '../run/open-run.js';
import type { FileSlices } from './missing-days.js';
import type { JobHooks, ExportResult } from '../job-results.js';
import type { Connection, JobContext } from '../job-context.js';

/** What makes one export different from the other. */
export interface ExportKind {
  readonly name: 'export-profiles' | 'export-events';
  readonly reads: ReadKind;
  /** Its own options that decide what is written. */
  readonly meaning: Readonly<Record<string, unknown>>;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** The cursors to follow, with the name of the file that each goes to; undefined: stdout. */
  readonly plan: (range: DateRange, output: string | undefined) => readonly FileSlice[];
  readonly restarts: boolean;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: ((zone: TimeZone) => NonNullable<ExportJob['prepare']>) | undefined;
}

export interface ExportRequest extends ExportOptions, DayFileOptions {
  /** Undefined is stdout, unless the records go `into` something else. */
  readonly output?: string | undefined;
  readonly into?: Output;
  /** Only every n-th slice. */
  readonly shard?: Shard | undefined;
}

/** What an export writes, apart from how its requests are made. */
export type ExportWork = Pick<
  ExportJob,
  'documents' | 'log' | 'resumed' | 'prepare' | 'restarts' | 'minRecords' | 'limit'
>;

/** What an export is to do, and with what. */
export interface ExportContext {
  readonly kind: ExportKind;
  readonly request: ExportRequest;
  readonly world: JobContext;
  readonly hooks: JobHooks<ExportResult>;
  readonly connection: Connection;
  /** Most requests in flight. */
  readonly slots: number;
}

/** The documents of a run and what fills them. Throws what stands in the way of any of them. */
export async function prepareExport(
  exporting: ExportContext,
  files: readonly FileSlices[],
  run: OpenRun<ExportEntry>,
): Promise<ExportWork> {
  const { kind, request, connection, world } = exporting;
  const { restarts, prepare } = kind;
  const resumed = run.kept?.resumed === true;
  const documentOf = files.flatMap((slices, index) => slices.map(() => index));
  const { journal, entries = [] } = run.kept ?? {};
  const log = new ExportJournal(journal, entries, (slice) => documentOf[slice] ?? 0);
  const outputs = files.map((slices) => outputOfFile(slices, request, world));
  const isAhead = (_: unknown, index: number) => {
    const { sealed, short } = log.earlier.document(index);
    return sealed === undefined && short === undefined;
  };
  if (!request.into)
    await prepareOutputs(outputs.filter(isAhead), world.runtime, { ownPartials: resumed });
  return {
    documents: documentsOf(exporting, files, run.kept !== undefined),
    log,
    resumed,
    restarts,
    minRecords: request.minRecords ?? 0,
    limit: request.limit ?? Number.POSITIVE_INFINITY,
    ...fenced(prepare?.(connection.zone), world.ports?.fence),
  };
}

/** What is done to a page before it is written, if anything. */
function fenced(
  prepare: ExportJob['prepare'],
  fence: (() => void) | undefined,
): Pick<ExportJob, 'prepare'> {
  if (!fence) return { ...(prepare && { prepare }) };
  return {
    prepare: (page, eventName) => {
      fence();
      return prepare ? prepare(page, eventName) : page;
    },
  };
}

/** What must not change when the export is resumed, as its journal names it. */
export function exportFingerprint({
  kind: { meaning },
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
    ...meaning,
  };
}

/** What the run's journal says about the files: who prunes the run finds them by it. */
export const documentsPlanned = (files: readonly FileSlices[]) =>
  files.map((slices) => ({ file: slices[0]?.file ?? '', slices: slices.length }));

/** All slices, or those of the shard. A file that several shards write to is one of each shard. */
export function slicesOf(
  { plan }: ExportKind,
  { output, shard }: ExportRequest,
  range: DateRange,
): readonly FileSlice[] {
  const all = plan(range, output);
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

/** The slices by the file they go to. */
export function filesOf(slices: readonly FileSlice[]): FileSlices[] {
  const files = new Map<string | undefined, FileSlice[]>();
  for (const slice of slices) files.set(slice.file, [...(files.get(slice.file) ?? []), slice]);
  return [...files.values()];
}

const outputOfFile = ([first]: FileSlices, request: ExportRequest, { words }: JobContext) =>
  outputOptions(
    first?.file,
    first?.replaces === true ? { ...request, overwrite: true } : request,
    words.option,
  );

function documentsOf(
  { kind, request, world }: ExportContext,
  files: readonly FileSlices[],
  resumable: boolean,
): ExportDocument[] {
  let count = 0;
  const { into } = request;
  const { runtime } = world;
  return files.map((slices) => {
    const options = outputOfFile(slices, request, world);
    return {
      slices: slices.map(({ eventName, from, to }): PlannedSlice => {
        const index = count++;
        const place = { options, slice: index, resumable };
        return {
          index,
          query: { kind: kind.reads, eventName, from, to, ...parameters(request) },
          openSpill: (resume) => openSpill(place, runtime, resume),
        };
      }),
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

/** A page need not hold more than is wanted. */
function pageSize({
  batchSize = exportDefaults.batchSize,
  limit,
}: Pick<ExportOptions, 'batchSize' | 'limit'>): number {
  if (limit === undefined) return batchSize;
  const { batchStep } = limits;
  return Math.min(batchSize, batchStep * Math.ceil(limit / batchStep));
}

import type { ReadKind } from '../client/client.js';
import type { ExportDocument, ExportJob } from '../bulk/export/export.js';
import type { PlannedSlice } from '../bulk/export/export-ahead.js';
import { ExportLog } from '../bulk/export/export-log.js';
import type { Zone } from '../zone.js';
import {
  openOutput,
  openSpill,
  prepareOutputs,
  publishSealed,
  tidyOutput,
} from '../output/open-output.js';
import type { Runtime } from '../runtime.js';
import type { DateRange } from '../commands/date-range.js';
import type { ExportFlags } from '../commands/export-options.js';
import type { OpenExportRun } from './export-run.js';
import { outputOf } from '../commands/output-options.js';

/** What makes one export different from the other. */
export interface ExportCommand {
  readonly name: 'export-profiles' | 'export-events';
  readonly kind: ReadKind;
  readonly flags: ExportFlags;
  /** Its own flags that decide what is written. */
  readonly meaning: Readonly<Record<string, unknown>>;
  /** Most requests in flight. */
  readonly concurrency: number;
  /** The cursors to follow, with the name of the file that each goes to; undefined: stdout. */
  readonly plan: (range: DateRange, output: string | undefined) => readonly SliceOfFile[];
  readonly restarts: boolean;
  /** What is written for a page, where it is not the page itself. */
  readonly prepare?: (zone: Zone) => NonNullable<ExportJob['prepare']>;
}

export interface SliceOfFile extends DateRange {
  readonly eventName: string;
  readonly file: string | undefined;
}

interface JobRequest {
  readonly command: ExportCommand;
  readonly zone: Zone;
  readonly opened: OpenExportRun;
  readonly runtime: Runtime;
}

/** The documents of a run and what fills them. Throws what stands in the way of any of them. */
export async function exportJob(request: JobRequest): Promise<ExportJob> {
  const { command, zone, opened, runtime } = request;
  const { flags, restarts, prepare } = command;
  const { journal, entries, resumed } = opened;
  const files = filesOf(command.plan(opened.plan, flags.output));
  const documentOf = [...files.values()].flatMap((slices, index) => slices.map(() => index));
  const log = new ExportLog(journal, entries, (slice) => documentOf[slice] ?? 0);
  const outputs = [...files.keys()].map((file) => outputOf(file, flags));
  const isAhead = (_: unknown, index: number) => log.earlier.document(index).sealed === undefined;
  await prepareOutputs(outputs.filter(isAhead), runtime, { ownPartials: resumed });
  return {
    documents: documentsOf(request, files),
    log,
    resumed,
    restarts,
    ...(prepare && { prepare: prepare(zone) }),
  };
}

/** What must not change when the export is resumed, by the names of its flags. */
export function meaningOf({ flags, meaning }: ExportCommand, zone: Zone) {
  const { format, gzip, columns, escapeFormulas, bom } = outputOf(flags.output, flags);
  return {
    '--from': flags.from,
    '--to': flags.to,
    '--timezone': zone.name,
    '--batch-size': flags.batchSize,
    '--app': flags.app === true,
    '--no-event-summaries': !flags.eventSummaries,
    '--no-profile-properties': !flags.profileProperties,
    '--format': format,
    '--columns': columns ?? null,
    '--csv-formulas': escapeFormulas,
    '--bom': bom,
    gzip,
    ...meaning,
  };
}

/** What the run's journal says about the files: who prunes the run finds them by it. */
export const documentsPlanned = ({ plan, flags }: ExportCommand, range: DateRange) =>
  [...filesOf(plan(range, flags.output))].map(([file = '', slices]) => ({
    file,
    slices: slices.length,
  }));

type Files = ReadonlyMap<string | undefined, readonly SliceOfFile[]>;

/** The slices by the file they go to. */
function filesOf(slices: readonly SliceOfFile[]): Files {
  const files = new Map<string | undefined, SliceOfFile[]>();
  for (const slice of slices) files.set(slice.file, [...(files.get(slice.file) ?? []), slice]);
  return files;
}

function documentsOf({ command, opened, runtime }: JobRequest, files: Files): ExportDocument[] {
  let count = 0;
  return [...files].map(([file, slices]) => {
    const options = outputOf(file, command.flags);
    return {
      slices: slices.map(({ eventName, from, to }): PlannedSlice => {
        const index = count++;
        const place = { path: file, slice: index, resumable: opened.journal !== undefined };
        return {
          index,
          query: { kind: command.kind, eventName, from, to, ...parameters(command.flags) },
          openSpill: (resume) => openSpill(place, runtime, resume),
        };
      }),
      open: (resume) => openOutput(options, runtime, resume),
      publish: (sealed) => publishSealed(options, runtime, sealed),
      tidy: () => tidyOutput(options, runtime),
    };
  });
}

const parameters = ({ batchSize, app, eventSummaries, profileProperties }: ExportFlags) => ({
  batchSize,
  ...(app && { app }),
  ...(!eventSummaries && { events: false as const }),
  ...(!profileProperties && { profile: false as const }),
});

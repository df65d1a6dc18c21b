import path from 'node:path';
import { documentsPlanned, filesOf, meaningOf, slicesOf, type Exporting } from './export-files.js';
import { changed } from '../run/resume.js';
import { filesToFetch, type FileSlices } from './missing-days.js';
import type { ExportEntry, ExportPlan, SliceOfFile } from '../../bulk/export/export-journal.js';
import type { DateRange } from '../date-range.js';
import type { OpenRun } from '../run/open-run.js';
import type { World } from '../job-context.js';

/** What a run writes. */
export interface PlannedExport extends DateRange {
  /** Each document's slices, as the journal numbers them. */
  readonly files: readonly FileSlices[];
  /** Names of all files that were asked for, those among them that are there. */
  readonly wanted: ReadonlySet<string | undefined>;
}

/**
 * What an earlier process planned, if the options still ask for the same; else what is asked for
 * now. Of days that are left out when they are there both: a job that was cut short last night
 * fetches the days since as well.
 */
export async function exportPlan(
  run: OpenRun<ExportEntry>,
  exporting: Exporting,
  asked: DateRange,
): Promise<PlannedExport> {
  const { kind, request, world } = exporting;
  const options = meaningOf(exporting);
  const plans = plansOf(run);
  if (plans[0]) refuseOtherOptions(run, { was: plans[0].options, is: options }, world);
  const range = request.missing ? asked : (plans[0] ?? asked);
  const all = filesOf(slicesOf(kind, request, range));
  const wanted = new Set(all.map(fileOf));
  const note = async (files: readonly FileSlices[], chosen?: readonly SliceOfFile[]) => {
    const plan = { ...range, options, documents: documentsPlanned(files) };
    await run.kept?.journal.append({ kind: 'plan', plan: { ...plan, ...(chosen && { chosen }) } });
  };
  if (!request.missing) {
    if (!plans[0]) await note(all);
    return { from: range.from, to: range.to, files: all, wanted };
  }
  // In the journal by their whole paths, as the next process may stand in another folder.
  const pathOf = (file = ''): string => path.resolve(world.runtime.cwd, file);
  const names = new Map(all.map((slices) => [pathOf(fileOf(slices)), fileOf(slices)]));
  const begun = plans.flatMap(({ chosen = [] }) =>
    filesOf(chosen.map((slice) => withFile(slice, names.get(slice.file ?? '') ?? slice.file))),
  );
  const unfinished = unfinishedOf(run, begun);
  const others = all.filter((slices) => !unfinished.has(fileOf(slices)));
  const more = await filesToFetch(others, { refresh: request.refresh, to: range.to }, world);
  const noted = more.map((slices) => slices.map((one) => withFile(one, pathOf(one.file))));
  if (!plans[0] || more.length > 0) await note(noted, noted.flat());
  return { from: range.from, to: range.to, files: [...begun, ...more], wanted };
}

const withFile = (slice: SliceOfFile, file: string | undefined): SliceOfFile => ({
  ...slice,
  file,
});

const fileOf = ([first]: FileSlices): string | undefined => first?.file;

const plansOf = ({ kept }: OpenRun<ExportEntry>): ExportPlan[] =>
  (kept?.entries ?? []).flatMap((entry) => (entry.kind === 'plan' ? [entry.plan] : []));

/** Files of the run that are still to be written. */
function unfinishedOf({ kept }: OpenRun<ExportEntry>, begun: readonly FileSlices[]) {
  const done = new Set(
    (kept?.entries ?? []).flatMap((entry) =>
      entry.kind === 'published' || entry.kind === 'short' ? [entry.document] : [],
    ),
  );
  return new Set(begun.filter((_, index) => !done.has(index)).map(fileOf));
}

function refuseOtherOptions(
  { kept }: OpenRun<ExportEntry>,
  { was, is }: { readonly was: ExportPlan['options']; readonly is: ExportPlan['options'] },
  { words }: World,
): void {
  for (const what of new Set([...Object.keys(was), ...Object.keys(is)])) {
    // A run of an earlier version does not know all of them.
    if (JSON.stringify(was[what] ?? false) === JSON.stringify(is[what] ?? false)) continue;
    throw changed(kept!.folder, { what, was: was[what], is: is[what] }, words);
  }
}

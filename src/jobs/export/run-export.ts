import path from 'node:path';
import { exportDocuments } from '../../bulk/export/export-documents.js';
import {
  newExportCounters,
  SlicePages,
  type ExportCounters,
} from '../../bulk/export/export-job.js';
import {
  exportEntries,
  type ExportEntry,
  type ExportPlan,
  type FileSlice,
} from '../../bulk/export/export-journal.js';
import { AimdLimiter } from '../../bulk/adaptive-concurrency.js';
import { formatDay, splitDays } from '../../contract/dates.js';
import { countOf, EngagectlError } from '../../errors.js';
import { isStdout } from '../../output/formats.js';
import { refuseTargets } from '../../output/document-output.js';
import { resolveTarget } from '../../output/partial-file.js';
import {
  dayRanges,
  parseDateRange,
  expandDateInArgv,
  expandDate,
  type DateRange,
} from '../date-range.js';
import {
  prepareExport,
  filesOf,
  outputOfFile,
  exportFingerprint,
  slicesOf,
  documentsPlanned,
  type ExportContext,
  type ExportKind,
  type ExportRequest,
  type ExportWork,
} from './export-files.js';
import { checkOutputFormat } from '../output-options.js';
import { exportDefaults } from '../job-options.js';
import { catchFailure, retryStatusOf, runEnd, type JobContext } from '../job-context.js';
import { openRun, unjournaledRun, type OpenRun } from '../run/open-run.js';
import { fingerprint } from '../run/run-folder.js';
import { formatShard, shardConcurrency } from '../shard.js';
import {
  countDays,
  refuseToday,
  shortDaysError,
  missingFiles,
  warnOfToday,
  type FileSlices,
} from './missing-days.js';
import { watched } from '../../bulk/observed-client.js';
import { reservedEventNames, unexportableEvents } from '../../contract/error-codes.js';
import { didYouMean } from '../../did-you-mean.js';
import { changed } from '../run/resume.js';
import type { JobEnding, JobHooks, ExportResult, JobProgress } from '../job-results.js';

export type ExportHooks = JobHooks<ExportResult>;

/**
 * Runs an export from options to result. Throws errors that occur before the first request; later
 * errors are part of the result.
 */
export async function runExport(
  kind: ExportKind,
  request: ExportRequest,
  context: JobContext,
  hooks: ExportHooks = {},
): Promise<ExportResult> {
  checkOutputFormat(request.output, request, context.words);
  const isAlone = context.ports?.limiter !== undefined || request.limit !== undefined;
  const slots = isAlone ? 1 : shardConcurrency(request.shard, kind.concurrency, context.words);
  const connection = await context.connect();
  try {
    // Reference for relative dates and `{date}`.
    const today = { zone: connection.zone, now: context.runtime.now() };
    const output = expandDate(request.output, today);
    const argv = expandDateInArgv(context.argv, request.output, output);
    const dated = { ...request, output };
    const exporting = {
      kind,
      request: dated,
      context: { ...context, argv },
      hooks,
      connection,
      slots,
    };
    const range = parseDateRange(request, today, context.words);
    if (request.missing) refuseToday(range, today, context.words);
    else if (request.output?.includes('{day}')) warnOfToday(range, today, context);
    if (request.limit !== undefined) refuseManyFiles(kind, dated, { range, words: context.words });
    await refuseOtherOutputs(newFiles(exporting, range), exporting.context); // before --fresh removes a run
    return await runConnected(exporting, range);
  } finally {
    await connection.close();
  }
}

/** Throws E-USAGE for `limit` with several files, where the first records are undefined. */
function refuseManyFiles(
  kind: ExportKind,
  request: ExportRequest,
  { range, words }: { readonly range: DateRange; readonly words: JobContext['words'] },
): void {
  const isOne = newFiles({ kind, request }, range).length <= 1;
  if (isOne && !request.missing && !request.shard) return;
  const limit = words.option('limit', String(request.limit));
  throw new EngagectlError('E-USAGE', `${limit} requires a single output file`, {
    why: 'with several files or shards, the first records are undefined',
    fix: `write one file, or omit ${words.option('limit')}`,
  });
}

/** Throws E-USAGE for a file that the command line also names as its report or log. */
async function refuseOtherOutputs(
  files: readonly FileSlices[],
  { refuseOutputs }: JobContext,
): Promise<void> {
  await refuseOutputs?.(files.flatMap((slices) => fileOf(slices) ?? []));
}

/** Returns the files of a run that starts now. */
const newFiles = (
  { kind, request }: Pick<ExportContext, 'kind' | 'request'>,
  range: DateRange,
): FileSlices[] =>
  filesOf(slicesOf(kind, request, kind.slicing === 'days' ? dayRanges(range) : [range]));

async function runConnected(exporting: ExportContext, requestedRange: DateRange) {
  const { kind, context, hooks } = exporting;
  const { zone } = exporting.connection;
  const run = await openRunOf(exporting, requestedRange);
  let keep = run.kept?.resumed === true;
  try {
    const plan = await planExport(run, exporting, requestedRange);
    await refuseOtherOutputs(plan.files, context);
    const days = `${formatDay(plan.from)} to ${formatDay(plan.to)}, ${zone.name}`;
    const work = await prepareExport(exporting, plan.files, run);
    const planned = plannedRequests(work);
    context.messages.note(
      `${kind.name}: ${days}${keep ? `, resuming run ${run.id}` : ''}`,
      planned,
    );
    const { cursors, requests } = planned;
    context.messages.verbose(
      `plan: ${countOf(cursors, 'cursor')}, at least ${countOf(requests, 'request')}`,
      planned,
    );
    keep = true;
    const ending = await perform(exporting, run, { ...work, ...plan });
    const isReported = (await hooks.ended?.(ending)) ?? true;
    keep = ending.result.unfinished || (!isReported && canBeResumed(ending.result.error, work));
    return { ...ending.result, unfinished: keep };
  } finally {
    run.close({ keep });
  }
}

/** Counts the cursors of the slices that are not complete, and the requests if each has one page. */
function plannedRequests({ documents, log }: ExportWork) {
  const slices = documents.flatMap((document) => document.slices);
  const states = slices.map(({ index }) => log.earlier.slices.get(index)?.cursor);
  const toOpen = states.filter((cursor) => cursor === undefined).length;
  const cursors = states.filter((cursor) => cursor !== null).length;
  return { cursors, requests: toOpen + cursors };
}

/** Opens a journaled run for output files; an export to a pipe cannot be resumed. */
async function openRunOf(
  exporting: ExportContext,
  range: DateRange,
): Promise<OpenRun<ExportEntry>> {
  const { kind, request, context, connection } = exporting;
  const { accountId, host } = connection;
  const { resume, fresh, waitLock, output = '', into } = request;
  if (into) return unjournaledRun(context);
  const { cwd, uid } = context.runtime;
  const target = await resolveTarget(request.output, { cwd, uid, option: context.words.option });
  if (target.kind === 'file') {
    if (fresh) await refuseFiles(exporting, range); // before the unfinished run is discarded
    const files = [path.resolve(cwd, output)];
    const options = fingerprint(exportFingerprint(exporting));
    const shard = request.shard && formatShard(request.shard);
    const query = { command: kind.name, accountId, host, files, options, resume, fresh, shard };
    return openRun({ ...query, waitLock, exports: true }, exportEntries, context);
  }
  const name = target.kind === 'stdout' ? 'standard output' : target.name;
  if (resume) context.messages.warn(`output to ${name} cannot be resumed; starting from scratch`);
  return unjournaledRun(context);
}

/** Throws if a file of a run that starts now cannot be written. */
async function refuseFiles(exporting: ExportContext, range: DateRange): Promise<void> {
  const { request, context } = exporting;
  const all = newFiles(exporting, range);
  const files = request.missing
    ? await missingFiles(all, { refresh: request.refresh, to: range.to }, context)
    : all;
  const outputs = files.map((slices) => outputOfFile(slices, request, context));
  await refuseTargets(outputs, context.runtime);
}

async function perform(
  { kind, request, context, connection, hooks, slots }: ExportContext,
  run: OpenRun<ExportEntry>,
  work: ExportWork & PlannedExport,
): Promise<JobEnding<ExportResult>> {
  const { runtime, messages } = context;
  const state = { ...newExportCounters(), ...work.log.earlier.counts };
  const started = runtime.monotonic();
  const waits = retryStatusOf(connection, context);
  const { client, inFlight, history } = watched(connection.client, {
    recordsHistory: hooks.history === true,
    records: () => state.records,
    observer: context.ports?.requests,
    runtime,
  });
  const exported = exportDocuments({
    ...work,
    client,
    policy: connection.policy,
    runtime,
    signal: runtime.signal,
    option: context.words.option,
    waits,
    verbose: (line) => messages.verbose(line),
    warn: (text, quoted) => messages.warn(text, {}, quoted),
    state,
    limiter: context.ports?.limiter?.() ?? new AimdLimiter(slots),
    scanners: [],
    pages: kind.pages ?? new SlicePages(),
    pollIntervalMs: request.pollInterval ?? exportDefaults.pollInterval,
    pendingTimeoutMs: request.pendingTimeout ?? exportDefaults.pendingTimeout,
  });
  hooks.started?.(() => ({ ...progressOf(state, waits.text), inFlight: inFlight() }));
  const failure = withNearestEvent(await catchFailure(exported, runtime.signal), work.files.flat());
  if (failure?.details.namesEvent && !work.resumed) await discardUnpublished(work, state);
  const { minRecords } = work;
  const error = failure ?? shortDaysError(work.files, state, { minRecords, words: context.words });
  const { records, pages, requests, retries, pendingMs, bytes } = state;
  return {
    result: {
      run: run.id,
      accountId: connection.accountId,
      from: formatDay(work.from),
      to: formatDay(work.to),
      timezone: connection.zone.name,
      records,
      pages,
      requests,
      retries,
      pendingSeconds: inSeconds(pendingMs),
      bytes,
      output: request.into || isStdout(request.output) ? null : namedOutput(request, run),
      ...((request.missing || minRecords > 0) && { days: countDays(work, state) }),
      ...runEnd(error, started, runtime),
      unfinished: failure !== undefined && canBeResumed(failure, work),
    },
    history: history(),
    wasResumed: work.resumed,
  };
}

const progressOf = (
  { records, bytesReceived: bytes, slices, slicesDone, note }: ExportCounters,
  wait: string | undefined,
): Omit<JobProgress, 'inFlight'> => ({
  read: records,
  records,
  rejected: 0,
  bytes,
  totalBytes: undefined,

  slices: [slicesDone, slices],
  waiting: wait ?? note,
});

/** Returns the requested output name; for a shard with a single file, the name of that file. */
function namedOutput({ output, shard }: ExportRequest, { kept }: OpenRun<ExportEntry>) {
  const first = shard && kept?.read()[0];
  const documents = first?.kind === 'plan' ? first.plan.documents : [];
  return documents.length === 1 ? documents[0]!.file : (output ?? null);
}

/**
 * Whether a failed export can be resumed. After a wrong event name it cannot, since the corrected
 * command is another run; but a resumed run is kept, since the service knew its event before.
 */
const canBeResumed = (error: EngagectlError | undefined, { log, resumed }: ExportWork): boolean =>
  log.resumable && !log.isEmpty && (resumed || error?.details.namesEvent !== true);

/** Removes partial files. Keeps complete documents. */
async function discardUnpublished({ documents }: ExportWork, { published }: ExportCounters) {
  for (const [index, document] of documents.entries()) {
    if (!published.has(index)) await document.discard();
  }
}

const inSeconds = (milliseconds: number): number => Math.round(milliseconds) / 1000;

const unexportable = new Set<string>(unexportableEvents);
/** Events of every account: those the service creates, and the purchase event. */
const common = ['Charged', ...reservedEventNames].filter((name) => !unexportable.has(name));

/**
 * Adds a suggestion to the error for an unknown event name. The service does not list events, so
 * only the events of every account can be suggested.
 */
function withNearestEvent(
  error: EngagectlError | undefined,
  requested: readonly { readonly eventName: string }[],
): EngagectlError | undefined {
  if (!error) return undefined;
  const { id, message, details } = error;
  if (!details.namesEvent) return error;
  const wrong = requested.find(({ eventName }) => message.includes(eventName))?.eventName ?? '';
  return new EngagectlError(id, `${message}${didYouMean(wrong, common)}`, details);
}

/** Documents and range of a run. */
interface PlannedExport extends DateRange {
  /** Slices of each document, in the order of the journal. */
  readonly files: readonly FileSlices[];
  /** Names of all requested files, including existing ones. */
  readonly wanted: ReadonlySet<string | undefined>;
}

/**
 * Returns the plan of an earlier process if the options match, otherwise a new plan. With
 * `missing`, combines both: an export interrupted last night also fetches the days since.
 */
async function planExport(
  run: OpenRun<ExportEntry>,
  exporting: ExportContext,
  requestedRange: DateRange,
): Promise<PlannedExport> {
  const { kind, request, context } = exporting;
  const options = exportFingerprint(exporting);
  const plans = plansOf(run);
  if (plans[0]) refuseOtherOptions(run, { was: plans[0].options, is: options }, context);
  const range = request.missing ? requestedRange : (plans[0] ?? requestedRange);
  const ranges = plans[0] ? rangesOfRun(run, kind, range) : newRanges(exporting, range);
  const all = filesOf(slicesOf(kind, request, ranges));
  const wanted = new Set(all.map(fileOf));
  const note = async (files: readonly FileSlices[], chosen?: readonly FileSlice[]) => {
    const plan = { ...range, options, documents: documentsPlanned(files) };
    const sliced = kind.slicing === 'parts' ? [{ kind: 'sliced' as const, ranges }] : [];
    await run.kept?.journal.append(...sliced, {
      kind: 'plan',
      plan: { ...plan, ...(chosen && { chosen }) },
    });
  };
  if (!request.missing) {
    if (!plans[0]) await note(all);
    return { from: range.from, to: range.to, files: all, wanted };
  }
  // The journal has absolute paths, since the next process may run in another directory.
  const pathOf = (file = ''): string => path.resolve(context.runtime.cwd, file);
  const names = new Map(all.map((slices) => [pathOf(fileOf(slices)), fileOf(slices)]));
  const started = plans.flatMap(({ chosen = [] }) =>
    filesOf(chosen.map((slice) => withFile(slice, names.get(slice.file ?? '') ?? slice.file))),
  );
  const unfinished = unfinishedOf(run, started);
  const others = all.filter((slices) => !unfinished.has(fileOf(slices)));
  const more = await missingFiles(others, { refresh: request.refresh, to: range.to }, context);
  const noted = more.map((slices) => slices.map((one) => withFile(one, pathOf(one.file))));
  if (!plans[0] || more.length > 0) await note(noted, noted.flat());
  return { from: range.from, to: range.to, files: [...started, ...more], wanted };
}

/** Slices the range of a new run. Several events share the requests in flight. */
function newRanges({ kind, request, slots }: ExportContext, range: DateRange): DateRange[] {
  if (kind.slicing === 'whole') return [range];
  if (kind.slicing === 'days') return dayRanges(range);
  return splitDays(range, Math.ceil(slots / kind.plan([range], request.output).length));
}

/** Returns the slices that a run began with. Runs without a journal entry about them have days. */
function rangesOfRun(
  { kept }: OpenRun<ExportEntry>,
  { slicing }: ExportKind,
  range: DateRange,
): readonly DateRange[] {
  const sliced = kept?.entries.find((entry) => entry.kind === 'sliced');
  return sliced?.ranges ?? (slicing === 'whole' ? [range] : dayRanges(range));
}

const withFile = (slice: FileSlice, file: string | undefined): FileSlice => ({
  ...slice,
  file,
});

const fileOf = ([first]: FileSlices): string | undefined => first?.file;

const plansOf = ({ kept }: OpenRun<ExportEntry>): ExportPlan[] =>
  (kept?.entries ?? []).flatMap((entry) => (entry.kind === 'plan' ? [entry.plan] : []));

/** Returns the files of the run that are not complete. */
function unfinishedOf({ kept }: OpenRun<ExportEntry>, started: readonly FileSlices[]) {
  const done = new Set(
    (kept?.entries ?? []).flatMap((entry) =>
      entry.kind === 'published' || entry.kind === 'short' ? [entry.document] : [],
    ),
  );
  return new Set(started.filter((_, index) => !done.has(index)).map(fileOf));
}

function refuseOtherOptions(
  { kept }: OpenRun<ExportEntry>,
  { was, is }: { readonly was: ExportPlan['options']; readonly is: ExportPlan['options'] },
  { words }: JobContext,
): void {
  for (const what of new Set([...Object.keys(was), ...Object.keys(is)])) {
    // A run of an earlier version lacks some options.
    if (JSON.stringify(was[what] ?? false) === JSON.stringify(is[what] ?? false)) continue;
    throw changed(kept!.folder, { what, was: was[what], is: is[what] }, words);
  }
}

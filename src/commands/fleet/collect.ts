import path from 'node:path';
import { EngagectlError, exitCodes, mostSerious } from '../../errors.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { isWrite, writeEndpoints } from '../../contract/endpoints.js';
import { rejectsFileOf } from '../../contract/file-formats.js';
import { showSummary, type Summary, type SummaryContext } from '../../ui/summary.js';
import { findNamedRun, withQueue, runOptions } from './queue.js';
import { parseNestedCommand, type NestedFlags } from './nested-command.js';
import { existsSync } from 'node:fs';
import { dayRanges, parseDateRange, expandDate, type Today } from '../../jobs/date-range.js';
import { planEvents } from '../../jobs/export/export-events.js';
import { isStdout, outputOptions, checkOutputFormat } from '../../jobs/output-options.js';
import { timeZone } from '../../time-zone.js';
import { cliAdvice } from '../shared/job-context.js';
import { quoteForShell } from '../../wording.js';
import type { FleetCommand, ShardResult } from '../../fleet/fleet-run.js';
import type { SignedRun } from '../../fleet/signature.js';
import type { ShardSlice } from '../../jobs/export/merge-shards.js';
import type { FoundRun } from '../../fleet/run-status.js';
import type { ReportedShard } from '../../ui/report/fleet-page.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const collectOptions = [
  'Options:',
  ['-o, --output <file>', 'rejects file, or output file of the export', { writes: true }],
  ['--overwrite', 'replace existing files of an export'],
  [
    '--report <file.html>',
    'write an HTML report: workers, shards, throughput, 429s',
    { writes: true },
  ],
  ...runOptions,
] as const satisfies OptionTable;
type CollectFlags = FlagsOf<typeof collectOptions>;

export const collect: CommandSpec<CollectFlags> = {
  needs: 'account',
  summary: 'write the summary, rejects file and export files of a finished run',
  description:
    'Writes one summary of a finished run, one rejects file in input order, and, for an export, its ' +
    'output files.',
  operands: [['<run>', 'run id']],
  examples: `
    # write next to the input, or to --output of the export
    engagectl fleet collect 0123456789ab
    # write to another file, with a JSON summary
    engagectl fleet collect 0123456789ab -o /tmp/rejects.ndjson --json
  `,
  options: collectOptions,
  run: collectResults,
};

/** `fleet collect`: one summary, one rejects file, and the files of an export. */
async function collectResults(call: Invocation<CollectFlags>): Promise<void> {
  await withQueue(call, async (store) => collectRun(await findNamedRun(store, call), call));
}

async function collectRun(known: FoundRun, call: Invocation<CollectFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { run } = known;
  const results = resultsOf(known);
  const writeReport = await openFleetReport(flags.report, runtime);
  const isExport = run.command === 'export-events';
  const output = isExport ? await joinExport(known, results, call) : null;
  const rejectsFile = isExport ? null : await oneRejectsFile(known, results, call);
  known.folder.removeCopies();
  const summary = await summaryOf(known, results, { output, rejectsFile });
  const settings = call.settings();
  const messages = messagePrinter(settings, runtime);
  const unreported = await writeReport?.(summary, results.map(reportedShard), messages);
  const place = { settings, runtime, messages, recordsOnStdout: false };
  await showSummary(summary, { ...place, ...wordsOf(run.command) });
  if (unreported) throw unreported;
  if (summary.exitCode === exitCodes.ok) return;
  const isUnknown = summary.exitCode === exitCodes.unknown;
  const [id, message] = isUnknown
    ? (['E-UNKNOWN', 'the outcome of some records is unknown'] as const)
    : (['E-REJECTED', 'some records were rejected'] as const);
  throw new EngagectlError(id, message, {
    fix: rejectsFile === null ? undefined : `see ${rejectsFile} for the lines and reasons`,
  });
}

async function summaryOf(
  known: FoundRun,
  results: readonly ShardResult[],
  files: Pick<Summary, 'output' | 'rejectsFile'>,
): Promise<Summary> {
  const { run } = known;
  const { totals } = await import('../../fleet/run-status.js');
  const { requests = 0, retries = 0, throttled: _, ...figures } = totals(known.signed);
  const startedAt = Math.min(...results.map(({ ended, seconds }) => ended - 1000 * seconds));
  return {
    command: run.command,
    run: run.run,
    profile: run.profile ?? null,
    region: run.region ?? run.host,
    accountId: run.accountId,
    ...figures,
    requests,
    retries,
    seconds: (Math.max(...results.map(({ ended }) => ended)) - startedAt) / 1000,
    ...files,
    exitCode: mostSerious(results.map((result) => result.exitCode)),
  };
}

/** Undefined without `--report`. */
async function openFleetReport(name: string | undefined, runtime: Invocation['runtime']) {
  if (name === undefined) return undefined;
  const [{ openReportFile }, { fleetPage }] = await Promise.all([
    import('../../ui/report/report-file.js'),
    import('../../ui/report/fleet-page.js'),
  ]);
  const write = await openReportFile(name, runtime);
  return async (summary: Summary, shards: readonly ReportedShard[], messages: Messages) =>
    write(fleetPage(summary, shards), summary.exitCode, messages);
}

function wordsOf(command: FleetCommand): Pick<SummaryContext, 'verb' | 'nouns'> {
  if (!isWrite(command)) return { verb: 'exported', nouns: 'events' };
  const { verb, noun } = writeEndpoints[command];
  return { verb, nouns: noun };
}

const reportedShard = ({ figures, ...result }: ShardResult): ReportedShard => ({
  ...result,
  records: figures['records'] ?? figures['read'] ?? 0,
  rejected: figures['rejected'] ?? 0,
  requests: figures['requests'] ?? 0,
  throttled: figures['throttled'] ?? 0,
});

/** Throws E-RUN-UNFINISHED if a shard has no result. */
function resultsOf({ run, signed }: FoundRun): ShardResult[] {
  const results = signed.results();
  const missing = run.shards - results.length;
  if (missing === 0) return results;
  throw new EngagectlError('E-RUN-UNFINISHED', `${missing} of ${run.shards} shards are not done`, {
    why: 'the result would have gaps',
    fix: `engagectl fleet status ${quoteForShell(run.run)} shows the reason of each shard`,
  });
}

async function oneRejectsFile(
  { run, signed }: FoundRun,
  results: readonly ShardResult[],
  { flags, runtime, program, refuseOutputs }: Invocation<CollectFlags>,
): Promise<string | null> {
  const { mergeRejects } = await import('../../jobs/rejects.js');
  const within = await parseNestedCommand(run.argv, { program, runtime });
  const files = results.flatMap((result) => {
    const { rejectsFile, figures } = result;
    if (rejectsFile === null) return [];
    const lines = (figures['rejected'] ?? 0) + (figures['unknown'] ?? 0);
    return { file: signed.fileOf(result, rejectsFile), lines };
  });
  const named = within.flags.rejects ?? rejectsFileOf(within.files[0] ?? run.command);
  const target = flags.output ?? path.resolve(run.cwd, named);
  const file = path.resolve(runtime.cwd, target);
  await refuseOutputs([file]);
  const count = await mergeRejects(files, within.files, file, { ...runtime, cwd: run.cwd });
  return count === 0 ? null : target;
}

/** Joins the slices of an export; returns the output name. Throws E-USAGE, E-OUTPUT-EXISTS. */
async function joinExport(
  { run, signed }: FoundRun,
  results: readonly ShardResult[],
  { flags, runtime, program, settings, refuseOutputs }: Invocation<CollectFlags>,
): Promise<string> {
  const { mergeShardOutputs } = await import('../../jobs/export/merge-shards.js');
  const { flags: submitted } = await parseNestedCommand(run.argv, { program, runtime });
  const today = { zone: timeZone(run.timezone ?? 'UTC'), now: runtime.now() };
  // The name given now decides the format, then the submitted one.
  const { format: _, ...how } = submitted;
  const [template, fileOptions] =
    flags.output === undefined
      ? [expandDate(submitted.output, today) ?? '', submitted]
      : [flags.output, how];
  if (isStdout(template)) {
    throw new EngagectlError(
      'E-USAGE',
      'an export of a fleet cannot be written to standard output',
      {
        why: 'its slices are joined on the disk',
        fix: 'name a file: --output <file>',
      },
    );
  }
  checkOutputFormat(template, fileOptions, cliAdvice);
  const base = flags.output === undefined ? run.cwd : runtime.cwd;
  const overwrite = flags.overwrite === true || submitted.overwrite === true;
  const documents = [...slicesByFile(signed, results, { submitted, template, today })].map(
    ([file, slices]) => {
      const options = outputOptions(path.resolve(base, file), fileOptions, cliAdvice.option);
      return { options: { ...options, overwrite }, slices };
    },
  );
  await refuseOutputs(documents.flatMap(({ options }) => options.path ?? []));
  await mergeShardOutputs(documents, { runtime, messages: messagePrinter(settings(), runtime) });
  return template;
}

/** Throws E-FILE-READ if a slice is missing. */
function slicesByFile(
  signed: SignedRun,
  results: readonly ShardResult[],
  { submitted, template, today }: { submitted: NestedFlags; template: string; today: Today },
): Map<string, ShardSlice[]> {
  const { event = [], split = true } = submitted;
  const events = typeof event === 'string' ? [event] : event;
  const { range } = signed.run;
  const days = parseDateRange(range!, today, cliAdvice);
  const plan = planEvents(split ? dayRanges(days) : [days], events, template);
  const files = new Map<string, ShardSlice[]>();
  for (const [at, { file = '' }] of plan.entries()) {
    const result = results[at];
    const slice = result && result.output !== null && signed.fileOf(result, result.output);
    if (!slice || !existsSync(slice)) {
      throw new EngagectlError('E-FILE-READ', `the slice of shard ${at + 1} is not there`, {
        why: `${slice || 'it'} is missing in the work directory`,
        fix: 'submit the run again to another work directory',
      });
    }
    const records = result.figures['records'] ?? 0;
    files.set(file, [...(files.get(file) ?? []), { file: slice, records }]);
  }
  return files;
}

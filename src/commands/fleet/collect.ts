import path from 'node:path';
import { EngagectlError, exitCodes, mostSerious } from '../../errors.js';
import { messages, type Messages } from '../../ui/messages.js';
import { showSummary, type Summary } from '../../ui/summary.js';
import { runNamed, withQueue, runOptions } from './queue.js';
import { commandWithin, type FlagsWithin } from './nested-command.js';
import { existsSync } from 'node:fs';
import { dateRange, datedOutput, type Today } from '../../jobs/date-range.js';
import { planEvents } from '../../jobs/export/export-events.js';
import { isStdout, outputOf, refuseFormat } from '../../jobs/output-options.js';
import { zoneOf } from '../../time-zone.js';
import { jobWords } from '../shared/job-context.js';
import type { FleetCommand, ShardResult, FleetRun } from '../../fleet/fleet-run.js';
import type { KnownRun } from '../../fleet/run-status.js';
import type { ReportedShard } from '../../ui/report/fleet-page.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';
import type { FlagsOf, OptionTable } from '../flags/option-table.js';

const collectOptions = [
  'Options:',
  ['-o, --output <file>', 'the rejects file, or the file of the export'],
  ['--overwrite', 'replace existing files of an export'],
  ['--report <file.html>', 'write a page about the run: workers, shards, throughput, 429s'],
  ...runOptions,
] as const satisfies OptionTable;
type CollectFlags = FlagsOf<typeof collectOptions>;

export const collect: CommandSpec<CollectFlags> = {
  needs: 'nothing',
  summary: 'one summary and one rejects file of a run that is done; of an export its files',
  description:
    'Makes one summary of a run that is done, one rejects file in the order of the input, and of the slices of an ' +
    'export the files that were asked for.',
  operands: [['<run>', 'its id']],
  examples: `
    # beside the input, or where --output of the export says
    engagectl fleet collect 0123456789ab
    # to another place; figures as JSON
    engagectl fleet collect 0123456789ab -o /tmp/rejects.ndjson --json
  `,
  options: collectOptions,
  run: collectResults,
};

/** `fleet collect`: one summary, one rejects file, the files of an export. */
async function collectResults(call: Call<CollectFlags>): Promise<void> {
  await withQueue(call, async (store) => collectRun(await runNamed(store, call), call));
}

async function collectRun(known: KnownRun, call: Call<CollectFlags>): Promise<void> {
  const { flags, runtime } = call;
  const { run } = known;
  const results = resultsOf(known);
  const writeReport = await openFleetReport(flags.report, runtime);
  const isExport = run.command === 'export-events';
  const output = isExport ? await collectExport(known, results, call) : null;
  const rejectsFile = isExport ? null : await oneRejectsFile(known, results, call);
  const summary = await summaryOf(known, results, { output, rejectsFile });
  const settings = call.settings();
  const said = messages(settings, runtime);
  const unreported = await writeReport?.(summary, results.map(reported), said);
  const place = { settings, runtime, messages: said, recordsOnStdout: false };
  await showSummary(summary, { ...place, nouns: nouns[run.command] });
  if (unreported) throw unreported;
  if (summary.exitCode === exitCodes.ok) return;
  const isUnknown = summary.exitCode === exitCodes.unknown;
  throw new EngagectlError(isUnknown ? 'E-UNKNOWN' : 'E-REJECTED', 'not every record got through', {
    fix: rejectsFile === null ? undefined : `${rejectsFile} says where and why`,
  });
}

async function summaryOf(
  known: KnownRun,
  results: readonly ShardResult[],
  files: Pick<Summary, 'output' | 'rejectsFile'>,
): Promise<Summary> {
  const { run } = known;
  const { figuresOf } = await import('../../fleet/run-status.js');
  const { requests = 0, retries = 0, throttled: _, ...figures } = figuresOf(known);
  const begun = Math.min(...results.map(({ ended, seconds }) => ended - 1000 * seconds));
  return {
    command: run.command,
    run: run.run,
    profile: run.profile ?? null,
    region: run.region ?? run.host,
    accountId: run.accountId,
    ...figures,
    requests,
    retries,
    seconds: (Math.max(...results.map(({ ended }) => ended)) - begun) / 1000,
    ...files,
    exitCode: mostSerious(results.map((result) => result.exitCode)),
  };
}

/** Undefined without `--report`. */
async function openFleetReport(name: string | undefined, runtime: Call['runtime']) {
  if (name === undefined) return undefined;
  const [{ openPage }, { fleetPage }] = await Promise.all([
    import('../../ui/report/report-file.js'),
    import('../../ui/report/fleet-page.js'),
  ]);
  const write = await openPage(name, [], runtime);
  return async (summary: Summary, shards: readonly ReportedShard[], said: Messages) =>
    write(fleetPage(summary, shards), summary.exitCode, said);
}

const nouns: Readonly<Record<FleetCommand, string>> = {
  upload: 'records',
  subscribe: 'statuses',
  demerge: 'identities',
  'export-events': 'events',
};

const reported = ({ figures, ...result }: ShardResult): ReportedShard => ({
  ...result,
  records: figures['records'] ?? figures['read'] ?? 0,
  rejected: figures['rejected'] ?? 0,
  requests: figures['requests'] ?? 0,
  throttled: figures['throttled'] ?? 0,
});

/** Throws E-RUN-UNFINISHED where a shard has no result. */
function resultsOf({ run, folder }: KnownRun): ShardResult[] {
  const results = folder.results(run);
  const missing = run.shards - results.length;
  if (missing === 0) return results;
  throw new EngagectlError('E-RUN-UNFINISHED', `${missing} of ${run.shards} shards are not done`, {
    why: 'what is put together would have gaps',
    fix: `engagectl fleet status ${run.run} says why`,
  });
}

async function oneRejectsFile(
  { run }: KnownRun,
  results: readonly ShardResult[],
  { flags, runtime, program }: Call<CollectFlags>,
): Promise<string | null> {
  const { collectRejects } = await import('../../jobs/rejects.js');
  const within = await commandWithin(run.argv, { program, runtime });
  const files = results.flatMap(({ rejectsFile }) => rejectsFile ?? []);
  const named = within.flags.rejects ?? `${within.files[0] ?? run.command}.rejects.ndjson`;
  const target = flags.output ?? path.resolve(run.cwd, named);
  const count = await collectRejects(files, within.files, path.resolve(runtime.cwd, target));
  return count === 0 ? null : target;
}

/** Puts the slices of an export together; returns the name that was given for it. Throws E-USAGE, E-OUTPUT-EXISTS. */
async function collectExport(
  { run }: KnownRun,
  results: readonly ShardResult[],
  { flags, runtime, program, settings }: Call<CollectFlags>,
): Promise<string> {
  const { collectSlices } = await import('../../jobs/export/merge-shards.js');
  const { flags: asked } = await commandWithin(run.argv, { program, runtime });
  const today = { zone: zoneOf(run.timezone ?? 'UTC'), now: runtime.now() };
  // The name that is given now says the format, else what was asked for.
  const { format: _, ...how } = asked;
  const [template, wanted] =
    flags.output === undefined
      ? [datedOutput(asked.output, today) ?? '', asked]
      : [flags.output, how];
  if (isStdout(template)) {
    throw new EngagectlError('E-USAGE', 'what a fleet exported is put together in files', {
      why: 'standard output was named, and its slices are joined on the disk',
      fix: 'name a file: --output <file>',
    });
  }
  refuseFormat(template, wanted, jobWords);
  const base = flags.output === undefined ? run.cwd : runtime.cwd;
  const overwrite = flags.overwrite === true || asked.overwrite === true;
  const documents = [...slicesByFile(run, results, { asked, template, today })].map(
    ([file, slices]) => {
      const options = outputOf(path.resolve(base, file), wanted, jobWords.option);
      return { options: { ...options, overwrite }, slices };
    },
  );
  await collectSlices(documents, { runtime, said: messages(settings(), runtime) });
  return template;
}

/** Throws E-FILE-READ where one is gone. */
function slicesByFile(
  { range }: FleetRun,
  results: readonly ShardResult[],
  { asked, template, today }: { asked: FlagsWithin; template: string; today: Today },
): Map<string, string[]> {
  const { event = [], split = true } = asked;
  const events = typeof event === 'string' ? [event] : event;
  const plan = planEvents(dateRange(range!, today, jobWords), { event: events, split }, template);
  const files = new Map<string, string[]>();
  for (const [at, { file = '' }] of plan.entries()) {
    const slice = results[at]?.output;
    if (slice === undefined || slice === null || !existsSync(slice)) {
      throw new EngagectlError('E-FILE-READ', `the slice of shard ${at + 1} is not there`, {
        why: `${slice ?? 'it'} is missing in the work folder`,
        fix: 'submit the run again to another work folder',
      });
    }
    files.set(file, [...(files.get(file) ?? []), slice]);
  }
  return files;
}

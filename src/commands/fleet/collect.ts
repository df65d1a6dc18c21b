import path from 'node:path';
import { EngagectlError, exitCodes, mostSerious } from '../../errors.js';
import { messages, type Messages } from '../../ui/messages.js';
import { showSummary, type Summary } from '../../ui/summary.js';
import { runNamed, withQueue } from './fleet-flags.js';
import { collectExport } from './collect-export.js';
import { commandWithin } from './nested-command.js';
import type { FleetCommand, ShardResult } from '../../fleet/fleet-run.js';
import type { KnownRun } from '../../fleet/run-status.js';
import type { ReportedShard } from '../../ui/report/fleet-page.js';
import type { Call } from '../shared/command-spec.js';
import type { CollectFlags } from './command.js';

/** `fleet collect`: one summary, one rejects file, the files of an export. */
export async function collect(call: Call<CollectFlags>): Promise<void> {
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

import { existsSync } from 'node:fs';
import path from 'node:path';
import { EngagectlError, exitCodes, mostSerious } from '../../errors.js';
import type { CollectedFile } from '../../fleet/collect-slices.js';
import type { FleetCommand, ShardResult } from '../../fleet/fleet-run.js';
import type { KnownRun } from '../../fleet/run-status.js';
import { dateRange } from '../../jobs/date-range.js';
import { datedOutput } from '../../jobs/dated-output.js';
import { planEvents } from '../../jobs/export-events-job.js';
import { messages } from '../../ui/messages.js';
import { showSummary } from '../../ui/summary.js';
import { zoneOf } from '../../zone.js';
import type { Call } from '../command-spec.js';
import { jobWords } from '../job-words.js';
import { runNamed, withQueue, type RunFlags } from './fleet-flags.js';
import { commandWithin } from './command-within.js';

export interface CollectFlags extends RunFlags {
  readonly output?: string;
  readonly overwrite?: true;
}

/** `fleet collect`: one summary, one rejects file, the files of an export. */
export async function collect(call: Call<CollectFlags>): Promise<void> {
  await withQueue(call, async (store) => collectRun(await runNamed(store, call), call));
}

async function collectRun(known: KnownRun, call: Call<CollectFlags>): Promise<void> {
  const { runtime } = call;
  const { run } = known;
  const results = resultsOf(known);
  const { figuresOf } = await import('../../fleet/run-status.js');
  const isExport = run.command === 'export-events';
  const output = isExport ? await putTogether(known, results, call) : null;
  const rejectsFile = isExport ? null : await oneRejectsFile(known, results, call);
  const exitCode = mostSerious(results.map((result) => result.exitCode));
  const { requests = 0, retries = 0, throttled: _, ...figures } = figuresOf(known);
  const settings = call.settings();
  await showSummary(
    {
      command: run.command,
      run: run.run,
      profile: run.profile ?? null,
      region: run.region ?? run.host,
      accountId: run.accountId,
      ...figures,
      requests,
      retries,
      seconds: Math.max(0, ...results.map(({ seconds }) => seconds)),
      rejectsFile,
      output,
      exitCode,
    },
    {
      settings,
      runtime,
      messages: messages(settings, runtime),
      recordsOnStdout: false,
      nouns: nouns[run.command],
    },
  );
  if (exitCode === exitCodes.ok) return;
  const isUnknown = exitCode === exitCodes.unknown;
  throw new EngagectlError(isUnknown ? 'E-UNKNOWN' : 'E-REJECTED', `not every record got through`, {
    fix: rejectsFile === null ? undefined : `${rejectsFile} says where and why`,
  });
}

const nouns: Readonly<Record<FleetCommand, string>> = {
  upload: 'records',
  subscribe: 'statuses',
  demerge: 'identities',
  'export-events': 'events',
};

/** Throws E-RUN-UNFINISHED where a shard has no result. */
function resultsOf({ run, folder }: KnownRun): ShardResult[] {
  const indexes = Array.from({ length: run.shards }, (_, at) => at + 1);
  const results = indexes.flatMap((index) => folder.result({ index, count: run.shards }) ?? []);
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
  const { collectRejects } = await import('../../fleet/collect-rejects.js');
  const within = await commandWithin(run.argv, { program, runtime });
  const files = results.flatMap(({ rejectsFile }) => rejectsFile ?? []);
  const named = within.flags.rejects ?? `${within.files[0] ?? run.command}.rejects.ndjson`;
  const target = flags.output ?? path.resolve(run.cwd, named);
  const count = await collectRejects(files, within.files, path.resolve(runtime.cwd, target));
  return count === 0 ? null : target;
}

async function putTogether(
  { run }: KnownRun,
  results: readonly ShardResult[],
  { flags, runtime, program }: Call<CollectFlags>,
): Promise<string> {
  const { collectSlices } = await import('../../fleet/collect-slices.js');
  const { flags: asked } = await commandWithin(run.argv, { program, runtime });
  const { event = [], split = true } = asked;
  const today = { zone: zoneOf(run.timezone ?? 'UTC'), now: runtime.now() };
  const range = dateRange(run.range!, today, jobWords);
  const template = flags.output ?? datedOutput(asked.output, today) ?? '';
  const events = typeof event === 'string' ? [event] : event;
  const base = flags.output === undefined ? run.cwd : runtime.cwd;
  const files = new Map<string, string[]>();
  for (const [at, { file = '' }] of planEvents(
    range,
    { event: events, split },
    template,
  ).entries()) {
    const slice = results[at]?.output;
    if (slice === undefined || slice === null || !existsSync(slice)) {
      throw new EngagectlError('E-FILE-READ', `the slice of shard ${at + 1} is not there`, {
        why: `${slice ?? 'it'} is missing in the work folder`,
        fix: 'submit the run again to another work folder',
      });
    }
    const target = path.resolve(base, file);
    files.set(target, [...(files.get(target) ?? []), slice]);
  }
  const collected: CollectedFile[] = [...files].map(([target, slices]) => ({ target, slices }));
  await collectSlices(collected, flags.overwrite === true || asked.overwrite === true);
  return template;
}

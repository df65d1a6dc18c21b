import path from 'node:path';
import { existsSync } from 'node:fs';
import { EngagectlError } from '../../errors.js';
import { dateRange, datedOutput, type Today } from '../../jobs/date-range.js';
import { planEvents } from '../../jobs/export/export-events.js';
import { isStdout, outputOf, refuseFormat } from '../../jobs/output-options.js';
import { messages } from '../../ui/messages.js';
import { zoneOf } from '../../time-zone.js';
import { jobWords } from '../shared/job-context.js';
import { commandWithin, type FlagsWithin } from './nested-command.js';
import type { FleetRun, ShardResult } from '../../fleet/fleet-run.js';
import type { KnownRun } from '../../fleet/run-status.js';
import type { Call } from '../shared/command-spec.js';
import type { CollectFlags } from './command.js';

/** Puts the slices of an export together; returns the name that was given for it. Throws E-USAGE, E-OUTPUT-EXISTS. */
export async function collectExport(
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

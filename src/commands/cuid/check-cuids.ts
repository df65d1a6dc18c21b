import {
  checkCuids,
  type CheckCuidsHooks,
  type CheckCuidsOptions,
} from '../../jobs/cuid/check-cuids-job.js';
import { openLines } from '../../jobs/stdout-lines.js';
import { inertJson } from '../../ui/inert.js';
import type { Call } from '../command-spec.js';
import { needInput } from '../flags/input-flags.js';
import { jobWords } from '../job/job-words.js';
import { runJob } from '../job/run-job.js';
import { shownWrite } from '../job/shown-write.js';

export type CheckFlags = Omit<CheckCuidsOptions, 'files'>;

/** `cuid check`: what was found goes to stdout line by line, or with --json the summary alone. */
export async function runCheck(call: Call<CheckFlags>): Promise<void> {
  const { operands: files, flags, runtime } = call;
  needInput(files, call);
  const settings = call.settings();
  const write = settings.json ? undefined : openLines(runtime, jobWords);
  const found: CheckCuidsHooks['found'] =
    write && ((rows) => write(rows.map((row) => `${inertJson(row)}\n`).join('')));
  await runJob(
    {
      name: 'cuid check',
      flags: {},
      files: [],
      concurrency: 1,
      nouns: 'rows',
      reads: !settings.json,
      job: (world, hooks) =>
        checkCuids({ ...flags, files }, world, { ...hooks, ...(found && { found }) }),
      shown: shownWrite,
    },
    settings,
    runtime,
  );
}

import { runCalls, type RunCallsOptions } from '../../jobs/calling/run-calls.js';
import { needInput } from '../flags/input-flags.js';
import { runJob } from '../shared/run-job.js';
import { EventLines, stoppedWith } from './event-lines.js';
import { withCalling, type CallingFlags } from './calling-system.js';
import type { Call } from '../shared/command-spec.js';

export type RunFlags = Omit<RunCallsOptions, 'files'> & CallingFlags;

/** `call run`: an outcome a line on stdout, or with --json the summary alone. */
export async function runScript(call: Call<RunFlags>): Promise<void> {
  const { operands: files, flags, runtime } = call;
  needInput(files, call);
  const settings = call.settings();
  const lines = new EventLines(runtime);
  const outcome = settings.json ? undefined : lines.put;
  await runJob(
    {
      name: 'call run',
      flags: {},
      concurrency: flags.concurrency,
      nouns: 'calls',
      reads: !settings.json,
      stopping: 'stopping: calls are hung up; again leaves at once',
      job: async (world, hooks) =>
        withCalling(call, async (calling) => {
          const stopped = { ...world, runtime: stoppedWith(runtime, lines) };
          const heard = { ...hooks, ...(outcome && { outcome }) };
          try {
            return await runCalls({ ...flags, files }, calling, stopped, heard);
          } finally {
            await lines.flushed();
          }
        }),
    },
    settings,
    runtime,
  );
}

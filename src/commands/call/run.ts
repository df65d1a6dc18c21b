import { runCalls, type RunCallsOptions } from '../../jobs/calling/run-calls.js';
import { inputOptions, needInput } from '../flags/input-flags.js';
import { integer } from '../flags/value-parsers.js';
import { runJob } from '../shared/run-job.js';
import {
  EventLines,
  stoppedWith,
  callingOptions,
  withCalling,
  type CallingFlags,
} from './calling-system.js';
import type { Call, CommandSpec } from '../shared/command-spec.js';

type RunFlags = Omit<RunCallsOptions, 'files'> & CallingFlags;

export const run: CommandSpec<RunFlags> = {
  summary: 'make the calls of a script, and compare how they end',
  description:
    'Makes a call for each row, both phones in this process: an acceptance test of an environment. Columns: caller, ' +
    'callee, context; if need be callee_does (answer, decline, ignore, no-microphone, notifications-off, absent), ' +
    'expect (the last event, or the name of an error), answer_after, hangup_after, cancel_after. An outcome a line on ' +
    'stdout; exit code 3 when a call did not go as expected.',
  operands: [['[file...]', 'CSV, TSV, NDJSON or JSON, each also .gz; - reads stdin']],
  examples: `
    # every call of a script, against the local router
    engagectl call run calls.csv --region local
    # in CI: one summary object, twenty calls at once
    engagectl call run calls.csv --concurrency 20 --json --region local
  `,
  options: [
    'Options:',
    [
      '--concurrency <n>',
      'most calls at once',
      { parse: integer({ min: 1, max: 200 }), default: 10 },
    ],
    [
      '--rejects <file>',
      'where rows go that did not go as expected (default: beside the first input)',
    ],
    ...callingOptions,
    ...inputOptions,
  ],
  run: runScript,
};

/** `call run`: an outcome a line on stdout, or with --json the summary alone. */
async function runScript(call: Call<RunFlags>): Promise<void> {
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

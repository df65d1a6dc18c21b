import { inputFormatsText } from '../../contract/file-formats.js';
import { runCalls, type RunCallsOptions } from '../../jobs/calling/run-calls.js';
import { inputOptions, requireInput } from '../flags/input-flags.js';
import { integer } from '../flags/value-parsers.js';
import { runJob } from '../shared/run-job.js';
import {
  EventStream,
  stopWithOutput,
  callingOptions,
  withCallingSystem,
  type CallingFlags,
} from './calling-system.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';

type CallScriptFlags = Omit<RunCallsOptions, 'files'> & CallingFlags;

export const run: CommandSpec<CallScriptFlags> = {
  summary: 'place the calls of a script and compare how they end',
  description:
    'Places a call for each row, with both phones in this process, to test an environment. Columns: ' +
    'caller, callee, context; optional: callee_does (answer, decline, ignore, no-microphone, ' +
    'notifications-off, absent, external: an app under test answers), expect (the last event, or the name of an error), answer_after, ' +
    'hangup_after, cancel_after. Prints one outcome per line on stdout; exit code 3 if a call did ' +
    'not end as expected.',
  operands: [['[file...]', `${inputFormatsText}; - reads stdin`]],
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
      'maximum simultaneous calls',
      { parse: integer({ min: 1, max: 200 }), default: 10, common: true },
    ],
    [
      '--rejects <file>',
      'file for rows that did not end as expected (default: next to the first input)',
      { common: true, writes: true },
    ],
    ...callingOptions,
    ...inputOptions,
  ],
  run: runScript,
};

/** Runs `call run`: prints one outcome per line on stdout, or only the summary with --json. */
async function runScript(call: Invocation<CallScriptFlags>): Promise<void> {
  const { operands: files, flags, runtime } = call;
  requireInput(files, call);
  const settings = call.settings();
  const lines = new EventStream(runtime);
  const outcome = settings.json ? undefined : lines.put;
  await runJob(
    {
      name: 'call run',
      flags: {},
      concurrency: flags.concurrency,
      verb: 'as expected:',
      nouns: 'calls',
      reads: !settings.json,
      stopping: 'stopping: hanging up all calls; press again to exit at once',
      job: async (context, hooks) =>
        withCallingSystem(call, async (calling) => {
          const stopped = { ...context, runtime: stopWithOutput(runtime, lines) };
          const allHooks = { ...hooks, ...(outcome && { outcome }) };
          try {
            return await runCalls({ ...flags, files }, calling, stopped, allHooks);
          } finally {
            await lines.flushed();
          }
        }),
    },
    settings,
    runtime,
  );
}

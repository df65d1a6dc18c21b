import path from 'node:path';
import { inputFormatsText } from '../../contract/file-formats.js';
import { runCalls, type CallOutcome, type RunCallsOptions } from '../../jobs/calling/run-calls.js';
import { EngagectlError } from '../../errors.js';
import { inputOptions, requireInput } from '../flags/input-flags.js';
import { integer, nonEmpty, rejectsFile } from '../flags/value-parsers.js';
import { runJob } from '../shared/run-job.js';
import {
  EventStream,
  stopWithOutput,
  callingOptions,
  withCallingSystem,
  type CallingFlags,
} from './calling-system.js';
import type { Runtime } from '../../runtime.js';
import type { Invocation, CommandSpec } from '../shared/command-spec.js';

type CallScriptFlags = Omit<RunCallsOptions, 'files'> & CallingFlags & { readonly junit?: string };

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
    # in CI: one summary object, a report for its test view
    engagectl call run calls.csv --json --junit calls.xml --region local
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
      { parse: rejectsFile, common: true, writes: true },
    ],
    [
      '--junit <file>',
      'file for a JUnit report, one test case per row; replaced if it exists',
      { parse: nonEmpty, common: true, writes: true },
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
  const outcomes: CallOutcome[] = [];
  const outcome = (one: CallOutcome) => {
    if (!settings.json) lines.put(one);
    if (flags.junit !== undefined) outcomes.push(one);
  };
  const writeReport =
    flags.junit === undefined ? undefined : await openJunitFile(flags.junit, runtime);
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
          const called = { ...hooks, outcome };
          const running = runCalls({ ...flags, files }, calling, stopped, called);
          const failure = running.then(
            ({ error }) => error,
            (error: unknown) => error,
          );
          try {
            return await running;
          } finally {
            writeReport?.(outcomes, await failure);
            await lines.flushed();
          }
        }),
    },
    settings,
    runtime,
  );
}

/**
 * Checks that a JUnit report can be written (E-FILE-WRITE), and returns the function that writes it. A failure that
 * stopped the script is an error in the report, which would otherwise show a script of which half was run as passed.
 */
async function openJunitFile(
  name: string,
  runtime: Runtime,
): Promise<(outcomes: readonly CallOutcome[], failure: unknown) => void> {
  const [{ html: xml }, { unwritablePathError }, { checkWritablePath }, { replaceFile }] =
    await Promise.all([
      import('../../ui/report/html.js'),
      import('../../files/file-errors.js'),
      import('../../files/path-checks.js'),
      import('../../files/atomic-write.js'),
    ]);
  const file = path.resolve(runtime.cwd, name);
  const place = { name, what: 'the JUnit report', option: '--junit <file>' };
  checkWritablePath(file, place, runtime);
  return (outcomes, failure) => {
    const id = failure instanceof EngagectlError ? failure.id : 'E-DEFECT';
    const stopped =
      failure !== undefined && id !== 'E-REJECTED'
        ? xml`<testcase classname="engagectl call run" name="all rows" time="0"><error message="${id}: the run stopped before all rows were done"/></testcase>\n`
        : undefined;
    const inOrder = outcomes.toSorted(
      (a, b) => a.source.localeCompare(b.source) || a.line - b.line,
    );
    const cases = inOrder.map(({ source, line, caller, callee, seconds = 0, error }) => {
      const call = caller === undefined ? '' : `: ${caller} calls ${callee ?? ''}`;
      const failure = error === undefined ? undefined : xml`<failure message="${error}"/>`;
      return xml`<testcase classname="${source}" name="line ${line}${call}" time="${seconds}">${failure}</testcase>\n`;
    });
    const failures = outcomes.filter(({ error }) => error !== undefined).length;
    const errors = stopped ? 1 : 0;
    const suite = xml`<testsuite name="engagectl call run" tests="${outcomes.length + errors}" failures="${failures}" errors="${errors}">\n${cases}${stopped}</testsuite>\n`;
    try {
      const text = suite.text.replaceAll(/[\ufffe\uffff]/g, '\ufffd'); // XML allows neither
      replaceFile(file, `<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
    } catch (cause) {
      throw unwritablePathError(file, place, cause);
    }
  };
}

import { exitCodes, type EngagectlError } from '../errors.js';
import type { JobEnding, JobHooks } from '../jobs/job-hooks.js';
import type { RunResult, WriteResult } from '../jobs/results.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress, type Progress as Display } from '../ui/progress.js';
import type { ProgressState } from '../ui/progress-text.js';
import { openReport } from '../ui/report/report-file.js';
import { showSummary } from '../ui/summary.js';
import { accountFields, jobWorld, type CommandWorld } from './job-world.js';
import { isStdout, type ReportFlag } from './output-flags.js';
import type { Settings } from './settings.js';
import { showRejects } from './show-rejects.js';

type AnyResult = RunResult & Partial<Pick<WriteResult, 'done' | 'stopped'>>;

/** A job as the command line asks for it. */
export interface JobCommand<Result extends AnyResult, Progress> {
  readonly name: string;
  readonly flags: ReportFlag & { readonly output?: string };
  /** Other files of the run, which the report must not replace. */
  readonly files: readonly (string | undefined)[];
  /** Most requests in flight. */
  readonly concurrency: number;
  /** Records are written, to --output or to standard output. */
  readonly reads: boolean;
  readonly job: (world: CommandWorld, hooks: JobHooks<Result, Progress>) => Promise<Result>;
  readonly shown: (progress: Progress) => Omit<ProgressState, 'label'>;
  /** What the command ends with, where it says more than the job's own error. */
  readonly judged?: (error: EngagectlError, world: CommandWorld) => EngagectlError;
  /** False: no figures, but with --json. */
  readonly figures?: boolean;
  /** Said at once to a person who presses Ctrl-C. */
  readonly stopping?: string;
  /** Says how to go on after an error. */
  readonly advise?: (error: EngagectlError, result: Result, said: Messages) => void;
}

/** Runs a job from its flags to its summary. Throws what the command must end with. */
export async function runJob<Result extends AnyResult, Progress>(
  command: JobCommand<Result, Progress>,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { name, flags, stopping } = command;
  const said = messages(settings, runtime);
  const report = await openReport(flags.report, command.files, runtime);
  const world = jobWorld(settings, runtime, { maxInFlight: command.concurrency, messages: said });
  const recordsOnStdout = command.reads && isStdout(flags.output);
  const sayStopping = () => stopping !== undefined && said.note(stopping);
  let display: Display | undefined;
  const stopShowing = () => {
    display?.stop();
    runtime.signal.removeEventListener('abort', sayStopping);
  };
  let error: EngagectlError | undefined;

  const tell = async ({ result, told, history, wasResumed }: JobEnding<Result>) => {
    if (told) showRejects(told, said, { settings, runtime });
    const { error: found, stopped, unfinished, run, done: _, accountId: _id, ...figures } = result;
    const judged = found && (command.judged?.(found, world) ?? found);
    if (stopped && judged !== stopped) said.warn(stopped.message);
    const summary = { command: name, run, ...accountFields(world), ...figures };
    const unreported = await report?.(
      {
        summary,
        error: judged,
        next: unfinished ? `engagectl runs resume ${run}` : undefined,
        argv: settings.argv,
        resumed: wasResumed,
        history: history!,
        rejectKinds: told?.samples.kinds ?? new Map(),
      },
      said,
    );
    error = unreported ?? judged;
    const exitCode = error?.exitCode ?? exitCodes.ok;
    // A reader of stdout that left wants nothing more, not even figures.
    const isWanted =
      exitCode !== exitCodes.closedPipe && (command.figures !== false || settings.json);
    if (isWanted) {
      const place = { settings, runtime, messages: said, recordsOnStdout };
      await showSummary({ ...summary, exitCode }, place);
    }
    return unreported === undefined && (command.reads || (await isWritten(runtime)));
  };

  try {
    const result = await command.job(world, {
      history: report !== undefined,
      begun: (read, first) => {
        runtime.signal.addEventListener('abort', sayStopping, { once: true });
        const label = first === undefined ? name : `${name} ${first}`;
        const shown = () => ({ label, ...command.shown(read()) });
        display = startProgress(shown, { ...settings, recordsOnStdout }, runtime);
      },
      ended: async (ending) => {
        stopShowing();
        return tell(ending);
      },
    });
    if (error) command.advise?.(error, result, said);
  } finally {
    stopShowing();
  }
  if (error) throw error;
}

/**
 * False when stdout did not take the summary of a write. Then the run is kept: who reads exit code 9
 * and goes on with --resume must not have all of it sent once more.
 */
const isWritten = async ({ stdout }: Runtime): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write('', (error) => resolve(!error));
  });

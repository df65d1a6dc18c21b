import { EngagectlError, exitCodes, sourceLine } from '../../errors.js';
import { messagePrinter, type Messages } from '../../ui/messages.js';
import { maskError, rejectText } from '../../ui/mask.js';
import { startProgress, type Progress as Display, type ProgressState } from '../../ui/progress.js';
import { openReport, type WriteReport } from '../../ui/report/report-file.js';
import { showSummary } from '../../ui/summary.js';
import {
  accountFields,
  jobContext,
  cliAdvice,
  type CommandContext,
  type FollowUpCommands,
} from './job-context.js';
import { isStdout } from '../../jobs/output-options.js';
import { grouped } from '../../ui/format.js';
import { annotateRejects, type AnnotationContext } from '../../ui/github-actions.js';
import type {
  JobEnding,
  JobHooks,
  RejectSummary,
  JobProgress,
  RunResult,
  WriteResult,
} from '../../jobs/job-results.js';
import type { Rehearsal } from '../../jobs/job-options.js';
import type { Runtime } from '../../runtime.js';
import type { ReportFlag } from '../flags/output-flags.js';
import type { GlobalOptions } from './global-options.js';

type AnyResult = RunResult & Partial<Pick<WriteResult, 'done' | 'stopped'>>;

/** A job as requested on the command line. */
interface JobCommand<Result extends AnyResult> extends FollowUpCommands {
  readonly name: string;
  readonly flags: ReportFlag & { readonly output?: string };
  /** Input files. */
  readonly files?: readonly string[];
  /** Verb of the summary in the past tense, like `exported`. */
  readonly verb: string;
  /** Noun for the records, like `users`. */
  readonly nouns: string;
  /** Set if nothing is changed (`--check`, `--dry-run`). */
  readonly rehearsal?: Rehearsal | undefined;
  /** Suggested command after success. */
  readonly next?: string | undefined;
  /** Maximum requests in flight; default 1. */
  readonly concurrency?: number;
  /** Writes records to --output or to standard output. */
  readonly reads: boolean;
  readonly job: (context: CommandContext, hooks: JobHooks<Result>) => Promise<Result>;
  /** For exports: noun for the parts with a cursor each, like `days`. */
  readonly parts?: string;
  /** Replaces the error of the job by one that explains more. */
  readonly refineError?: (error: EngagectlError, context: CommandContext) => EngagectlError;
  /** False: prints figures with --json only. */
  readonly figures?: boolean;
  /** Message printed immediately on Ctrl-C. */
  readonly stopping?: string;
  /** Prints how to continue after an error. */
  readonly advise?: (error: EngagectlError, result: Result, messages: Messages) => void;
}

/** Runs a job from its flags to its summary. Throws the error that the command ends with. */
export async function runJob<Result extends AnyResult>(
  command: JobCommand<Result>,
  settings: GlobalOptions,
  runtime: Runtime,
): Promise<void> {
  const { name, flags, stopping, again, settle } = command;
  const messages = messagePrinter(settings, runtime);
  logFlags(name, flags, messages);
  const report = await openReport(flags.report, runtime);
  const context = jobContext(settings, runtime, {
    maxInFlight: command.concurrency ?? 1,
    messages,
    again,
    settle,
  });
  const recordsOnStdout = command.reads && isStdout(flags.output);
  const sayStopping = () => stopping !== undefined && messages.note(stopping);
  let display: Display | undefined;
  const stopShowing = () => {
    display?.stop();
    runtime.signal.removeEventListener('abort', sayStopping);
  };
  const saying = { context, messages, report, settings, runtime, recordsOnStdout };
  let error: EngagectlError | undefined;
  try {
    const result = await command.job(context, {
      history: report !== undefined,
      started: (read, first) => {
        runtime.signal.addEventListener('abort', sayStopping, { once: true });
        const label = first === undefined ? name : `${name} ${first}`;
        const state = () => stateOf(read(), label, command.parts);
        display = startProgress(state, { ...settings, recordsOnStdout }, runtime);
      },
      ended: async (ending) => {
        stopShowing();
        const reported = await reportEnd(command, ending, saying);
        error = reported.error;
        // A script that reacts to exit code 9 with --resume must not resend everything.
        return reported.isReported && (command.reads || reported.isTaken);
      },
    });
    if (error) command.advise?.(error, result, messages);
  } finally {
    stopShowing();
  }
  if (error) throw error;
}

function stateOf(
  { read: _, slices: [done, all] = [0, 0], ...progress }: JobProgress,
  label: string,
  parts = 'days',
): ProgressState {
  return { label, ...progress, days: all > 1 ? `${done} of ${all} ${parts}` : undefined };
}

interface JobOutput {
  readonly context: CommandContext;
  readonly messages: Messages;
  readonly report: WriteReport | undefined;
  readonly settings: GlobalOptions;
  readonly runtime: Runtime;
  readonly recordsOnStdout: boolean;
}

/** Prints rejects, report and summary; `error` is the error that the command ends with. */
async function reportEnd<Result extends AnyResult>(
  { name, flags, rehearsal, ...command }: JobCommand<Result>,
  { result, rejectSummary, history, wasResumed }: JobEnding<Result>,
  { context, messages, report, settings, runtime, recordsOnStdout }: JobOutput,
) {
  if (rejectSummary) showRejects(rejectSummary, messages, { settings, runtime });
  const { error: found, stopped, unfinished, run, done: _, accountId: _id, ...figures } = result;
  const refined = found && (command.refineError?.(found, context) ?? found);
  if (stopped && refined !== stopped) messages.warn(stopped.message, {}, stopped.details);
  const summary = {
    command: name,
    ...(rehearsal && { rehearsal }),
    run,
    ...accountFields(context),
    ...figures,
    ...(flags.report !== undefined && { report: flags.report }),
  };
  const unreported = await report?.(
    {
      summary,
      error: maskError(refined, settings),
      settings,
      next: unfinished ? context.words.resumeRun(run) : undefined,
      argv: settings.argv,
      resumed: wasResumed,
      history: history!,
      rejectKinds: rejectSummary?.samples.kinds ?? new Map(),
    },
    messages,
  );
  const resumeHint = unfinished ? resumeAdvice(command.files, run) : undefined;
  const error = unreported ?? (refined && withResumeAdvice(refined, resumeHint));
  const exitCode = error?.exitCode ?? exitCodes.ok;
  // No figures if the reader of stdout has gone, or for a wrong argument.
  const hasFigures = command.figures !== false && exitCode !== exitCodes.usage;
  const printsSummary = exitCode !== exitCodes.closedPipe && (hasFigures || settings.json);
  let isTaken = true;
  if (printsSummary) {
    const { verb, nouns, next } = command;
    const words = { verb, nouns, next };
    const place = { settings, runtime, messages, recordsOnStdout, ...words, unfinished };
    isTaken = await showSummary({ ...summary, exitCode }, place);
  }
  return { error, isReported: unreported === undefined, isTaken };
}

export const sameCommandResumes = 'rerun the same command with --resume';

/**
 * Returns how to resume a run. Piped input requires the producer to run again; an export is found by its
 * output.
 */
export const resumeAdvice = (files: readonly string[] = [], run: string): string =>
  files.length === 0 || files.includes('-') ? sameCommandResumes : cliAdvice.resumeRun(run);

/** Whether an error itself states how to resume its run. */
export const hasResumeAdvice = ({ details }: EngagectlError): boolean => details.resumes === true;

/** Adds how to resume to an interruption; it depends on the job. */
function withResumeAdvice(error: EngagectlError, resumeHint: string | undefined): EngagectlError {
  const { id, message, details, exitCode } = error;
  const advised = (fix: string): EngagectlError =>
    new EngagectlError(id, message, { ...details, fix, resumes: resumeHint !== undefined });
  const longer = patienceFlags[id];
  if (resumeHint !== undefined && longer !== undefined)
    return advised(`later, ${resumeHint}; ${longer}`);
  if (id === 'E-UNKNOWN' && resumeHint && details.fix !== undefined && !hasResumeAdvice(error))
    return advised(`${details.fix}; to send the rest: ${resumeHint}`);
  if (!stops.has(exitCode) || details.fix !== undefined) return error;
  return advised(resumeHint ?? 'rerun the same command: there is nothing to resume');
}

/** Flags that allow the service more time, by command. */
const patienceFlags: Readonly<Partial<Record<string, string>>> = {
  'E-UNAVAILABLE': '--max-attempts and --retry-for allow more time',
  'E-PENDING': '--pending-timeout waits longer',
};

const stops = new Set<number>([exitCodes.interrupted, exitCodes.terminated, exitCodes.hungUp]);

/** Rejects shown on the screen. */
const maxListedRejects = 5;

/** Shows the first rejects, then a count by kind. */
function showRejects(
  { samples: { first, kinds }, rejects }: RejectSummary,
  messages: Messages,
  context: AnnotationContext,
): void {
  const annotated = annotateRejects(first, context);
  const listed = annotated ? first : first.slice(0, maxListedRejects);
  if (!annotated) {
    for (const reject of listed) {
      const { source: file, line, kind, code } = reject;
      messages.warn(`${sourceLine(file, line)}: ${kind}: ${rejectText(reject, context.settings)}`, {
        file,
        line,
        code,
      });
    }
  }
  const total = [...kinds.values()].reduce((sum, { count }) => sum + count, 0);
  if (total > listed.length) {
    const each = [...kinds].map(([kind, { count }]) => `${grouped(count)} ${kind}`).join(', ');
    messages.warn(
      `${grouped(total)} records${rejects.exists ? ` in ${rejects.path}` : ''}: ${each}`,
    );
  }
  if (rejects.missing > 0) {
    messages.warn(`${grouped(rejects.missing)} of them could not be saved in ${rejects.path}`);
  }
}

/** Logs the values of a command's own flags, given or default, as they could be typed. */
function logFlags(command: string, flags: object, messages: Messages): void {
  const known = Object.entries(flags).flatMap(([name, value]: [string, unknown]) => {
    const isPlain = typeof value === 'string' || typeof value === 'number';
    return isPlain ? cliAdvice.option(name, String(value)) : [];
  });
  messages.verbose([command, ...known].join(' '), { flags });
}

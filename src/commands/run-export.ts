import { exitCodes, type EngagectlError } from '../errors.js';
import type { ExportHooks } from '../jobs/perform-export.js';
import type { ExportProgress, ExportResult } from '../jobs/results.js';
import type { World } from '../jobs/world.js';
import type { Runtime } from '../runtime.js';
import { bytesText, grouped } from '../ui/figures.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress, type Progress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import type { ExportFlags } from './export-flags.js';
import { accountFields, jobWorld } from './job-world.js';
import { isStdout } from './output-flags.js';
import { openReport } from '../ui/report/report-file.js';
import type { Settings } from './settings.js';

/** An export as the command line asks for it. */
export interface ExportCommand {
  readonly name: 'export-profiles' | 'export-events';
  readonly flags: ExportFlags;
  /** Most requests in flight. */
  readonly concurrency: number;
  readonly job: (world: World, hooks: ExportHooks) => Promise<ExportResult>;
}

/** Runs an export from its flags to its summary. Throws what the command must end with. */
export async function runExportCommand(
  { name, flags, concurrency, job }: ExportCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const said = messages(settings, runtime);
  const report = await openReport(flags.report, [flags.output], runtime);
  const connecting = { maxInFlight: concurrency, messages: said };
  const world = jobWorld(settings, runtime, connecting);
  let progress: Progress | undefined;
  let error: EngagectlError | undefined;
  try {
    const { unfinished } = await job(world, {
      history: report !== undefined,
      begun: (read) => {
        progress = startProgress(() => shown(name, read()), settings, runtime);
      },
      ended: async ({ result, history, wasResumed }) => {
        progress?.stop();
        const { error: judged, unfinished, run, accountId: _, ...figures } = result;
        const summary = { command: name, run, ...accountFields(world), ...figures };
        const unreported = await report?.(
          {
            summary,
            error: judged,
            next: unfinished ? `engagectl runs resume ${run}` : undefined,
            argv: settings.argv,
            resumed: wasResumed,
            history: history!,
            rejectKinds: new Map(),
          },
          said,
        );
        error = unreported ?? judged;
        const exitCode = error?.exitCode ?? exitCodes.ok;
        // A reader of stdout that left wants nothing more, not even figures.
        if (exitCode !== exitCodes.closedPipe) {
          const recordsOnStdout = isStdout(flags.output);
          const world = { settings, runtime, messages: said, recordsOnStdout };
          await showSummary({ ...summary, exitCode }, world);
        }
        return unreported === undefined;
      },
    });
    if (error) sayHowToGoOn({ error, unfinished, output: flags.output }, said);
  } finally {
    progress?.stop();
  }
  if (error) throw error;
}

function shown(label: string, progress: ExportProgress) {
  const { records, pages, bytesReceived, slices, slicesDone, note, milliseconds } = progress;
  const rate = `${bytesText((bytesReceived * 1000) / Math.max(milliseconds, 1))}/s`;
  const parts = [`${grouped(pages)} pages`, rate, ...(note === undefined ? [] : [note])];
  if (slices > 1) parts.unshift(`${slicesDone} of ${slices} days`);
  return {
    label,
    records,
    rejected: 0,
    bytes: bytesReceived,
    totalBytes: undefined,
    inFlight: 0,
    note: parts.join(', '),
  };
}

/** Other failures say themselves what to do about them. */
const passing = new Set<number>([
  exitCodes.credentials,
  exitCodes.unavailable,
  exitCodes.file,
  exitCodes.interrupted,
  exitCodes.terminated,
  exitCodes.hungUp,
]);

function sayHowToGoOn(
  ended: { error: EngagectlError; unfinished: boolean; output: string | undefined },
  said: Messages,
): void {
  if (!passing.has(ended.error.exitCode)) return;
  if (ended.unfinished) said.note('the same command with --resume goes on');
  else if (isStdout(ended.output)) {
    said.note('what goes to standard output cannot be resumed; --output <file> can');
  }
}

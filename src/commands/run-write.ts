import type { WriteEndpoint } from '../contract/endpoints.js';
import { exitCodes, type EngagectlError } from '../errors.js';
import type { WriteProgress, WriteResult } from '../jobs/results.js';
import type { WriteAbout, WriteEnding, WriteHooks, WriteRequest } from '../jobs/write-request.js';
import type { World } from '../jobs/world.js';
import type { Runtime } from '../runtime.js';
import { messages, type Messages } from '../ui/messages.js';
import { startProgress, type Progress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import type { Connection } from './connect.js';
import { accountFields, jobWorld, type CommandWorld } from './job-world.js';
import type { Settings } from './settings.js';
import { openReport, type WriteReport } from '../ui/report/report-file.js';
import { showRejects } from './show-rejects.js';
import type { WriteFlags } from './write-flags.js';

/** A write as the command line asks for it. */
export interface WriteCommand {
  readonly name: WriteEndpoint;
  readonly files: readonly string[];
  readonly flags: WriteFlags;
  readonly job: (request: WriteRequest, world: World, hooks: WriteHooks) => Promise<WriteResult>;
  /** Last chance to refuse, before the first request. */
  readonly confirm: (connection: Connection, about: WriteAbout) => Promise<void>;
}

/** Runs a write from its flags to its summary. Throws what the command must end with. */
export async function runWriteCommand(
  command: WriteCommand,
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const { name, files, flags } = command;
  const said = messages(settings, runtime);
  const report = await openReport(flags.report, [...files, flags.rejects], runtime);
  const world = jobWorld(settings, runtime, { maxInFlight: flags.concurrency, messages: said });
  const sayStopping = () => said.note(stopping);
  let progress: Progress | undefined;
  const stopShowing = () => {
    progress?.stop();
    runtime.signal.removeEventListener('abort', sayStopping);
  };
  let error: EngagectlError | undefined;
  try {
    await command.job(requestOf(files, flags), world, {
      history: report !== undefined,
      confirm: (about) => command.confirm(world.connection!, about),
      begun: (first, read) => {
        runtime.signal.addEventListener('abort', sayStopping, { once: true });
        progress = startProgress(() => shown(`${name} ${first}`, read()), settings, runtime);
      },
      ended: async (ending) => {
        stopShowing();
        const told = await tell(ending, { command, world, settings, said, report });
        ({ error } = told);
        return told.isWritten;
      },
    });
  } finally {
    stopShowing();
  }
  if (error) throw error;
}

const requestOf = (files: readonly string[], flags: WriteFlags): WriteRequest => ({
  ...flags,
  files,
  ...(flags.strict && { maxRejects: { records: 0 } }),
});

const shown = (label: string, { read, bytesRead, ...progress }: WriteProgress) => ({
  label,
  records: read,
  rejected: progress.rejected,
  bytes: bytesRead,
  totalBytes: progress.totalBytes,
  inFlight: progress.inFlight,
  note: undefined,
});

interface Telling {
  readonly command: WriteCommand;
  readonly world: CommandWorld;
  readonly settings: Settings;
  readonly said: Messages;
  readonly report: WriteReport | undefined;
}

/** Shows what a run came to; returns what the command ends with, and whether somebody knows. */
async function tell(ending: WriteEnding, { command, world, settings, said, report }: Telling) {
  const { result, history } = ending;
  const { error: judged, done: _done, stopped, unfinished, run, accountId: _, ...figures } = result;
  showRejects(ending, said, { settings, runtime: world.runtime });
  if (stopped && judged !== stopped) said.warn(stopped.message);
  const summary = { command: command.name, run, ...accountFields(world), ...figures };
  const unreported = await report?.(
    {
      summary,
      error: judged,
      next: unfinished ? `engagectl runs resume ${run}` : undefined,
      argv: settings.argv,
      resumed: ending.wasResumed,
      history: history!,
      rejectKinds: ending.rejectKinds,
    },
    said,
  );
  const error = unreported ?? judged;
  await showSummary(
    { ...summary, exitCode: error?.exitCode ?? exitCodes.ok },
    { settings, runtime: world.runtime, messages: said, recordsOnStdout: false },
  );
  return { error, isWritten: !unreported && (await isWritten(world.runtime)) };
}

/**
 * False when stdout did not take the summary. Then the run is kept: who reads exit code 9 and goes
 * on with --resume must not have all of it sent once more.
 */
const isWritten = async ({ stdout }: Runtime): Promise<boolean> =>
  new Promise((resolve) => {
    stdout.write('', (error) => resolve(!error));
  });

/** What a person who presses Ctrl-C is told at once. */
const stopping = 'stopping: requests in flight may finish (10 s at most); again leaves at once';

import { EngagectlError, exitCodes } from '../errors.js';
import { isSingle, lookUp, type LookUpEnding, type LookUpRequest } from '../jobs/look-up-job.js';
import type { WantedUsers } from '../jobs/open-users.js';
import { prettyJson, type ProfileSink } from '../jobs/profile-sink.js';
import type { OutputStream, Runtime } from '../runtime.js';
import { inertJsonText } from '../ui/inert.js';
import { messages } from '../ui/messages.js';
import { startProgress, type Progress } from '../ui/progress.js';
import { showSummary } from '../ui/summary.js';
import { accountFields, jobWorld, type CommandWorld } from './job-world.js';
import { isStdout } from './output-flags.js';
import type { Settings } from './settings.js';
import { showRejects } from './show-rejects.js';
import type { LookUpFlags } from './wanted-users.js';

/** Runs get-profile from its flags to its summary. Throws what the command must end with. */
export async function runLookUp(
  { users, flags }: { readonly users: WantedUsers; readonly flags: LookUpFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const said = messages(settings, runtime);
  const world = jobWorld(settings, runtime, { maxInFlight: flags.concurrency, messages: said });
  const single = isSingle(users);
  const onTerminal = isStdout(flags.output) && !flags.format && runtime.stdout.isTTY === true;
  const into = single && onTerminal ? terminalSink(runtime.stdout) : undefined;
  const request: LookUpRequest = { ...flags, users, into };
  let progress: Progress | undefined;
  let error: EngagectlError | undefined;
  try {
    await lookUp(request, world, {
      begun: (first, read) => {
        const state = () => {
          const { read: records, bytesRead: bytes, ...others } = read();
          return { label: `get-profile ${first}`, records, bytes, ...others, note: undefined };
        };
        progress = startProgress(state, settings, runtime);
      },
      ended: async (ending) => {
        progress?.stop();
        if (!single) showRejects(ending, said, { settings, runtime });
        error = single ? errorOfOne(users, ending, world) : ending.result.error;
        // One profile needs no figures for people; a reader of stdout that left wants none either.
        const exitCode = ending.result.exitCode;
        if (exitCode === exitCodes.closedPipe || (single && !settings.json)) return;
        const {
          error: _error,
          unfinished: _unfinished,
          run,
          accountId: _id,
          ...figures
        } = ending.result;
        const summary = { command: 'get-profile', run, ...accountFields(world), ...figures };
        const recordsOnStdout = isStdout(flags.output);
        await showSummary(summary, { settings, runtime, messages: said, recordsOnStdout });
      },
    });
  } finally {
    progress?.stop();
  }
  if (error) throw error;
}

/** A single profile on a terminal is indented. */
function terminalSink(stdout: OutputStream): ProfileSink {
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    warnings: [],
    write: (record) => {
      if (record) {
        const text = `${inertJsonText(prettyJson(record))}\n`;
        bytes += Buffer.byteLength(text);
        stdout.write(text);
      }
      return Promise.resolve();
    },
    finish: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

function errorOfOne(
  users: WantedUsers,
  { result: { error } }: LookUpEnding,
  { connection }: CommandWorld,
): EngagectlError | undefined {
  if (error?.id !== 'E-NOT-FOUND' || !('values' in users)) return error;
  const { accountId, region } = connection!.account;
  const who = `${users.by} ${JSON.stringify(users.values[0])}`;
  return new EngagectlError('E-NOT-FOUND', `no user has ${who}`, {
    why: `account ${accountId}, region ${region}`,
    fix: 'compare the spelling: identifiers are case-sensitive; perhaps it is another --region',
  });
}

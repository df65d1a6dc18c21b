import { EngagectlError } from '../../errors.js';
import {
  isSingle,
  lookUp,
  type LookUpRequest,
  type ProfileSink,
  type WantedUsers,
} from '../../jobs/get-profiles.js';
import { prettyJson } from '../../text/raw-json.js';
import { inertJsonText } from '../../ui/sanitize.js';
import { isStdout } from '../../jobs/output-options.js';
import { runJob } from '../shared/run-job.js';
import type { OutputStream, Runtime } from '../../runtime.js';
import type { CommandWorld } from '../shared/job-context.js';
import type { Settings } from '../shared/global-options.js';

export interface LookUpFlags extends Omit<LookUpRequest, 'users' | 'into'> {
  readonly concurrency: number;
}

/** Runs get-profile from its flags to its summary. Throws what the command must end with. */
export async function runLookUp(
  { users, flags }: { readonly users: WantedUsers; readonly flags: LookUpFlags },
  settings: Settings,
  runtime: Runtime,
): Promise<void> {
  const single = isSingle(users);
  const onTerminal = isStdout(flags.output) && !flags.format && runtime.stdout.isTTY === true;
  const into = single && onTerminal ? terminalSink(runtime.stdout) : undefined;
  const request: LookUpRequest = { ...flags, users, into };
  await runJob(
    {
      name: 'get-profile',
      flags,
      concurrency: flags.concurrency,
      nouns: 'users',
      reads: true,
      job: async (world, hooks) => lookUp(request, world, hooks),
      judged: (error, world) => (single ? errorOfOne(users, error, world) : error),
      // One profile needs no figures for people.
      figures: !single,
    },
    settings,
    runtime,
  );
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
  error: EngagectlError,
  { connection }: CommandWorld,
): EngagectlError {
  if (error.id !== 'E-NOT-FOUND' || !('values' in users)) return error;
  const { accountId, region } = connection!.account;
  const who = `${users.by} ${JSON.stringify(users.values[0])}`;
  return new EngagectlError('E-NOT-FOUND', `no user has ${who}`, {
    why: `account ${accountId}, region ${region}`,
    fix: 'compare the spelling: identifiers are case-sensitive; perhaps it is another --region',
  });
}

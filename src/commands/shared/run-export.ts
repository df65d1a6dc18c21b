import { compressions, parseFileName } from '../../contract/file-formats.js';
import { exitCodes, type EngagectlError } from '../../errors.js';
import { shellPath } from '../../wording.js';
import { isStdout } from '../../jobs/output-options.js';
import { runJob, sameCommandResumes, hasResumeAdvice } from './run-job.js';
import { resolveShard, type ShardFlags } from '../flags/shard-flags.js';
import type { Shard } from '../../jobs/job-options.js';
import type { ExportHooks } from '../../jobs/export/run-export.js';
import type { ExportResult } from '../../jobs/job-results.js';
import type { JobContext } from '../../jobs/job-context.js';
import type { Messages } from '../../ui/messages.js';
import type { Invocation } from './command-spec.js';
import type { ExportFlags } from '../flags/output-flags.js';

/** An export as requested on the command line. */
interface ExportCommand<Flags> {
  readonly name: 'export-profiles' | 'export-events';
  readonly concurrency: number;
  /** Noun for the parts with a cursor each, like `days`. */
  readonly parts: string;
  readonly job: (
    request: Omit<Flags, 'shard'> & { readonly shard?: Shard | undefined },
    context: JobContext,
    hooks: ExportHooks,
  ) => Promise<ExportResult>;
}

/** Runs an export from its flags to its summary. Throws the error that the command ends with. */
export async function runExport<Flags extends ExportFlags & ShardFlags>(
  call: Pick<Invocation<Flags>, 'command' | 'flags' | 'settings' | 'runtime' | 'refuseOutputs'>,
  { name, concurrency, parts, job }: ExportCommand<Flags>,
): Promise<void> {
  const { flags, runtime, refuseOutputs } = call;
  const { settings, shard } = resolveShard(call);
  await runJob(
    {
      name,
      flags,
      concurrency,
      verb: 'exported',
      nouns: name === 'export-events' ? 'events' : 'profiles',
      next: previewCommand(flags.output),
      reads: true,
      job: async (context, hooks) => job({ ...flags, shard }, { ...context, refuseOutputs }, hooks),
      parts,
      advise: (error, { unfinished }, messages) =>
        adviseResume({ error, unfinished, output: flags.output }, messages),
    },
    settings,
    runtime,
  );
}

/**
 * Returns a command that shows the first records; undefined if the name contains {day}, since there are
 * several files.
 */
function previewCommand(output: string | undefined): string | undefined {
  if (output === undefined || isStdout(output) || output.includes('{')) return undefined;
  const file = shellPath(output);
  const { compression } = parseFileName(output);
  if (compression === undefined) return `head -n 3 ${file}`;
  return `${compressions[compression].print} ${file} | head -n 3`;
}

/** Exit codes after which the same command can succeed later; other errors state their own fix. */
const passing = new Set<number>([exitCodes.credentials, exitCodes.unavailable, exitCodes.file]);
const stopped = new Set<number>([exitCodes.interrupted, exitCodes.terminated, exitCodes.hungUp]);

function adviseResume(
  ended: { error: EngagectlError; unfinished: boolean; output: string | undefined },
  messages: Messages,
): void {
  const { exitCode } = ended.error;
  if (!passing.has(exitCode) && !stopped.has(exitCode)) return;
  if (ended.unfinished && hasResumeAdvice(ended.error)) return;
  if (ended.unfinished) messages.note(sameCommandResumes);
  else if (isStdout(ended.output)) {
    messages.note('what goes to standard output cannot be resumed; --output <file> can');
  }
}

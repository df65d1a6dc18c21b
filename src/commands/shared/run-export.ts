import { exitCodes, type EngagectlError } from '../../errors.js';
import { shellWord } from '../../wording.js';
import { isStdout } from '../../jobs/output-options.js';
import { runJob, sameGoesOn, saysWayOn } from './run-job.js';
import { sharded, type ShardFlags } from '../flags/shard-flags.js';
import type { Shard } from '../../jobs/job-options.js';
import type { ExportHooks } from '../../jobs/export/run-export.js';
import type { ExportResult } from '../../jobs/job-results.js';
import type { World } from '../../jobs/job-context.js';
import type { Messages } from '../../ui/messages.js';
import type { Call } from './command-spec.js';
import type { ExportFlags } from '../flags/output-flags.js';

/** An export as the command line asks for it. */
interface ExportCommand<Flags> {
  readonly name: 'export-profiles' | 'export-events';
  readonly concurrency: number;
  /** What the cursors stand for, like `days`. */
  readonly parts: string;
  readonly job: (
    request: Omit<Flags, 'shard'> & { readonly shard?: Shard | undefined },
    world: World,
    hooks: ExportHooks,
  ) => Promise<ExportResult>;
}

/** Runs an export from its flags to its summary. Throws what the command must end with. */
export async function runExport<Flags extends ExportFlags & ShardFlags>(
  call: Pick<Call<Flags>, 'command' | 'flags' | 'settings' | 'runtime'>,
  { name, concurrency, parts, job }: ExportCommand<Flags>,
): Promise<void> {
  const { flags, runtime } = call;
  const { settings, shard } = sharded(call);
  await runJob(
    {
      name,
      flags,
      concurrency,
      nouns: name === 'export-events' ? 'events' : 'profiles',
      next: next(flags.output),
      reads: true,
      job: async (world, hooks) => job({ ...flags, shard }, world, hooks),
      parts,
      advise: (error, { unfinished }, said) =>
        sayHowToGoOn({ error, unfinished, output: flags.output }, said),
    },
    settings,
    runtime,
  );
}

/** A look at the file; of one whose name holds the day there are several. */
function next(output: string | undefined): string | undefined {
  if (output === undefined || isStdout(output) || output.includes('{')) return undefined;
  const file = shellWord(output);
  return output.endsWith('.gz') ? `gunzip -c ${file} | head -n 3` : `head -n 3 ${file}`;
}

/** Other failures say themselves what to do about them. */
const passing = new Set<number>([exitCodes.credentials, exitCodes.unavailable, exitCodes.file]);
const stopped = new Set<number>([exitCodes.interrupted, exitCodes.terminated, exitCodes.hungUp]);

function sayHowToGoOn(
  ended: { error: EngagectlError; unfinished: boolean; output: string | undefined },
  said: Messages,
): void {
  const { exitCode } = ended.error;
  if (!passing.has(exitCode) && !stopped.has(exitCode)) return;
  if (ended.unfinished && saysWayOn(ended.error)) return;
  if (ended.unfinished) said.note(sameGoesOn);
  else if (isStdout(ended.output)) {
    said.note('what goes to standard output cannot be resumed; --output <file> can');
  }
}
